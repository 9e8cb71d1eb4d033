import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActor } from '../../../rollouts/controller/act.ts'
import type { Cluster } from '../../../rollouts/controller/cluster.ts'
import type { Step } from '../../../rollouts/controller/decision.ts'
import { fetchName } from '../../../rollouts/controller/fetch.ts'
import type { Space } from '../../../rollouts/controller/store.ts'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import { rollout, wirePod } from '../pods.ts'

/** An API server before 1.35: it stores pods without their image volumes, and without the mounts of those. */
function withoutImageVolumes(pod: object): WirePod {
  const { metadata, spec } = pod as WirePod
  const { volumes: _, ...rest } = spec
  return { metadata: { ...metadata, uid: 'uid', resourceVersion: '1' }, spec: rest, status: { phase: 'Succeeded' } }
}

test('a pod that fetches without its image volume, and can not be removed, is not taken for a refused one', async () => {
  const cluster = {
    createPod: async (_: string, pod: object) => withoutImageVolumes(pod),
    async removePod() {
      throw new ClusterError('forbidden', 'pods may not be deleted here')
    },
  } as unknown as Cluster
  const actor = createActor({ cluster, steady: () => 0, waiter: 'waiter' })
  const like = { ...wirePod('shop-0'), pullSecrets: [] }
  const step = { do: 'fetch', node: 'n1', image: 'envoy:v2', pullPolicy: 'IfNotPresent', like } as unknown as Step
  await assert.rejects(actor.take(step, rollout(), {} as Space), /may not be deleted/)
  assert.deepEqual(actor.refusedFetch(rollout(), 'n1', 'envoy:v2'), {
    is: 'unable',
    why: 'the API server does not store image volumes',
  })
})

for (const [what, there] of [
  ['is new', false],
  ['is there already', true],
] as const) {
  test(`a pod that fetches and ${what}, without its image volume, is removed: pods are touched without it`, async () => {
    const removed: string[] = []
    const learned: WirePod[] = []
    let stored: WirePod | undefined
    const cluster = {
      async createPod(_: string, pod: object) {
        stored = withoutImageVolumes(pod)
        if (there) throw new ClusterError('conflict', 'it exists')
        return stored
      },
      readPod: async () => stored,
      removePod: async (_: string, name: string) => void removed.push(name),
    } as unknown as Cluster
    const space = {
      learn: (pod: WirePod) => void learned.push(pod),
      forget() {},
    } as unknown as Space
    const actor = createActor({ cluster, steady: () => 0, waiter: 'waiter' })
    const like = { ...wirePod('shop-0'), pullSecrets: [] }
    const step = { do: 'fetch', node: 'n1', image: 'envoy:v2', pullPolicy: 'IfNotPresent', like } as unknown as Step
    assert.equal(actor.refusedFetch(rollout(), 'n1', 'envoy:v2'), undefined)
    await actor.take(step, rollout(), space)
    assert.deepEqual(actor.refusedFetch(rollout(), 'n1', 'envoy:v2'), {
      is: 'unable',
      why: 'the API server does not store image volumes',
    })
    assert.deepEqual(removed, [fetchName(rollout(), 'n1', 'envoy:v2')])
    assert.deepEqual(learned, [])
  })
}
