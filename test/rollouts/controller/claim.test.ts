import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimedBy } from '../../../rollouts/controller/claim.ts'
import type { SidecarRollout } from '../../../rollouts/types.ts'
import { iso, NOW, pod, rollout } from '../pods.ts'

const named = (name: string, age: number, spec: Partial<SidecarRollout['spec']> = {}): SidecarRollout => {
  const one = rollout()
  const metadata = { ...one.metadata, name, uid: name, creationTimestamp: iso(NOW - age) }
  return { ...one, metadata, spec: { ...one.spec, ...spec } }
}
const pods = [pod('a')]
const young = named('young', 1000)

test('the older one has the container', () => {
  const old = named('old', 2000)
  assert.equal(claimedBy(young, [old, young], pods), 'old')
  assert.equal(claimedBy(old, [old, young], pods), undefined)
})

test('of two of one age the first by name has it', () => {
  const twin = named('twin', 1000)
  assert.equal(claimedBy(young, [twin, young], pods), 'twin')
  assert.equal(claimedBy(twin, [twin, young], pods), undefined)
})

test('another container, other pods, or no pod at all: no claim', () => {
  assert.equal(claimedBy(young, [named('old', 2000, { container: 'vault' })], pods), undefined)
  assert.equal(claimedBy(young, [named('old', 2000, { selector: { matchLabels: { app: 'x' } } })], pods), undefined)
  assert.equal(claimedBy(young, [named('old', 2000)], [pod('a', { ending: true })]), undefined)
})
