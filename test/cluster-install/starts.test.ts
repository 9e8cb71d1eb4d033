import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { check } from '../../src/cli/check.ts'
import { run } from '../cli/inside.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from '../cluster/cluster.ts'
import { app, getPods, pod, sidecar, statusOf } from '../cluster/pod.ts'
import { installed, namespace, rolledOut, sample } from './installation.ts'

const part = ['-n', namespace, '-l', 'app.kubernetes.io/component=starts']
const readinessProbe = { httpGet: { path: '/ready', port: 15021 }, periodSeconds: 1 }
const proxy = (more: Record<string, unknown>) => sidecar('istio-proxy', { HTTP: ':15021', READY_AFTER: '2s' }, more)

/** The exporter's own series that aren't 0, as Prometheus would get them. */
async function scraped(): Promise<string[]> {
  const name = await kubectl('get', 'pods', ...part, '-o', 'jsonpath={.items[0].metadata.name}')
  const path = `/api/v1/namespaces/${namespace}/pods/${name}:8080/proxy/metrics`
  const { stdout } = await tryKubectl(['get', '--raw', path])
  return stdout.split('\n').filter((line) => line.startsWith('sidecar_first_') && !line.endsWith(' 0'))
}
const showing = (line: string) =>
  until(line, async () => {
    const lines = await scraped()
    return lines.includes(line) ? lines : undefined
  })
const counters = (lines: readonly string[]) =>
  lines.filter((line) => /^sidecar_first_(starts|early_starts|start_crashes)_total/.test(line)).toSorted()

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
    await showing('sidecar_first_starts_pending 4')
    await until('all of them run', async () => {
      const pods = [...(await getPods(unlabelled)).values(), ...(await getPods(labelled)).values()]
      const run = pods.filter((each) => statusOf(each, 'app')?.state.running)
      return run.length === 5 ? true : undefined
    })
    // One that is gone is counted at once.
    await kubectl('delete', 'pod', '-n', labelled, 'sample')
    await kubectl('delete', 'pod', '-n', unlabelled, 'early')
    const first = await showing('sidecar_first_starts_pending 2')
    assert.deepEqual(counters(first), [
      `sidecar_first_early_starts_total{namespace="${unlabelled}",gate="none",sidecar="istio"} 1`,
      'sidecar_first_starts_total{gate="lock",outcome="held"} 1',
      'sidecar_first_starts_total{gate="none",outcome="too-early"} 1',
    ])
    const waits = 'sidecar_first_start_wait_seconds_count{gate="lock",outcome="ready",sidecar="other"} 1'
    assert.ok(first.includes(waits), first.join('\n'))

    await kubectl(
      'exec',
      '-n',
      namespace,
      'deploy/sidecar-first-starts',
      '--',
      '/usr/bin/node',
      '-e',
      'process.kill(1)',
    )
    await until('a second run', async () => {
      const count = await kubectl(
        'get',
        'pods',
        ...part,
        '-o',
        'jsonpath={.items[0].status.containerStatuses[0].restartCount}',
      )
      return count === '1' ? true : undefined
    })
    await rolledOut('sidecar-first-starts')
    await showing('sidecar_first_starts_pending 2')
    await kubectl('delete', 'pod', '-n', unlabelled, 'fails-once', 'native', 'without')
    await showing('sidecar_first_starts_total{gate="startup-probe",outcome="held"} 1')
    const second = counters(await showing('sidecar_first_starts_total{gate="none",outcome="too-early"} 1'))
    assert.deepEqual(second, [
      `sidecar_first_early_starts_total{namespace="${unlabelled}",gate="none",sidecar="istio"} 1`,
      `sidecar_first_start_crashes_total{namespace="${unlabelled}",gate="none",outcome="too-early"} 1`,
      'sidecar_first_starts_total{gate="none",outcome="too-early"} 1',
      'sidecar_first_starts_total{gate="startup-probe",outcome="held"} 1',
    ])
  })

  test('check looks at the exporter, and says which right it lacks', async () => {
    const said = async () => (await run(check, '--no-pods')).stdout
    assert.match(await said(), /^ok +counted starts +SF587 sidecar-first-starts counts how pods start$/m)
    await kubectl('delete', 'clusterrolebinding', 'sidecar-first-starts')
    const lacks = /^warning +counted starts +SF591 .* may not list pods, watch pods, list events, watch events$/m
    assert.match(await said(), lacks)
    await installed('--mode', 'namespace-opt-in')
    assert.doesNotMatch(await said(), /counted starts/)
  })
})
