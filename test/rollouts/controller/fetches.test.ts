import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cluster } from '../../../rollouts/controller/cluster.ts'
import type { Step } from '../../../rollouts/controller/decision.ts'
import { type Fetch, fetchName } from '../../../rollouts/controller/fetch.ts'
import { Fetches } from '../../../rollouts/controller/fetches.ts'
import type { Space } from '../../../rollouts/controller/store.ts'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import { pod, rollout } from '../pods.ts'

let time = 0
const step = (pullSecrets: readonly string[] = []): Extract<Step, { do: 'fetch' }> => ({
  do: 'fetch',
  node: 'n0',
  image: 'envoy:v2',
  like: { ...pod('a'), pullSecrets },
  pullPolicy: 'IfNotPresent',
})
const seen = (fetch: Fetch, isPublic = true) =>
  ({ name: 'f', rollout: 'another', node: 'n0', image: 'envoy:v2', isPublic, fetch }) as const

/** Fetches of a cluster that stores every pod until `refuses`. */
function fetchesOf(refuses = false) {
  const cluster = {
    async createPod(_: string, pod: object) {
      if (refuses) throw new ClusterError('server', 'not now')
      return pod
    },
  } as unknown as Cluster
  const fetches = new Fetches(cluster, () => time, 'waiter')
  return {
    began: (secrets?: readonly string[]) => fetches.take(step(secrets), rollout(), { learn() {} } as unknown as Space),
    seen: (...pods: Parameters<typeof seen>) => void fetches.of(rollout(), [seen(...pods)]),
    of: (node: string, image: string) => fetches.of(rollout(), [])(node, image, true),
  }
}

test('what one rollout fetches, others wait for, and have then; for some minutes', async () => {
  const images = fetchesOf()
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
  assert.equal(await images.began(), true)
  assert.equal(await images.began(), false)
  assert.deepEqual(images.of('n0', 'envoy:v2'), { is: 'fetching' })
  assert.equal(images.of('n1', 'envoy:v2'), undefined)
  images.seen({ is: 'there' })
  assert.deepEqual(images.of('n0', 'envoy:v2'), { is: 'there' })
  time += 300_001
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})

test('a fetch that fails, is refused or never ends holds nobody else up', async () => {
  const images = fetchesOf()
  await images.began()
  images.seen({ is: 'failed', why: 'ErrImagePull' })
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
  const refused = fetchesOf(true)
  await assert.rejects(refused.began())
  assert.equal(refused.of('n0', 'envoy:v2'), undefined)
  await images.began()
  time += 60_001
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})

test("an image that was fetched with a namespace's own secrets is nobody else's", async () => {
  const images = fetchesOf()
  await images.began(['secret'])
  images.seen({ is: 'there' }, false)
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})

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
  const fetches = new Fetches(cluster, () => 0, 'waiter')
  await assert.rejects(fetches.take(step(), rollout(), {} as Space), /may not be deleted/)
  assert.deepEqual(fetches.of(rollout(), [])('n0', 'envoy:v2', true), {
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
    const fetches = new Fetches(cluster, () => 0, 'waiter')
    assert.equal(fetches.of(rollout(), [])('n0', 'envoy:v2', true), undefined)
    await fetches.take(step(), rollout(), space)
    assert.deepEqual(fetches.of(rollout(), [])('n0', 'envoy:v2', true), {
      is: 'unable',
      why: 'the API server does not store image volumes',
    })
    assert.deepEqual(removed, [fetchName(rollout(), 'n0', 'envoy:v2')])
    assert.deepEqual(learned, [])
  })
}

test('that the API server does not store image volumes is found out once, not for each node and rollout', async () => {
  let created = 0
  const cluster = {
    async createPod(_: string, pod: object) {
      created++
      return withoutImageVolumes(pod)
    },
    removePod: async () => {},
  } as unknown as Cluster
  let now = 0
  const fetches = new Fetches(cluster, () => now, 'waiter')
  await fetches.take(step(), rollout(), { learn() {}, forget() {} } as unknown as Space)
  const other = rollout({}, { image: 'envoy:v3' })
  const unable = { is: 'unable', why: 'the API server does not store image volumes' }
  assert.deepEqual(fetches.of(other, [])('n1', 'envoy:v3', true), unable)
  assert.equal(created, 1)
  // It may have been upgraded.
  now = 600_001
  assert.equal(fetches.of(other, [])('n1', 'envoy:v3', true), undefined)
})
