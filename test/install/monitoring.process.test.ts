import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { createMetrics } from '../../certs/metrics.ts'
import { manifests } from '../../src/install/manifests.ts'
import { call } from '../server/call.ts'
import { startServe } from '../server/process.ts'

const texts = Object.entries(manifests).filter(([path]) => path.startsWith('optional/monitoring/'))

test('alerts and dashboard ask for metrics that there are', async () => {
  await using serve = await startServe()
  const { text } = await call(`${serve.url}/metrics`, { method: 'GET' })
  const exposed = text + (await createMetrics(() => performance.now()).registry.metrics())
  const there = new Set(exposed.match(/^sidecar_first_\w+/gm))
  for (const [, name] of exposed.matchAll(/^# TYPE (\w+)/gm)) there.add(name ?? '')
  const asked = new Set(texts.flatMap(([, text]) => text.match(/sidecar_first_\w+/g) ?? []))
  assert.ok(asked.size > 8)
  assert.deepEqual(
    [...asked].filter((name) => !there.has(name)),
    [],
  )
})

test('the dashboard is JSON, and no two of its panels share an id or a place', () => {
  const dashboard = JSON.parse(parse(manifests['optional/monitoring/dashboard.yaml'] ?? '').data['sidecar-first.json'])
  const panels: { id: number; gridPos: { x: number; y: number } }[] = dashboard.panels
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  assert.equal(new Set(panels.map(({ gridPos }) => `${gridPos.x},${gridPos.y}`)).size, panels.length)
})
