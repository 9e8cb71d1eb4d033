import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { check } from '../../src/cli/check.ts'
import { run } from '../cli/inside.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from '../cluster/cluster.ts'
import { hasLock } from '../cluster/kubernetes.ts'
import { app, pod, sidecar } from '../cluster/pod.ts'
import { installed, namespace, rolledOut, sample } from './installation.ts'

type Series = ReadonlyMap<string, number>

const part = ['-n', namespace, '-l', 'app.kubernetes.io/component=starts']
const readinessProbe = { httpGet: { path: '/ready', port: 15021 }, periodSeconds: 1 }
const proxy = (more: Record<string, unknown>) => sidecar('istio-proxy', { HTTP: ':15021', READY_AFTER: '2s' }, more)

/** The exporter's own series, as Prometheus would get them; undefined while it can't be reached. */
async function scraped(): Promise<Series | undefined> {
  const name = await kubectl('get', 'pods', ...part, '-o', 'jsonpath={.items[0].metadata.name}')
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:8080/proxy/metrics`
  const { code, stdout } = await tryKubectl(['get', '--raw', path])
  if (code !== 0) return undefined
  return new Map(
    [...stdout.matchAll(/^(sidecar_first_.+) (\S+)$/gm)].map(([, series = '', value]) => [series, Number(value)]),
  )
}
/** What holds the app of the sample, which asks. */
const gate = hasLock ? 'lock' : 'hook'
const allReady = (where: string) =>
  kubectl('wait', '-n', where, '--for=condition=Ready', 'pods', '--all', '--timeout=180s')

const pending = 'sidecar_first_starts_pending'
/** By how much the counters of starts have grown, all in all: those of a process that follows begin at 0. */
function grown(before: Series, ...scrapes: readonly Series[]): readonly (readonly [string, number])[] {
  const sum = (series: string) => scrapes.reduce((all, each) => all + (each.get(series) ?? 0), 0)
  return [...new Set(scrapes.flatMap((each) => [...each.keys()]))]
    .filter((series) => /_(starts|start_crashes)_total|wait_seconds_count/.test(series))
    .map((series) => [series.replace('sidecar_first_', ''), sum(series) - (before.get(series) ?? 0)] as const)
    .filter(([, more]) => more > 0)
}
/** Once so many starts more are counted, by the process before this one, too. */
const counting = (count: number, before: Series, ...earlier: readonly Series[]) =>
  until(`${count} counted starts`, async () => {
    const now = await scraped()
    const starts = now ? grown(before, ...earlier, now).filter(([series]) => series.startsWith('starts_total')) : []
    return starts.reduce((all, [, more]) => all + more, 0) >= count ? now : undefined
  })

describe('install --starts on a real node', () => {
  const labelled = 'install-starts-labelled'
  const unlabelled = 'install-starts'
  before(async () => {
    await installed('--mode', 'namespace-opt-in', '--starts')
    await createNamespace(labelled, { 'sidecar-first.dev/injection': 'enabled' })
    await createNamespace(unlabelled)
  })
  after(() => deleteNamespaces(labelled, unlabelled))

  test('counts each start once, by what held the app back and how it went, through a restart of its container', async () => {
    // Those of other tests are counted by then.
    const before = await until('nothing pending', async () => {
      const now = await scraped()
      return now?.get(pending) === 0 ? now : undefined
    })
    const remembers = { volumes: [{ name: 'data', emptyDir: {} }] }
    const once = '[ -e /data/ran ] && exec sleep 3600; touch /data/ran; exit 1'
    const native = proxy({ restartPolicy: 'Always', startupProbe: readinessProbe })
    await create(
      pod(unlabelled, 'early', [app(), proxy({ readinessProbe })]),
      pod(
        unlabelled,
        'fails-once',
        [app(once, { volumeMounts: [{ name: 'data', mountPath: '/data' }] }), proxy({ readinessProbe })],
        { spec: remembers },
      ),
      pod(unlabelled, 'native', [app()], { spec: { initContainers: [native] } }),
      pod(unlabelled, 'without', [app()]),
      sample(labelled),
    )
    for (const each of [unlabelled, labelled]) await allReady(each)
    // One that is gone is counted before its two minutes are over.
    await kubectl('delete', 'pod', '-n', labelled, 'sample')
    await kubectl('delete', 'pod', '-n', unlabelled, 'early')
    const first = await counting(2, before)

    const end = ['/usr/bin/node', '-e', 'process.kill(1)']
    // Its exit code is 137 where the container ends before it does.
    await tryKubectl(['exec', '-n', namespace, 'deploy/sidecar-first-starts', '--', ...end])
    const restarts = 'jsonpath={.items[0].status.containerStatuses[0].restartCount}'
    await until('its second run', async () => {
      return (await kubectl('get', 'pods', ...part, '-o', restarts)) === '1' ? true : undefined
    })
    await rolledOut('sidecar-first-starts')
    await kubectl('delete', 'pod', '-n', unlabelled, 'fails-once', 'native', 'without')
    const second = await counting(4, before, first)
    assert.equal(second.get(pending), 0)
    const lines = grown(before, first, second).map((each) => each.join(' '))
    assert.deepEqual(lines.toSorted(), [
      `early_starts_total{namespace="${unlabelled}",gate="none",sidecar="istio"} 2`,
      `start_crashes_total{namespace="${unlabelled}",gate="none",outcome="too-early"} 1`,
      `start_wait_seconds_count{gate="${gate}",outcome="ready",sidecar="other"} 1`,
      'start_wait_seconds_count{gate="startup-probe",outcome="ready",sidecar="istio"} 1',
      `starts_total{gate="${gate}",outcome="held"} 1`,
      'starts_total{gate="none",outcome="too-early"} 2',
      'starts_total{gate="startup-probe",outcome="held"} 1',
    ])
  })

  test('check looks at the exporter, and says which right it lacks', async () => {
    const said = async () => (await run(check, '--no-pods')).stdout
    assert.match(await said(), /^ok +counted starts +SF587 sidecar-first-starts counts how pods start$/m)
    await kubectl('delete', 'clusterrolebinding', 'sidecar-first-starts')
    // Its rights go a moment later.
    const lacks = /^warning +counted starts +SF591 .* may not list pods, watch pods, list events, watch events$/m
    await until('the rights that it lacks', async () => (lacks.test(await said()) ? true : undefined))
    await installed('--mode', 'namespace-opt-in')
    assert.doesNotMatch(await said(), /counted starts/)
  })
})
