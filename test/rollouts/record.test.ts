import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTouches, type Touch, touchKey, writeTouch } from '../../rollouts/record.ts'
import { sameImage } from '../../rollouts/sidecar.ts'
import { NOW } from './pods.ts'

test("a note is read as it was written; what isn't one is none", () => {
  const touch: Touch = {
    rollout: 'u',
    generation: 2,
    from: 'a',
    to: 'b',
    back: false,
    container: 'c',
    imageId: 'd',
    at: NOW,
  }
  const key = touchKey('envoy')
  assert.deepEqual([...readTouches({ [key]: writeTouch(touch), other: '{}' })], [['envoy', touch]])
  for (const text of ['', 'null', '[]', '{}', '{"at":"x"}', writeTouch(touch).replace('"u"', '1')]) {
    assert.equal(readTouches({ [key]: text }).size, 0, text)
  }
})

test('references are the same in full', () => {
  for (const [reported, wanted] of [
    ['docker.io/library/envoy:latest', 'envoy'],
    ['docker.io/example/envoy:v1', 'example/envoy:v1'],
    ['localhost:5000/envoy:v1', 'localhost:5000/envoy:v1'],
    ['r.io/e@sha256:aa', 'r.io/e:v1@sha256:aa'],
    ['sha256:aa', 'anything'],
  ] as const) {
    assert.ok(sameImage(reported, wanted), `${reported} ${wanted}`)
  }
  for (const [reported, wanted] of [
    ['docker.io/library/envoy:v1', 'envoy:v2'],
    ['docker.io/example/envoy:v1', 'quay.io/example/envoy:v1'],
    ['localhost:5000/envoy:latest', 'localhost:5001/envoy'],
  ] as const) {
    assert.ok(!sameImage(reported, wanted), `${reported} ${wanted}`)
  }
})
