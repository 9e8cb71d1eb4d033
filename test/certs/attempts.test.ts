import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Attempts } from '../../certs/attempts.ts'
import type { Leaf, Shown } from '../../certs/decide-step.ts'
import { DAY, SECOND } from './world.ts'

const year = { issued: 0, expires: 365 * DAY, signs: true }
const leaf: Leaf = { id: 'leaf', issuer: 'ca', issued: 0, expires: 30 * DAY }
const shown = (id: string): Shown => ({
  now: 0,
  secret: { current: { id: 'ca', ...year }, next: undefined, retired: [], leaf: { ...leaf, id }, asked: undefined },
  configurations: [],
  strangers: [],
  served: undefined,
  nextTrustedFor: 0,
})
const renew = { do: 'issue', from: 'current', reason: 'leaf-due' } as const
const trust = { do: 'trust', authorities: ['ca'], in: ['mutating', 'validating'], reason: 'differs' } as const

/** When a step may be taken, each time as soon as it may. */
function times(count: number, states: (index: number) => Shown): number[] {
  const attempts = new Attempts()
  let now = 0
  return Array.from({ length: count }, (_, index) => {
    const due = attempts.due(renew, states(index), now)
    if ('at' in due) now = due.at
    attempts.take(renew, states(index), now)
    return now
  })
}

test('a step whose effect is undone is repeated at once, and then ever more rarely', () => {
  const undone = times(12, () => shown('same'))
  assert.deepEqual(undone.slice(0, 6), [0, 0, 200, 600, 1400, 3000])
  assert.equal((undone.at(-1) ?? 0) - (undone.at(-2) ?? 0), 30 * SECOND)
})

test('a leaf that is renewed again and again is no repetition, however short it lives', () => {
  assert.deepEqual(new Set(times(12, (index) => shown(`leaf${index}`))), new Set([0]))
})

test('one configuration that is reverted holds up no other, nor a change of what is trusted', () => {
  const attempts = new Attempts()
  const here = shown('leaf')
  for (let i = 0; i < 4; i++) attempts.take({ ...trust, in: ['mutating'] }, here, 0)
  assert.deepEqual(attempts.due(trust, here, 0), { step: { ...trust, in: ['validating'] } })
  const other = { ...trust, authorities: ['ca', 'ca2'] }
  assert.deepEqual(attempts.due(other, here, 0), { step: other })
  assert.deepEqual(attempts.due(trust, here, 10 * 60 * SECOND), { step: trust })
})
