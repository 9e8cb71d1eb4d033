import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../runs.ts'
import { type Found, type Plan, type Run, simulate } from './kubelet.ts'
import { began } from './lived.ts'
import { judge } from './seen.ts'

const ms = (min: number, max: number) => fc.integer({ min, max })
/** One of them, and mostly nothing. */
const rarely = <T>(other: fc.Arbitrary<T>, weight = 1) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: other, weight })
const run: fc.Arbitrary<Run> = fc.record({
  ready: fc.oneof({ arbitrary: ms(0, 6000), weight: 6 }, { arbitrary: fc.constant(undefined), weight: 1 }),
  ends: rarely(ms(300, 20_000), 2),
  code: fc.constantFrom(0, 1, 137),
  down: rarely(fc.record({ after: ms(2500, 9000), lasts: ms(1500, 8000) })),
})
const plan: fc.Arbitrary<Plan> = fc.record({
  gate: fc.constantFrom('hook', 'native'),
  locked: fc.boolean(),
  lease: fc.constantFrom<Plan['lease'][]>(undefined, 5000, 5000, 0, 'always', 'refused'),
  restartPolicy: fc.constantFrom('Always', 'Always', 'OnFailure', 'Never'),
  probed: fc.boolean(),
  timeout: fc.constantFrom(5000, 120_000, 120_000),
  onTimeout: fc.constantFrom('fail', 'fail', 'fail', 'continue'),
  sidecars: fc.array(fc.array(run, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  app: fc.record({
    pull: fc.constantFrom(0, 0, 3000, 9000),
    lasts: rarely(ms(500, 15_000), 3),
    code: fc.constantFrom(0, 1),
  }),
  restarts: fc.array(ms(500, 110_000), { maxLength: 2 }),
  slow: fc.constantFrom(50, 300, 1500, 4000),
  lost: fc.constantFrom(0, 0, 5, 40),
  seed: fc.nat(),
  until: ms(2000, 130_000),
})

/** So long after a change a cluster shows it at the latest: until then nobody can know better. */
const lag = ({ slow }: Plan) => 3 * slow + 12_000

const all = ({ answered }: Found) => answered.every((each) => each === 'yes')

/** What is wrong with what is said of such a life. */
function wrongs(plan: Plan): { wrong: string[]; said: string[] } {
  const { found, runs, seen } = simulate(plan)
  const { outcome, starts, down } = judge(seen)
  const wrong: string[] = []
  const said: string[] = []
  const early = found.filter(({ at }) => at < plan.until - lag(plan))
  if (outcome.kind === 'stuck' && early.length > 0) wrong.push(`stuck: ${outcome.reason.why}, and its app has run`)
  if (down && runs !== undefined && runs < plan.until - lag(plan)) wrong.push(`down: ${down.why}, and its app runs`)
  for (const { nth, at, outcome } of starts) {
    const { kind } = outcome
    const why =
      kind === 'held'
        ? [...outcome.unwatched.map(() => 'unwatched'), ...outcome.asked.map(() => 'asked')]
        : outcome.reasons.map(({ why }) => why)
    const text = `${nth > 0 ? 'again' : 'first'} ${kind} ${[...new Set(why)]}`
    said.push(text)
    const truth = found[nth]
    const held = truth?.answered.every(
      (yes, index) =>
        // What comes and goes between probes nobody can know.
        yes === 'yes' ||
        yes === 'unseen' ||
        (kind === 'held' && [...outcome.unwatched, ...outcome.asked].includes(`sidecar-${index}`)),
    )
    // One that comes and goes may be ready just then, and at no probe after it: the only thing that is concluded from what is seen later.
    const byProbes = why.every((each) => each === 'kubelet-restarted' || each === 'timed-out')
    const isBetween = byProbes && plan.sidecars.flat().some(({ down }) => down)
    const isWrong = kind === 'held' ? !held : kind === 'too-early' && !isBetween && (!truth || all(truth))
    // What an app asks seconds after its start says nothing of its start.
    const late = truth ? truth.at - (at.at - began) : 0
    const isOf = late > -1000 && late < (at.exact ? 1000 : 2000)
    if (isWrong && isOf) wrong.push(`${text}: ${truth?.answered ?? 'it never started'}`)
  }
  return { wrong, said }
}

test('whatever a late observer sees of a pod, no verdict contradicts what its app found, and a third of them say something', () => {
  const counts = { known: 0, unknown: 0 }
  fc.assert(
    fc.property(plan, (plan) => {
      const { wrong, said } = wrongs(plan)
      for (const each of said) counts[each.includes('unknown') ? 'unknown' : 'known']++
      assert.deepEqual(wrong, [])
    }),
    runs(10_000),
  )
  // It is more than half; by chance it is never a third.
  assert.ok(counts.known > counts.unknown / 2, JSON.stringify(counts))
})
