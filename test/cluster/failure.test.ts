import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, kubectl, until } from './cluster.ts'
import { app, firstLineOf, getPod, getPods, logOf, markOf, pod, sidecar, statusOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

describe('a sidecar that never gets ready', () => {
  const namespace = 'failure'
  const never = sidecar(
    'sidecar',
    { HTTP: ':15021', NEVER_READY: '1' },
    { readinessProbe: { httpGet: { path: '/ready', port: 15_021 } } },
  )
  const eventsOf = (pod: string, reason: string) =>
    kubectl(
      'get',
      'events',
      '-n',
      namespace,
      '-o',
      'json',
      `--field-selector=involvedObject.name=${pod},reason=${reason}`,
    )
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('failure')
    await createNamespace(namespace, { test: 'failure' })
    await create(
      pod(namespace, 'fail', [app(), never], {
        annotations: { 'sidecar-first.dev/sidecars': 'sidecar', 'sidecar-first.dev/timeout': '2s' },
        spec: { restartPolicy: 'Never' }, // a restarted sidecar would begin a new log
      }),
      // The kubelet kills the one with the hook, so the message must say which one it was.
      pod(namespace, 'fail-in-tier', [app(), never, sidecar('innocent', { HTTP: ':15031' })], {
        annotations: {
          'sidecar-first.dev/sidecars': 'sidecar + innocent',
          'check.sidecar-first.dev/innocent': 'http://:15031/ready',
          'sidecar-first.dev/timeout': '2s',
        },
      }),
      pod(namespace, 'continue', [app(), never], {
        annotations: {
          'sidecar-first.dev/sidecars': 'sidecar',
          'sidecar-first.dev/timeout': '2s',
          'on-timeout.sidecar-first.dev/sidecar': 'continue',
        },
      }),
      pod(namespace, 'deleted', [app(), never], {
        annotations: { 'sidecar-first.dev/sidecars': 'sidecar', 'timeout.sidecar-first.dev/sidecar': '15s' },
        spec: { terminationGracePeriodSeconds: 2 },
      }),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  // First, while its hook runs.
  test('deleted in mid-hook: is gone after that hook, without another one', async () => {
    // The kubelet reports neither status nor log of a container while the pod's first hook runs, but events.
    await until('the sidecar to start', async () =>
      (await eventsOf('deleted', 'Started')).includes('spec.containers{sidecar}') ? true : undefined,
    )
    await kubectl('delete', 'pod', 'deleted', '-n', namespace, '--wait=false')
    await until('the pod to be gone', async () => ((await getPods(namespace)).has('deleted') ? undefined : true))
    const failed = await until('its hook to be told of', async () => {
      const { items } = JSON.parse(await eventsOf('deleted', 'FailedPostStartHook'))
      return items.length > 0 ? items : undefined
    })
    assert.deepEqual([failed.length, failed[0].count], [1, 1], 'it was in mid-hook, and began no second one')
  })

  for (const [name, killed] of [
    ['fail', 'sidecar'],
    ['fail-in-tier', 'innocent'],
  ] as const) {
    test(`${name}: is killed, and its termination message names the sidecar that wasn't ready`, async () => {
      const message = await until('the sidecar to be killed', async () => {
        const status = statusOf(await getPod(namespace, name), killed)
        return (status?.state.terminated ?? status?.lastState.terminated)?.message
      })
      assert.match(message, /\bsidecar\b.*503/s)
      assert.doesNotMatch(message, /innocent/)
    })
  }

  // What the hook gate promises, and no more.
  test('fail: the kubelet starts the app after that', async () => {
    const log = await logOf(namespace, 'fail')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'started') + 2000)
  })

  test('continue: the app starts after the timeout, and the sidecar lives on', async () => {
    const log = await logOf(namespace, 'continue')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'started') + 2000)
    // The log may be ahead of the status.
    const status = await until('the status to tell of it', async () => {
      const found = await getPod(namespace, 'continue')
      return statusOf(found, 'app')?.state.running && statusOf(found, 'sidecar')
    })
    assert.ok(status.state.running)
    assert.equal(status.restartCount, 0)
  })
})
