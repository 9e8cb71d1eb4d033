import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from '../../../rollouts/controller/decision.ts'
import type { Fetch } from '../../../rollouts/controller/fetch.ts'
import { Images } from '../../../rollouts/controller/fetched-images.ts'
import { pod } from '../pods.ts'

let time = 0
const step = (pullSecrets: readonly string[] = []): Extract<Step, { do: 'fetch' }> => ({
  do: 'fetch',
  node: 'n0',
  image: 'envoy:v2',
  like: { ...pod('a'), pullSecrets },
  pullPolicy: 'IfNotPresent',
})
const seen = (fetch: Fetch, isPublic = true) =>
  ({ name: 'f', rollout: 'u', node: 'n0', image: 'envoy:v2', isPublic, fetch }) as const

test('what one rollout fetches, others wait for, and have then; for some minutes', () => {
  const images = new Images(() => time)
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
  images.began(step())
  assert.deepEqual(images.of('n0', 'envoy:v2'), { is: 'fetching' })
  assert.equal(images.of('n1', 'envoy:v2'), undefined)
  images.seen(seen({ is: 'there' }))
  assert.deepEqual(images.of('n0', 'envoy:v2'), { is: 'there' })
  time += 300_001
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})

test('a fetch that fails, is refused or never ends holds nobody else up', () => {
  const images = new Images(() => time)
  images.began(step())
  images.seen(seen({ is: 'failed', why: 'ErrImagePull' }))
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
  images.began(step())
  images.ended(step())
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
  images.began(step())
  time += 60_001
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})

test("an image that was fetched with a namespace's own secrets is nobody else's", () => {
  const images = new Images(() => time)
  images.began(step(['secret']))
  images.seen(seen({ is: 'there' }, false))
  assert.equal(images.of('n0', 'envoy:v2'), undefined)
})
