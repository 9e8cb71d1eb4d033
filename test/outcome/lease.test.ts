import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Outcome } from '../../src/outcome/outcome.ts'
import { stuckNext } from '../../src/outcome/words.ts'
import { drawTimeline } from '../../src/timeline/draw.ts'
import { runs } from '../runs.ts'
import { type Plan, type Run, simulate } from './kubelet.ts'
import { lived } from './lived.ts'
import { recordedPod } from './recorded.ts'
import { judge, timelineOf } from './seen.ts'

// What is said of pods whose lock has a lease, on nodes that have leases. That it isn't wrong, truth.test.ts proves; here it's enough.

const gate = fc.constantFrom('hook', 'native')
const lease = fc.constantFrom<NonNullable<Plan['lease']>[]>(5000, 0, 'always')
const plain = {
  locked: true,
  restartPolicy: 'Always',
  timeout: 120_000,
  onTimeout: 'fail',
  restarts: [],
  lost: 0,
} as const
const busy = { slow: fc.constantFrom(50, 300, 1500), seed: fc.nat() }
const lag = ({ slow }: Pick<Plan, 'slow'>) => 3 * slow + 12_000
const why = (outcome: Outcome) =>
  outcome.kind === 'held'
    ? 'held'
    : outcome.kind === 'stuck'
      ? `stuck ${outcome.reason.why}`
      : outcome.reasons.map((each) => `${outcome.kind} ${each.why}`).join()

describe('of a pod whose lock has a lease', () => {
  const waiting = fc.record({
    gate,
    lease,
    ready: fc.option(fc.integer({ min: 0, max: 90_000 }), { nil: undefined }),
    probed: fc.boolean(),
    pull: fc.constantFrom(0, 0, 9000),
    until: fc.integer({ min: 1000, max: 130_000 }),
    ...busy,
  })
  test('a start is held, however often a probe had failed; until then the app is locked, and nothing else is blamed', () => {
    fc.assert(
      fc.property(waiting, ({ ready, pull, ...each }) => {
        const plan: Plan = { ...plain, ...each, sidecars: [[{ ready }]], app: { pull, code: 0 } }
        const { found, seen } = simulate(plan)
        const said = why(judge(seen).outcome)
        const [first] = found
        if (first && first.at < plan.until - lag(plan)) {
          assert.equal(said, 'held')
          // Its image has been pulled meanwhile.
          const [wait] = timelineOf(seen).waits
          assert.ok((wait?.took ?? 0) < (ready ?? 0) + 4 * plan.slow + 2000, `${wait?.took}`)
        }
        const early = ['unknown starting', 'unknown locked', 'unknown status-late']
        if (!first) assert.ok([...early, 'stuck locked'].includes(said), said)
        // It isn't said before a minute is over.
        if (!first && plan.until > 75_000 + lag(plan)) assert.equal(said, 'stuck locked')
      }),
      runs(1000),
    )
  })

  test('of two tiers, the start of the second tier is not what makes the first one of the app a later one', () => {
    const tier = (name: string, from: number, more: object) => ({
      name,
      hook: { for: [name], locks: true, lease: 5000 } as const,
      native: true as const,
      probed: true as const,
      runs: [[from]] as const,
      failed: [from + 0.5, from + 2] as const,
      ...more,
    })
    const seen = lived(
      [tier('one', 1, {}), tier('two', 4, { locked: true }), { name: 'app', locked: true, runs: [[8]] }],
      {
        now: 30,
        named: 'one, two',
      },
    )
    const [, two] = seen.pod.spec?.initContainers ?? []
    const [app] = seen.pod.spec?.containers ?? []
    const number = (text: string) => text.replaceAll('READY_1', 'READY_2').replaceAll('ready-1', 'ready-2')
    Object.assign(two ?? {}, { lifecycle: JSON.parse(number(JSON.stringify(two?.lifecycle))) })
    app?.env?.push(...JSON.parse(number(JSON.stringify(app.env))))
    assert.deepEqual(judge(seen).outcome, { kind: 'held', unwatched: [], asked: ['one', 'two'] })
  })

  const later = fc.record({ gate, lease, ...busy })
  const again = (
    run: readonly Run[],
    lasts: number,
    until: number,
    each: Pick<Plan, 'gate' | 'lease' | 'slow' | 'seed'>,
  ) => {
    const app = { pull: 0, lasts, code: 1 }
    return simulate({ ...plain, ...each, probed: true, sidecars: [run], app, until })
  }

  test('that restarts while its sidecar does, the app is down by its lock, and its start is held', () => {
    fc.assert(
      fc.property(later, (each) => {
        const sidecar = [{ ready: 500, ends: 40_000 }, { ready: 90_000 }]
        const down = judge(again(sidecar, 40_500, 118_000, each).seen)
        assert.equal(down.down?.why, 'locked')
        assert.equal(
          down.down && stuckNext(down.down, 'web'),
          'kubectl exec web -c sidecar-0 -- /.sidecar-first/wait --why; kubectl logs web -c sidecar-0',
        )
        const { found, seen } = again(sidecar, 40_500, 165_000, each)
        if ((found[1]?.at ?? 165_000) < 165_000 - lag(each))
          assert.equal(why(judge(seen).starts[1]?.outcome as Outcome), 'held')
      }),
      runs(200),
    )
  })

  test('that restarts beside a sidecar that is not ready, what lock-restarts says is told, and no gate is blamed', () => {
    fc.assert(
      fc.property(later, (each) => {
        const { found, seen } = again(
          [{ ready: 500, down: { after: 25_000, lasts: 30_000 } }],
          30_000,
          each.lease === 'always' ? 78_000 : 62_000,
          each,
        )
        const { starts } = judge(seen)
        const second = starts.find(({ nth }) => nth === 1)
        assert.ok(found[1] && second)
        const said = why(second.outcome)
        assert.equal(said, each.lease === 'always' ? 'held' : 'unknown lock-restarts', JSON.stringify(starts))
        if (each.lease === 'always') return
        assert.match(
          drawTimeline(timelineOf(seen), { width: 100, color: false, unicode: true, terminal: false }),
          /SF629 .*sidecar-first\.dev\/lock-restarts says \(always: until it is ready\)/,
        )
      }),
      runs(200),
    )
  })
})

test('a real node shows the same of them', () => {
  const asked = judge(recordedPod('leased-native')).outcome
  assert.deepEqual(asked, { kind: 'held', unwatched: [], asked: ['sidecar'] })
  const [, later] = judge(recordedPod('leased-went-on')).starts
  assert.equal(later && why(later.outcome), 'unknown lock-restarts')
  const { now, ...again } = recordedPod('leased-again')
  const { down } = judge({ ...again, now: now + 20_000 })
  assert.deepEqual(down && 'ask' in down && [down.why, down.container, down.sidecars, down.ask], [
    ...['locked', 'app'],
    ['sidecar'],
    'sidecar',
  ])
})
