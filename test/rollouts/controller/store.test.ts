import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import { NOW, wirePod } from '../pods.ts'
import { list, shopStore } from '../shop.ts'

/** A store of the namespace shop, and what its watch of pods goes into. */
function shop() {
  const { store, into } = shopStore(() => NOW)
  list(into, [], 1)
  const space = store.space('shop')
  assert.ok(space)
  return { into, space, images: () => space.pods().map(({ containers }) => containers[0]?.image) }
}

function at(version: number, image: string, uid = 'a'): WirePod {
  const pod = wirePod('shop-0', { image })
  return { ...pod, metadata: { ...pod.metadata, uid, resourceVersion: `${version}` } }
}

test('a watch that tells old things after new ones changes nothing', () => {
  const { into, images } = shop()
  into.put(at(5, 'envoy:v2'))
  into.put(at(4, 'envoy:v1'))
  assert.deepEqual(images(), ['envoy:v2'])
})

test('an end that is told late, or a list that began before, takes no newer pod of the same name away', () => {
  const { into, space, images } = shop()
  into.put(at(5, 'envoy:v1'))
  // The answer of a read is ahead of the watch.
  space.learn(at(9, 'envoy:v2', 'b'))
  into.gone(at(8, 'envoy:v1'))
  list(into, [], 8)
  assert.deepEqual(images(), ['envoy:v2'])
  into.gone(at(10, 'envoy:v2', 'b'))
  assert.deepEqual(images(), [])
})

test('a pod whose patch nobody answered is in doubt until it has been read, or is gone', () => {
  const { into, space } = shop()
  into.put(at(5, 'envoy:v1'))
  space.doubt('shop-0')
  into.put(at(6, 'envoy:v1'))
  assert.deepEqual(space.doubtful(), ['shop-0'])
  space.learn(at(6, 'envoy:v1'))
  assert.deepEqual(space.doubtful(), [])
  space.doubt('shop-0')
  into.gone(at(7, 'envoy:v1'))
  assert.deepEqual(space.doubtful(), [])
})

test('a list that says what is known already is no reason to look at a rollout again', () => {
  let looks = 0
  const metadata = { name: 'budget', namespace: 'shop', resourceVersion: '10' }
  const { into, intoBudgets } = shopStore(
    () => NOW,
    () => looks++,
  )
  const listed = (image: string, allowed: number) => {
    looks = 0
    list(into, [at(allowed, image)], 9)
    list(intoBudgets, [{ metadata, status: { disruptionsAllowed: allowed } }], 9)
    return looks
  }
  assert.ok(listed('envoy:v1', 1) > 0)
  assert.equal(listed('envoy:v1', 1), 0)
  assert.equal(listed('envoy:v2', 2), 2)
  looks = 0
  list(into, [], 10)
  intoBudgets.gone({ metadata })
  intoBudgets.gone({ metadata })
  assert.equal(looks, 2)
})
