import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from './cluster.ts'
import {
  app,
  type Container,
  firstLineOf,
  getPod,
  late,
  logOf,
  markOf,
  pod,
  podSpec,
  shared,
  sharedVolume,
  sidecar,
  statusOf,
  tier,
} from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

describe('the native gate', () => {
  const namespace = 'native'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('native')
    await createNamespace(namespace, { test: 'native' })
    await create(
      pod(namespace, 'recovers', [app(), switched], {
        annotations: { ...asked('sidecar'), 'sidecar-first.dev/timeout': '2s' },
        spec: { initContainers: [theSwitch], volumes: [sharedVolume] },
      }),
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'job', namespace },
        spec: {
          backoffLimit: 0,
          template: {
            metadata: { annotations: asked('sidecar') },
            spec: podSpec([app(requests), late('sidecar', 15_021)], { restartPolicy: 'Never' }),
          },
        },
      },
      pod(namespace, 'stop', [app(lastRequest), late('sidecar', 15_021)], {
        annotations: asked('sidecar'),
        spec: { terminationGracePeriodSeconds: 60 },
      }),
      pod(namespace, 'first', [app(), late('sidecar', 15_021)], {
        annotations: { ...asked('sidecar'), 'sidecar-first.dev/native-position': 'first' },
        spec: { initContainers: [ordinary] },
      }),
      pod(namespace, 'last', [app(), late('sidecar', 15_021)], {
        annotations: asked('sidecar'),
        spec: { initContainers: [ordinary] },
      }),
      pod(namespace, 'startup', [app(), started], { annotations: asked('sidecar') }),
      ...choices.flatMap((choice) => {
        const annotations = { ...asked('sidecar'), ...(choice && { 'sidecar-first.dev/startup-probe': choice }) }
        return [
          pod(namespace, `moved-${choice || 'default'}`, [app(), slowlyAsked], { annotations }),
          pod(namespace, `placed-${choice || 'default'}`, [app()], {
            annotations,
            spec: { initContainers: [{ ...slowlyAsked, restartPolicy: 'Always' }] },
          }),
        ]
      }),
      pod(namespace, 'tiers', [app(), ...tier({ third: 15_023, second: 15_022 }), late('first', 15_021)], {
        annotations: asked('first, second + third'),
        spec: { volumes: [sharedVolume] },
      }),
      pod(namespace, 'chained', [app(), hooked], { annotations: asked('sidecar') }),
      ...(['hook', 'native'] as const).map((gate) =>
        pod(namespace, `restartable-${gate}`, [app()], {
          annotations: asked('sidecar', gate),
          spec: { initContainers: [{ ...late('sidecar', 15_021), restartPolicy: 'Always' }] },
        }),
      ),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  test('keeps the app down while the check fails, and lets it up as soon as the sidecar recovers', async () => {
    const live = await until('a failed check', async () => {
      const found = await getPod(namespace, 'recovers')
      return (statusOf(found, 'sidecar')?.restartCount ?? 0) >= 1 ? found : undefined
    })
    assert.match(statusOf(live, 'sidecar')?.lastState.terminated?.message ?? '', /sidecar.*503/s)
    assert.equal(live.status.phase, 'Pending')
    assert.deepEqual(statusOf(live, 'app')?.state, { waiting: { reason: 'PodInitializing' } })

    await kubectl('exec', '-n', namespace, 'recovers', '-c', 'switch', '--', 'touch', '/shared/ready')
    const log = await logOf(namespace, 'recovers')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  test('a Job with a native sidecar completes', async () => {
    await until('the Job to complete', async () => {
      const { stdout } = await tryKubectl(['get', 'job', 'job', '-n', namespace, '-o', 'jsonpath={.status.succeeded}'])
      return stdout === '1' ? true : undefined
    })
    const log = await logOf(namespace, 'job')
    assert.ok(log.some(({ text }) => text.endsWith('request succeeded')))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  test('on stop the app goes first: its last request still finds the sidecar', async () => {
    await logOf(namespace, 'stop')
    const following = kubectl('logs', '--follow', 'stop', '-n', namespace, '-c', 'app')
    await kubectl('delete', 'pod', 'stop', '-n', namespace, '--wait=false')
    assert.match(await following, /request succeeded/)
  })

  test('first: an ordinary init container can use the sidecar', async () => {
    const log = await logOf(namespace, 'first')
    assert.ok(firstLineOf(log, 'ordinary') >= markOf(log, 'sidecar', 'ready'))
    assert.ok(log.some(({ container, text }) => container === 'ordinary' && text.endsWith('request succeeded')))
  })

  test('last: the init containers that are there come before it', async () => {
    const log = await logOf(namespace, 'last')
    assert.ok(firstLineOf(log, 'ordinary') <= markOf(log, 'sidecar', 'started'))
    assert.ok(log.some(({ container, text }) => container === 'ordinary' && text.endsWith('request failed')))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  test('asks a startupProbe every second, for as long as before', async () => {
    const log = await logOf(namespace, 'startup')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    const { spec } = await getPod(namespace, 'startup')
    const probe = spec.initContainers?.find(({ name }) => name === 'sidecar')?.startupProbe
    assert.deepEqual([probe?.periodSeconds, probe?.failureThreshold], [1, 5 * 24])
  })

  const handled = {
    'moved-default': ['1 s × 50', 'no hook'],
    'moved-keep': ['5 s × 10', 'no hook'],
    'moved-eager': ['1 s × 50', 'no hook'],
    'moved-hook': ['no probe', 'a hook'],
    'placed-default': ['5 s × 10', 'no hook'],
    'placed-keep': ['5 s × 10', 'no hook'],
    'placed-eager': ['1 s × 50', 'no hook'],
    'placed-hook': ['no probe', 'a hook'],
  }
  for (const [name, expected] of Object.entries(handled)) {
    test(`startup-probe, ${name}: ${expected.join(', ')}; the app waits`, async () => {
      const log = await logOf(namespace, name)
      assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
      const { spec } = await getPod(namespace, name)
      const native = spec.initContainers?.find((each) => each.name === 'sidecar')
      const probe = native?.startupProbe
      const found = probe ? `${probe.periodSeconds} s × ${probe.failureThreshold}` : 'no probe'
      assert.deepEqual([found, native?.lifecycle?.postStart ? 'a hook' : 'no hook'], expected)
    })
  }

  test('goes tier by tier, and starts the sidecars of a tier side by side', async () => {
    const log = await logOf(namespace, 'tiers')
    const starts = ['second', 'third'].map((name) => markOf(log, name, 'started'))
    const ready = ['second', 'third'].map((name) => markOf(log, name, 'ready'))
    assert.ok(Math.min(...starts) >= markOf(log, 'first', 'ready'))
    assert.ok(Math.max(...starts) <= Math.min(...ready), 'neither waits for the other')
    assert.ok(firstLineOf(log) >= Math.max(...ready))
  })

  test("runs the sidecar's own hook first", async () => {
    const log = await logOf(namespace, 'chained')
    assert.ok(markOf(log, 'sidecar', 'hook') < markOf(log, 'sidecar', 'ready'))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  for (const gate of ['hook', 'native']) {
    test(`${gate}: waits for a restartable init container where it stands`, async () => {
      const log = await logOf(namespace, `restartable-${gate}`)
      assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    })
  }
})

const asked = (sidecars: string, gate: 'hook' | 'native' = 'native') => ({
  'sidecar-first.dev/sidecars': sidecars,
  'sidecar-first.dev/gate': gate,
})

const ready = (port: number) => ({ httpGet: { path: '/ready', port } })

const hooked: Container = {
  ...late('sidecar', 15_021),
  lifecycle: { postStart: { exec: { command: ['/entrypoint', 'mark', 'hook'] } } },
}
const started = sidecar(
  'sidecar',
  { HTTP: ':15021', READY_AFTER: '8s' },
  { startupProbe: { ...ready(15_021), periodSeconds: 5, failureThreshold: 24 } },
)

const choices = ['', 'keep', 'eager', 'hook'] as const
const slowlyAsked = sidecar(
  'sidecar',
  { HTTP: ':15021', READY_AFTER: '2s' },
  { startupProbe: { ...ready(15_021), periodSeconds: 5, failureThreshold: 10 } },
)

const switched = sidecar(
  'sidecar',
  { HTTP: ':15021', READY_WHEN: '/shared/ready' },
  { readinessProbe: ready(15_021), ...shared },
)
/** Where the test makes the file. */
const theSwitch = { ...app('exec sleep 3600'), name: 'switch', restartPolicy: 'Always', ...shared }

const requests = 'date; wget -q -O - http://127.0.0.1:15021/ready && echo request succeeded || echo request failed'
const ordinary = { ...app(requests), name: 'ordinary' }
/** Asks the sidecar once more after it has been told to end. */
const lastRequest = `trap 'sleep 3; ${requests}; exit' TERM; date; while :; do sleep 1; done`
