import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToldPods } from '../../../rollouts/controller/told-pods.ts'
import type { RolloutFailure } from '../../../rollouts/types.ts'
import { iso, NOW } from '../pods.ts'

const failing = (...pods: readonly string[]): RolloutFailure[] =>
  pods.map((pod) => ({ reason: 'Crashed', pod, message: 'it ended', generation: 1, time: iso(NOW) }))
const names = (count: number, of = 'p') => Array.from({ length: count }, (_, index) => `${of}${index}`)

function teller() {
  const told = new ToldPods()
  return (pods: readonly string[], steady = 0, known?: string) => {
    const { reports, again } = told.say(failing(...pods), { known, steady })
    return { said: reports.map(({ message }) => message), again }
  }
}

test('each pod that fails is told once, and again when it fails again', () => {
  const tell = teller()
  assert.deepEqual(tell(['a', 'b']).said, ['pod a: Crashed: it ended', 'pod b: Crashed: it ended'])
  assert.deepEqual(tell(['a', 'b']).said, [])
  assert.deepEqual(tell(['b']).said, [])
  assert.deepEqual(tell(['a', 'b', 'c'], 0, 'c').said, ['pod a: Crashed: it ended'])
})

test('of thousands of pods that fail at once nine are told, and one more event names the rest', () => {
  const { said, again } = teller()(names(3000))
  assert.equal(said.length, 10)
  assert.equal(said.at(-2), 'pod p8: Crashed: it ended')
  assert.match(said.at(-1) ?? '', /^2991 more pods: p9 \(Crashed\), p10 \(Crashed\), .* and 2986 more$/)
  assert.equal(again, undefined)
})

test('pods that fail one after the other, or again and again, are told in ten events and one each five minutes', () => {
  const tell = teller()
  let written = 0
  for (let time = 0; time < 360; time++) {
    written += tell(names(time), time * 10_000).said.length
    written += tell([...names(time), 'flaps'], time * 10_000 + 5000).said.length
  }
  assert.ok(written <= 10 + 12, `${written} events in an hour`)
})

test('what could not be told is told together, once that may be', () => {
  const tell = teller()
  tell(names(10))
  assert.deepEqual(tell([...names(10), 'late']), { said: [], again: 300_000 })
  assert.deepEqual(tell([...names(10), 'late', 'later'], 100_000), { said: [], again: 200_000 })
  const { said, again } = tell([...names(10), 'late', 'later'], 300_000)
  assert.deepEqual([said, again], [['2 more pods: late (Crashed), later (Crashed)'], undefined])
})
