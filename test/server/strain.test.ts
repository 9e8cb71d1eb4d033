import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStrain } from '../../src/server/strain.ts'

interface Second {
  readonly late?: number
  readonly entered?: number
  readonly turnedAway?: number
}

/** Seconds in which a replica says that it is overloaded, of seconds that each bring what `of` says. */
function overloaded(seconds: number, of: (second: number) => Second): number[] {
  const strain = createStrain()
  let entered = 0
  let turnedAway = 0
  return Array.from({ length: seconds }, (_, second) => {
    const now = of(second)
    entered += now.entered ?? 0
    turnedAway += now.turnedAway ?? 0
    strain.sample(second * 1000, now.late ?? 0, entered, turnedAway)
    return strain.problem === undefined ? [] : [second]
  }).flat()
}

test('a quiet or a busy replica that answers is ready', () => {
  assert.deepEqual(
    overloaded(100, () => ({})),
    [],
  )
  assert.deepEqual(
    overloaded(100, () => ({ entered: 500, turnedAway: 400, late: 300 })),
    [],
  )
  // One long pause, of a garbage collection or a frozen node.
  assert.deepEqual(
    overloaded(100, (second) => ({ entered: 500, late: second === 50 ? 4000 : 0 })),
    [],
  )
})

for (const [name, hard] of [
  ['turns more away than it answers', { entered: 4, turnedAway: 5 }],
  ['lets everybody wait', { entered: 5, late: 800 }],
] as const) {
  test(`one that ${name} stays away for half a minute at most, and is back for as long`, () => {
    const found = overloaded(200, () => hard)
    assert.ok(found.length > 60 && found.length < 110, String(found.length))
    const runs = found.filter((second) => !found.includes(second - 1))
    assert.deepEqual(
      runs.map((second) => second - (runs[0] ?? 0)),
      [0, 60, 120, 180].slice(0, runs.length),
    )
    for (const second of runs) assert.ok(!found.includes(second + 30))
  })

  test(`one that ${name} for a while is ready again when that is over`, () => {
    const found = overloaded(200, (second) => (second >= 50 && second < 65 ? hard : { entered: 5 }))
    assert.ok(found.length >= 5)
    assert.ok((found.at(-1) ?? 0) < 76)
  })
}
