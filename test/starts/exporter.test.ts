import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { runExporter } from '../../src/starts/exporter.ts'
import { SECOND, until } from '../until.ts'
import { fakeApiServer } from './api-server.ts'
import { eventsOf, type Life, podAt } from './pods.ts'

/** A process, and what it answers. */
async function running(
  server: Awaited<ReturnType<typeof fakeApiServer>>,
  more: { namespaces?: boolean; state?: string } = {},
) {
  const stop = new AbortController()
  const port = Promise.withResolvers<number>()
  const lines: string[] = []
  const log = {
    info(fields: object, message: string) {
      lines.push(message)
      if ('port' in fields) port.resolve(Number(fields.port))
    },
    warn: (_: object, message: string) => void lines.push(message),
  }
  const over = runExporter({
    kubeconfig: server.kubeconfig,
    resync: 600_000,
    namespaces: more.namespaces ?? true,
    state: more.state,
    log,
    signal: stop.signal,
    metricsPort: 0,
  })
  const url = `http://127.0.0.1:${await port.promise}`
  return {
    lines,
    async metrics() {
      const text = await (await fetch(`${url}/metrics`)).text()
      return text.split('\n').filter((line) => line.startsWith('sidecar_first_') && !line.endsWith(' 0'))
    },
    async probe(path: '/healthz' | '/readyz') {
      const response = await fetch(`${url}${path}`)
      return { ...JSON.parse(await response.text()), http: response.status }
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await over
    },
  }
}

const seen = (what: string, look: () => boolean | Promise<boolean>) => until(what, 30 * SECOND, async () => look())

/** Its app began just now, 200 ms before its proxy. */
const fresh = (uid: string): Life => ({
  uid,
  given: Date.now() - 2000,
  app: 800,
  proxy: 1000,
  fails: undefined,
  gone: Number.POSITIVE_INFINITY,
  node: 'node-1',
  ahead: 0,
})
const pod = (life: Life) => podAt(life, Date.now()) ?? assert.fail()

test('starts are counted: of pods that were there, that come, and after the watches were cut off', async () => {
  await using server = await fakeApiServer()
  const [there, comes, later] = [fresh('there'), fresh('comes'), fresh('later')]
  const put = (life: Life) => {
    server.put('pods', pod(life))
    for (const { event } of eventsOf(life)) server.put('events', event)
  }
  put(there)
  await using exporter = await running(server)
  await seen('three watches', () => server.watching() === 3)
  put(comes)
  server.cut()
  await seen('none', () => server.watching() === 0)
  put(later)
  await seen('a metric', async () => (await exporter.metrics()).includes('sidecar_first_starts_pending 3'))
  await seen('three watches', () => server.watching() === 3)
  // Their events are on the way.
  await sleep(500)
  // Counted at once, since nothing more is to come.
  for (const uid of ['there', 'comes', 'later']) server.remove(uid)
  await seen('a metric', async () => (await exporter.metrics()).some((line) => line.endsWith('outcome="too-early"} 3')))
  const metrics = await exporter.metrics()
  assert.ok(
    metrics.includes('sidecar_first_early_starts_total{namespace="shop",gate="none",sidecar="istio"} 3'),
    metrics.join('\n'),
  )
  assert.ok(metrics.includes('sidecar_first_app_start_seconds_count{gate="none",outcome="too-early"} 3'))
  assert.ok(metrics.includes('sidecar_first_app_start_seconds_bucket{le="1",gate="none",outcome="too-early"} 3'))
  assert.equal((await exporter.probe('/healthz')).http, 200)
})

test('it is ready once it has listed the pods; one that may not lives on, and says so', async () => {
  await using server = await fakeApiServer()
  server.refuse('pods')
  await using exporter = await running(server)
  const forbidden = 'sidecar_first_starts_failed_calls_total{kind="forbidden"}'
  await seen('a refused list', async () => (await exporter.metrics()).some((line) => line.startsWith(forbidden)))
  const answer = { http: 503, code: 'SF066', error: 'the pods are not listed yet; see the log', problems: [] }
  assert.deepEqual(await exporter.probe('/readyz'), answer)
  assert.equal((await exporter.probe('/healthz')).http, 200)
  assert.match(exporter.lines.join('\n'), /answered 403/)
  server.allow('pods')
  await seen('readiness', async () => (await exporter.probe('/readyz')).http === 200)
})

test('what is counted is judged by the clock of the API server, even if that answers only later', async () => {
  const ahead = -24 * 60 * 60 * SECOND
  await using server = await fakeApiServer({ ahead, silent: 1 })
  const then = Date.now() + ahead
  server.put('pods', podAt({ ...fresh('a'), given: then - 60 * SECOND }, then) ?? assert.fail())
  await using exporter = await running(server)
  await seen('readiness', async () => (await exporter.probe('/readyz')).http === 200)
  const metrics = await exporter.metrics()
  assert.ok(metrics.includes('sidecar_first_starts_pending 1'), metrics.join('\n'))
  assert.ok(metrics.includes('sidecar_first_starts_failed_calls_total{kind="network"} 1'), metrics.join('\n'))
})

test('without the right to list events starts are counted, and none is known to the millisecond', async () => {
  await using server = await fakeApiServer()
  server.refuse('events')
  await using exporter = await running(server, { namespaces: false })
  await seen('one watch', () => server.watching() === 1)
  const life = fresh('a')
  server.put('pods', pod(life))
  await seen('a metric', async () => (await exporter.metrics()).includes('sidecar_first_starts_pending 1'))
  server.remove('a')
  await seen('a metric', async () =>
    (await exporter.metrics()).some((line) => line.startsWith('sidecar_first_starts_total')),
  )
  const metrics = await exporter.metrics()
  assert.ok(!metrics.some((line) => line.startsWith('sidecar_first_app_start_seconds')))
  assert.ok(metrics.some((line) => /^sidecar_first_starts_failed_calls_total\{kind="forbidden"\}/.test(line)))
  assert.ok(!metrics.some((line) => line.includes('namespace=')))
})

test('what was asked for is counted, and is left to the process that follows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'starts-'))
  const state = join(folder, 'state.json')
  try {
    await using server = await fakeApiServer()
    server.put('pods', pod(fresh('a')))
    {
      await using exporter = await running(server, { state })
      await seen('a metric', async () => (await exporter.metrics()).includes('sidecar_first_starts_pending 1'))
      await exporter.metrics()
      await seen('the file', () => existsSync(state) && readFileSync(state, 'utf8').includes('"a"'))
    }
    const { until: counted, except } = JSON.parse(readFileSync(state, 'utf8'))
    assert.deepEqual(except, ['a'])
    assert.ok(Math.abs(counted - Date.now()) < 60_000)
    await using exporter = await running(server, { state })
    await seen('a metric', async () => (await exporter.metrics()).includes('sidecar_first_starts_pending 1'))
    assert.ok(exporter.lines.includes('counts starts'))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
