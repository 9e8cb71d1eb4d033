import assert from 'node:assert/strict'
import { test } from 'node:test'
import { next } from '../../../rollouts/controller/decide-rollout.ts'
import type { Fetch } from '../../../rollouts/controller/fetch.ts'
import { statusOf } from '../../../rollouts/controller/status.ts'
import { type SeenPod, seenPod } from '../../../rollouts/seen-pod.ts'
import { allowedFailures } from '../../../rollouts/share.ts'
import type { RolloutPhase, RolloutStrategy, SidecarRollout } from '../../../rollouts/types.ts'
import { iso, NOW, pod, rollout, wirePod } from '../pods.ts'

/** What docs/rollouts.md promises, and no other test asks for. */

function decide(
  pods: readonly SeenPod[],
  more: { found?: SidecarRollout; fetchOf?: (node: string) => Fetch; now?: number; claimedBy?: string } = {},
) {
  const { found = rollout(), fetchOf = () => ({ is: 'there' }), now = NOW, claimedBy } = more
  const shown = { pods, neighbours: pods, budgets: [], behind: [], bornAs: undefined, now, claimedBy }
  const lifeOf = () => ({ at: Number.NEGATIVE_INFINITY, afterSilence: false })
  return next({ ...shown, rollout: found, fetchOf, lifeOf, isKnown: () => false, denialOf: () => undefined })
}
/** Taken up long ago. */
function withStrategy(strategy: Partial<RolloutStrategy>): SidecarRollout {
  const status = statusOf(rollout(strategy), decide([pod('a')]), { now: NOW, trouble: undefined })
  return rollout(strategy, { status: { ...status, since: iso(NOW - 7_200_000) } })
}
const touchedOf = (steps: ReturnType<typeof decide>['steps']) =>
  steps.flatMap((step) => (step.do === 'touch' ? [step.pod.name] : []))

/** A touched pod whose containers have ended so, one after the other. */
function ended(name: string, how: { reason: string; exitCode: number; message?: string }, times: number): SeenPod {
  let seen: SeenPod | undefined
  for (let i = 2; i < times + 2; i++) {
    const containerID = `${name}-${i}`
    const status = { ready: false, containerID, state: { terminated: { ...how, containerID } } }
    seen = seenPod(wirePod(name, { image: 'envoy:v2', touch: {}, ready: false, status }), seen, NOW)
  }
  assert.ok(seen)
  return seen
}

const failing = ended('a', { reason: 'OOMKilled', exitCode: 137 }, 1)

test('an image matching `from` may be replaced though no pod had it at first', () => {
  const found = rollout({ maxUnavailable: 3 })
  const { origins } = decide([pod('a')]).memory
  assert.deepEqual(origins, ['envoy:v1'])
  const status = { ...statusOf(found, decide([pod('a')]), { now: NOW, trouble: undefined }), origins: ['envoy:v1'] }
  const pods = [pod('a'), pod('b', { image: 'envoy:v1.1' }), pod('c', { image: 'other:v1.1' })]
  const spec = { ...found.spec, from: ['envoy:v1.*'] }
  const { steps, leftAlone } = decide(pods, { found: { ...found, spec, status } })
  assert.deepEqual([touchedOf(steps), leftAlone.superseded], [['a', 'b'], ['c']])
})

test('a pull that is late fails the rollout on one node more than may fail, and on no fewer', () => {
  const pods = ['n0', 'n1', 'n2'].map((node) => pod(node, { node }))
  const late =
    (count: number) =>
    (node: string): Fetch =>
      node < `n${count}` ? { is: 'waiting', why: `ErrImagePull: ${node}`, late: true } : { is: 'there' }
  const decided = (count: number) => decide(pods, { found: withStrategy({ maxFailures: 1 }), fetchOf: late(count) })
  assert.deepEqual([decided(1).failure, touchedOf(decided(1).steps)], [undefined, ['n1']])
  assert.deepEqual([decided(2).failure?.reason, decided(2).failure?.node], ['ImageUnavailable', 'n0'])
})

test('maxFailures as a percentage rounds down', () => {
  const allowed = [0, 3, '0%', '10%', '34%', '100%'].map((most) => allowedFailures(most, 6))
  assert.deepEqual(allowed, [0, 3, 0, 0, 2, 6])
})

test('a pod that fails, and stops nothing, is named in the status', () => {
  const found = withStrategy({ maxFailures: 1 })
  const { conditions } = statusOf(found, decide([failing], { found }), { now: NOW, trouble: undefined })
  const failed = conditions.find(({ type }) => type === 'Failed')
  assert.deepEqual(
    [failed?.status, failed?.message],
    ['False', 'pods that fail, which stops nothing: pod a on node node-1 (Crashed)'],
  )
})

test('a pod that recovers is not counted among those that fail', () => {
  const outOfMemory = ended('a', { reason: 'OOMKilled', exitCode: 137 }, 1)
  const found = withStrategy({ maxFailures: 1 })
  const another = ended('b', { reason: 'OOMKilled', exitCode: 137 }, 1)
  assert.equal(decide([outOfMemory, another], { found }).failure?.reason, 'Crashed')
  const recovered = seenPod(
    wirePod('b', { image: 'envoy:v2', touch: {}, status: { containerID: 'b-3' } }),
    another,
    NOW,
  )
  assert.equal(decide([outOfMemory, recovered], { found }).failure, undefined)
})

