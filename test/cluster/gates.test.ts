import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, until } from './cluster.ts'
import { app, getPod, type LivePod, logOf, pod, sidecar, statusOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const policies = ['Always', 'OnFailure', 'Never'] as const
const gates = ['hook', 'native'] as const

describe('both gates side by side', () => {
  const namespace = 'gates'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('gates')
    await createNamespace(namespace, { test: 'gates' })
    await create(
      ...gates.flatMap((gate) => {
        const annotations = {
          'sidecar-first.dev/sidecars': 'sidecar',
          'sidecar-first.dev/gate': gate,
          'sidecar-first.dev/timeout': '2s',
        }
        return [
          ...policies.map((restartPolicy) =>
            pod(namespace, `${gate}-${restartPolicy.toLowerCase()}`, [app(), never], {
              annotations,
              spec: { restartPolicy },
            }),
          ),
          pod(namespace, `${gate}-absent`, [app(), absent], { annotations }),
        ]
      }),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const policy of policies) {
    test(`native, restartPolicy ${policy}: a sidecar that isn't ready is tried again, and the app stays down`, async () => {
      // Just after it has ended again, its status can lack what was before.
      const told = (found: LivePod) =>
        /sidecar.*503/s.test(statusOf(found, 'sidecar')?.lastState.terminated?.message ?? '')
      assertDown(await eventually(`native-${policy.toLowerCase()}`, (found) => restarts(found) >= 1 && told(found)))
    })
  }

  test('hook: the app starts after its sidecar was given up, which is restarted', async () => {
    await logOf(namespace, 'hook-always')
    await eventually('hook-always', (found) => restarts(found) >= 1)
  })

  // The test sidecar ends with 0 when it is told to end, as most programs do: that is no failure to the kubelet.
  for (const policy of ['OnFailure', 'Never'] as const) {
    test(`hook, restartPolicy ${policy}: the app starts after its sidecar was given up, which stays down`, async () => {
      await logOf(namespace, `hook-${policy.toLowerCase()}`)
      await eventually('hook-always', (found) => restarts(found) >= 1) // these would have been, too
      const ended = (found: LivePod) => statusOf(found, 'sidecar')?.state.terminated !== undefined
      const status = statusOf(await eventually(`hook-${policy.toLowerCase()}`, ended), 'sidecar')
      assert.match(status?.state.terminated?.message ?? '', /sidecar.*503/s)
      assert.deepEqual([status?.restartCount, status?.state.terminated?.exitCode], [0, 0])
    })
  }

  test("native: the app stays down while the sidecar's image can't be had", async () => {
    assertDown(await eventually('native-absent', withoutImage))
  })

  test("hook: the app starts though the sidecar's image can't be had", async () => {
    const live = await eventually('hook-absent', (found) => statusOf(found, 'app')?.state.running !== undefined)
    assert.ok(withoutImage(live))
  })

  const eventually = (name: string, holds: (live: LivePod) => boolean) =>
    until(`pod ${name}`, async () => {
      const live = await getPod(namespace, name)
      return holds(live) ? live : undefined
    })
})

const never = sidecar(
  'sidecar',
  { HTTP: ':15021', NEVER_READY: '1' },
  { readinessProbe: { httpGet: { path: '/ready', port: 15_021 } } },
)
const absent = { ...never, image: 'docker.io/sidecar-first/test-absent:1' }

const restarts = (live: LivePod) => statusOf(live, 'sidecar')?.restartCount ?? 0
const withoutImage = (live: LivePod) => statusOf(live, 'sidecar')?.state.waiting?.reason === 'ErrImageNeverPull'

function assertDown(live: LivePod): void {
  assert.equal(live.status.phase, 'Pending')
  assert.deepEqual(statusOf(live, 'app')?.state, { waiting: { reason: 'PodInitializing' } })
}
