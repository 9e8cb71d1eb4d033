import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FETCH_LABEL, type Fetch, fetchName, fetchPod, seenFetch } from '../../../rollouts/controller/fetch.ts'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import { iso, NOW, rollout } from '../pods.ts'

const IMAGE = 'registry.example/envoy:v2'
const from = { node: 'n1', image: IMAGE, pullPolicy: 'IfNotPresent', pullSecrets: ['pull'], waiter: 'waiter:1' }

/** How the fetch of a pod with this status is judged, so many ms after its creation. */
function judged(status: WirePod['status'], age = 1000, image = IMAGE): Fetch | undefined {
  const { metadata, spec } = fetchPod(rollout(), { ...from, image })
  const created = { ...metadata, uid: 'uid', resourceVersion: '1', creationTimestamp: iso(NOW - age) }
  return seenFetch({ metadata: created, spec, ...(status && { status }) }, NOW)?.fetch
}
const container = { name: 'sidecar-first-fetch', image: 'waiter:1', imageID: '', ready: false, restartCount: 0 }
const waiting = (reason: string, message = '') => ({
  containerStatuses: [{ ...container, state: { waiting: { reason, message } } }],
})
const sandbox = { conditions: [{ type: 'PodReadyToStartContainers', status: 'True' }], startTime: iso(NOW) }

test('a pod that mounted the image has proven that it is there', () => {
  assert.deepEqual(judged({ phase: 'Succeeded' }), { is: 'there' })
  assert.deepEqual(
    judged({ phase: 'Running', containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }] }),
    {
      is: 'there',
    },
  )
})

test("an image that can't be pulled is tried until the deadline; a wrong name, or one that must be there, once", () => {
  const why = `ErrImagePull: failed to pull and unpack image "${IMAGE}": not found`
  const pull = waiting('ErrImagePull', `failed to pull and unpack image "${IMAGE}": not found`)
  assert.deepEqual(judged(pull), { is: 'waiting', why, late: false })
  assert.deepEqual(judged(pull, 300_001), { is: 'waiting', why, late: true })
  const throttled = judged(waiting('ErrImagePull', `"${IMAGE}": 429 Too Many Requests`), 300_001)
  assert.ok(throttled?.is === 'waiting' && !throttled.late)
  assert.equal(judged(waiting('ErrImageNeverPull', `Container image "${IMAGE}" is not present`))?.is, 'failed')
  assert.equal(judged(waiting('InvalidImageName', `couldn't parse "${IMAGE}"`))?.is, 'failed')
})

for (const [image, called] of [
  ['docker.io/envoy:v2', 'docker.io/library/envoy:v2'],
  ['index.docker.io/example/envoy:v2', 'docker.io/example/envoy:v2'],
  ['example/envoy:v2@sha256:abc', 'docker.io/example/envoy@sha256:abc'],
  ['envoy', 'docker.io/library/envoy:latest'],
] as const) {
  test(`${image} is waited for though the runtime calls it ${called} when the pull fails`, () => {
    const pull = waiting('ErrImagePull', `failed to pull and unpack image "${called}": not found`)
    assert.equal(judged(pull, 1000, image)?.is, 'waiting')
  })
}

test("trouble with anything but the image says that the node can't fetch it this way", () => {
  assert.equal(judged(waiting('ImagePullBackOff', 'Back-off pulling image "waiter:1"'), 20_000)?.is, 'unable')
  assert.equal(judged(waiting('CreateContainerError', `mount of ${IMAGE} is not supported`))?.is, 'unable')
  assert.deepEqual(judged({ phase: 'Failed', reason: 'OutOfpods', message: 'too many' }), {
    is: 'unable',
    why: 'OutOfpods: too many',
  })
})

test('a kubelet that never gets as far as a sandbox does not know image volumes; one that says nothing may be slow', () => {
  assert.equal(judged({ startTime: iso(NOW), ...waiting('ContainerCreating') }, 61_000)?.is, 'unable')
  assert.equal(judged({ ...sandbox, ...waiting('ContainerCreating') }, 61_000)?.is, 'fetching')
  assert.equal(judged(undefined, 600_000)?.is, 'fetching')
  assert.equal(judged({ ...sandbox, phase: 'Failed', reason: 'DeadlineExceeded' }, 600_000)?.is, 'expired')
})

test('the pod has a name of its own for each rollout, node and image, always the same', () => {
  const names = [
    ['n1', 'a'],
    ['n1', 'b'],
    ['n2', 'a'],
  ].map(([node = '', image = '']) => fetchName(rollout(), node, image))
  assert.equal(new Set(names).size, 3)
  assert.deepEqual(names[0], fetchName(rollout(), 'n1', 'a'))
})

test('the pod is bound to its node, mounts the image and nothing else, and goes with its rollout', () => {
  const { metadata, spec } = fetchPod(rollout(), from)
  assert.deepEqual(
    [spec.nodeName, spec.volumes, spec.imagePullSecrets],
    ['n1', [{ name: 'image', image: { reference: IMAGE, pullPolicy: 'IfNotPresent' } }], [{ name: 'pull' }]],
  )
  assert.equal(metadata.labels[FETCH_LABEL], rollout().metadata.uid)
  assert.equal(metadata.ownerReferences[0]?.uid, rollout().metadata.uid)
})
