import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SidecarLabel } from '../../src/starts/labels.ts'
import { createMetrics } from '../../src/starts/metrics.ts'
import type { Start } from '../../src/starts/start.ts'

const istio = 'istio' as SidecarLabel
const start: Start = {
  gate: 'hook',
  outcome: 'too-early',
  seconds: 2,
  waits: [
    { gate: 'hook', outcome: 'ready', sidecar: istio, seconds: 1.5, exact: true },
    { gate: 'hook', outcome: 'unknown', sidecar: istio, seconds: 7, exact: false },
  ],
  early: [{ gate: 'hook', sidecar: istio }],
  crashed: true,
}
const subject = {
  sidecars: ['istio-proxy'],
  apps: ['app'],
  guarded: [{ gate: 'hook', sidecar: istio }],
  gate: 'hook',
} as const

function made(namespaces = true) {
  const metrics = createMetrics({ namespaces, steady: () => 0, scraped: () => 0 })
  const lines = async () =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('sidecar_first_'))
  return { ...metrics, lines }
}

test('a wait that is known to the second is counted apart, and not put into the histogram', async () => {
  const { counted, lines } = made()
  counted.start(start, 'shop')
  const all = await lines()
  assert.ok(all.includes('sidecar_first_start_wait_seconds_sum{gate="hook",outcome="ready",sidecar="istio"} 1.5'))
  assert.ok(!all.some((line) => /wait_seconds.*outcome="unknown"/.test(line)))
  assert.ok(all.includes('sidecar_first_start_waits_coarse_total{gate="hook",outcome="unknown",sidecar="istio"} 1'))
})

test('a series is there with 0 before its first start is counted', async () => {
  const { counted, lines } = made()
  counted.expected(subject, 'shop')
  assert.ok(
    (await lines()).includes('sidecar_first_early_starts_total{namespace="shop",gate="hook",sidecar="istio"} 0'),
  )
  assert.ok(
    (await lines()).includes('sidecar_first_start_crashes_total{namespace="shop",gate="hook",outcome="held"} 0'),
  )
  counted.start(start, 'shop')
  assert.ok(
    (await lines()).includes('sidecar_first_early_starts_total{namespace="shop",gate="hook",sidecar="istio"} 1'),
  )
})

test('namespaces without end share a label after the first 500, and can be left out', async () => {
  const { counted, lines } = made()
  for (let index = 0; index < 3000; index++) counted.start(start, `namespace-${index}`)
  const early = (await lines()).filter((line) => line.startsWith('sidecar_first_early_starts_total'))
  assert.equal(early.length, 501)
  assert.ok(early.includes('sidecar_first_early_starts_total{namespace="(others)",gate="hook",sidecar="istio"} 2500'))
  const without = made(false)
  without.counted.expected(subject, 'shop')
  without.counted.start(start, 'shop')
  assert.ok(!(await without.lines()).some((line) => line.includes('shop')))
})