for (const [how, fails] of [
  [{ reason: 'Error', exitCode: 1 }, true],
  [{ reason: 'ContainerStatusUnknown', exitCode: 137 }, false],
  [{ reason: 'Unknown', exitCode: 255 }, false],
] as const) {
  test(`three ends with ${how.reason} ${fails ? 'are a failure' : "are the node's"}`, () => {
    assert.equal(
      decide([ended('a', how, 3)], { found: withStrategy({}) }).failure?.reason,
      fails ? 'Crashed' : undefined,
    )
  })
}

test('a new sandbox after the touch gives the whole deadline again', () => {
  const started = (lastTransitionTime: string) => {
    const wire = wirePod('a', { image: 'envoy:v2', touch: {}, ready: false, status: { ready: false } })
    const conditions = [
      ...(wire.status?.conditions ?? []),
      { type: 'PodReadyToStartContainers', status: 'True', lastTransitionTime },
    ]
    return { ...wire, status: { ...wire.status, conditions } }
  }
  const first = seenPod(started(iso(NOW)), undefined, NOW)
  const status = statusOf(rollout(), decide([first]), { now: NOW, trouble: undefined })
  const found = rollout({}, { status })
  const later = NOW + 299_000
  assert.equal(decide([first], { found, now: later + 2000 }).failure?.reason, 'DeadlineExceeded')
  const rebooted = seenPod(started(iso(later)), first, later)
  assert.equal(decide([rebooted], { found, now: later + 299_000 }).failure, undefined)
  assert.equal(decide([rebooted], { found, now: later + 301_000 }).failure?.reason, 'DeadlineExceeded')
})

test('a container that nothing proves counts as away, and as done after the deadline', () => {
  const status = { image: 'sha256:1', imageID: 'sha256:1', containerID: 'a-2' }
  const unproven = pod('a', { image: 'envoy:v2', touch: { between: true }, readyFor: 1000, status })
  const found = rollout({}, { status: statusOf(rollout(), decide([unproven]), { now: NOW, trouble: undefined }) })
  assert.deepEqual(touchedOf(decide([unproven, pod('b')], { found }).steps), [])
  assert.deepEqual(touchedOf(decide([unproven, pod('b')], { found, now: NOW + 300_001 }).steps), ['b'])
})

test('the last five images are remembered', () => {
  const revisions = [1, 2, 3, 4, 5].map((n) => ({ image: `envoy:old${n}`, partition: 0, completed: true }))
  const status = { ...statusOf(rollout(), decide([pod('a')]), { now: NOW, trouble: undefined }), revisions }
  assert.deepEqual(
    decide([pod('a')], { found: rollout({}, { status }) }).memory.revisions.map(({ image }) => image),
    ['envoy:old2', 'envoy:old3', 'envoy:old4', 'envoy:old5', 'envoy:v2'],
  )
})

const back = pod('a', {
  touch: { back: true, from: 'envoy:v2', base: 'envoy:v1', ids: ['a-2'], images: ['id of envoy:v2'] },
  generation: 3,
  status: { containerID: 'a-3' },
})
for (const [phase, pods, strategy, [ready, reconciling, stalled]] of [
  ['Progressing', [pod('a')], {}, ['False', 'True', 'False']],
  ['Paused', [pod('a')], { paused: true }, ['False', 'False', 'True']],
  ['Stopped', [failing], {}, ['False', 'False', 'True']],
  ['RollingBack', [failing], { onFailure: 'rollback' }, ['False', 'False', 'True']],
  ['RolledBack', [back], { onFailure: 'rollback' }, ['False', 'False', 'True']],
  ['Waiting', [pod('a')], {}, ['False', 'False', 'True']],
  ['Complete', [pod('a', { image: 'envoy:v2', touch: {} })], {}, ['True', 'False', 'False']],
] satisfies [RolloutPhase, SeenPod[], Partial<RolloutStrategy>, [string, string, string]][]) {
  test(`${phase}: as kstatus reads it, and each condition is about this generation`, () => {
    const failed = decide([failing], { found: withStrategy(strategy) })
    const before = statusOf(withStrategy(strategy), failed, { now: NOW, trouble: undefined })
    const found = phase === 'RolledBack' ? rollout(strategy, { status: before }) : withStrategy(strategy)
    const decision = decide(pods, { found, ...(phase === 'Waiting' && { claimedBy: 'older' }) })
    const { conditions, ...status } = statusOf(found, decision, { now: NOW, trouble: undefined })
    const is = (type: string) => conditions.find((one) => one.type === type)?.status
    assert.deepEqual(
      [status.phase, is('Ready'), is('Reconciling'), is('Stalled')],
      [phase, ready, reconciling, stalled],
    )
    assert.ok(conditions.every(({ observedGeneration, message }) => observedGeneration === 1 && message !== ''))
  })
}
