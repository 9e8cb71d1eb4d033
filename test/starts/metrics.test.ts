import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SidecarLabel } from '../../src/starts/labels.ts'
import { startsMetrics } from '../../src/starts/metrics.ts'
import type { CountedStart } from '../../src/starts/start.ts'

const istio = 'istio' as SidecarLabel
const start: CountedStart = {
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
  waits: [{ gate: 'hook', sidecar: istio }],
  gate: 'hook',
} as const

function made(namespaces = true) {
  const metrics = startsMetrics({ namespaces, steady: () => 0, scraped: () => 0 })
  const lines = async () =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('sidecar_first_'))
  return { ...metrics, lines }
}

test('a wait that is known to the second is counted apart, and not put into the histogram', async () => {
  const { counted, lines } = made()
  counted.start(start, 'shop')
  const all = await lines()
  assert.ok(all.includes('sidecar_first_start_wait_seconds_sum{gate="hook",outcome="ready",sidecar="istio"} 1.5'))
  assert.ok(!all.some((line) => /wait_seconds.*outcome="unknown".* [^0]/.test(line)))
  assert.ok(all.includes('sidecar_first_start_waits_coarse_total{gate="hook",outcome="unknown",sidecar="istio"} 1'))
})

test('a series is there with 0 before its first start is counted, and a later pod leaves it as it is', async () => {
  const { counted, lines } = made()
  const series = [
    'early_starts_total{namespace="shop",gate="hook",sidecar="istio"}',
    'start_crashes_total{namespace="shop",gate="hook",outcome="too-early"}',
    'start_wait_seconds_count{gate="hook",outcome="ready",sidecar="istio"}',
    'start_wait_seconds_bucket{le="0.5",gate="hook",outcome="ready",sidecar="istio"}',
    'start_waits_coarse_total{gate="hook",outcome="unknown",sidecar="istio"}',
    'app_start_seconds_count{gate="hook",outcome="too-early"}',
  ]
  const values = async () => {
    const all = await lines()
    return series.map((each) => all.find((line) => line.startsWith(`sidecar_first_${each} `))?.replace(/.* /, ''))
  }
  counted.expected(subject, 'shop')
  assert.deepEqual(await values(), ['0', '0', '0', '0', '0', '0'])
  counted.start(start, 'shop')
  counted.expected(subject, 'shop')
  assert.deepEqual(await values(), ['1', '1', '1', '0', '1', '1'])
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
