import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { certsMetrics } from '../../certs/metrics.ts'
import { manifests } from '../../src/install/manifests.ts'
import { startsMetrics } from '../../src/starts/metrics.ts'
import { call } from '../server/call.ts'
import { startServe } from '../server/process.ts'

const texts = Object.entries(manifests).filter(([path]) => path.startsWith('optional/monitoring/'))

test('alerts and dashboard ask for metrics that there are', async () => {
  await using serve = await startServe()
  const { text } = await call(`${serve.url}/metrics`, { method: 'GET' })
  const steady = () => performance.now()
  const starts = startsMetrics({ namespaces: true, steady, scraped: () => 0 })
  const exposed = text + (await certsMetrics(steady).registry.metrics()) + (await starts.registry.metrics())
  const there = new Set(exposed.match(/^sidecar_first_\w+/gm))
  for (const [, name, kind] of exposed.matchAll(/^# TYPE (\w+) (\w+)/gm)) {
    const series = kind === 'histogram' ? ['', '_bucket', '_sum', '_count'] : ['']
    for (const each of series) there.add(`${name}${each}`)
  }
  const asked = new Set(texts.flatMap(([, text]) => text.match(/sidecar_first_\w+/g) ?? []))
  assert.ok(asked.size > 8)
  assert.deepEqual(
    [...asked].filter((name) => !there.has(name)),
    [],
  )
})

for (const [file, name] of [
  ['dashboard', 'sidecar-first'],
  ['dashboard-starts', 'sidecar-first-starts'],
] as const) {
  test(`${file} is JSON, and no two of its panels share an id or a place`, () => {
    const dashboard = JSON.parse(parse(manifests[`optional/monitoring/${file}.yaml`] ?? '').data[`${name}.json`])
    const panels: { id: number; gridPos: { x: number; y: number } }[] = dashboard.panels
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    assert.equal(new Set(panels.map(({ gridPos }) => `${gridPos.x},${gridPos.y}`)).size, panels.length)
  })
}
