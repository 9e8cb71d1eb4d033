import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Budget } from '../../../rollouts/controller/budget.ts'
import { next } from '../../../rollouts/controller/decide-rollout.ts'
import type { Decision, Shown } from '../../../rollouts/controller/decision.ts'
import { statusOf } from '../../../rollouts/controller/status.ts'
import { type SeenPod, seenPod } from '../../../rollouts/seen-pod.ts'
import type { RolloutStatus, RolloutStrategy } from '../../../rollouts/types.ts'
import { iso, NOW, pod, rollout, wirePod } from '../pods.ts'

type Look = Partial<Omit<Shown, 'rollout'>> & {
  strategy?: Partial<RolloutStrategy>
  status?: RolloutStatus
  image?: string
  generation?: number
}

/** By default the generation was taken up long ago. */
function decide(pods: readonly SeenPod[], look: Look = {}): Decision {
  const { strategy, status, image, generation = 1, now = NOW, ...more } = look
  const decision = next({
    now,
    rollout: rollout(strategy, { ...(image && { image }), generation, status: status ?? takenUp(generation) }),
    claimedBy: undefined,
    pods,
    neighbours: pods,
    budgets: [],
    fetchOf: () => ({ is: 'there' }),
    lifeOf: () => ({ at: Number.NEGATIVE_INFINITY, afterSilence: false }),
    isKnown: () => false,
    denialOf: () => undefined,
    behind: [],
    bornAs: undefined,
    ...more,
  })
  // The queue would have it looked at ten times a second.
  assert.ok(decision.again === undefined || decision.again > now, `looks again ${now - (decision.again ?? 0)} ms ago`)
  return decision
}

const takenUp = (observedGeneration: number): RolloutStatus => ({
  observedGeneration,
  since: iso(NOW - 7_200_000),
  matched: 0,
  desired: 0,
  updated: 0,
  ready: 0,
  updatedReady: 0,
  inProgress: 0,
  silent: 0,
  refused: 0,
  superseded: 0,
  previousImages: [],
  phase: 'Progressing',
  conditions: [],
})

const touched = ({ steps }: Decision) =>
  steps.flatMap((step) => (step.do === 'touch' ? [`${step.pod.name} ${step.note.wanted}`] : []))
const fetched = ({ steps }: Decision) =>
  steps.flatMap((step) => (step.do === 'fetch' ? [`${step.node} ${step.image}`] : []))
/** What a generation that was taken up at `since` left behind. */
const left = (decision: Decision, generation = 1, since = NOW - 600_000): RolloutStatus => ({
  ...statusOf(rollout({}, { generation }), decision, { now: NOW, trouble: undefined }),
  since: iso(since),
})
const names = (count: number) => Array.from({ length: count }, (_, index) => `p${index}`)
const starting = { ready: false, containerID: 'p0-2' }
/** Its own end counts at once; a crash for another reason may be the node's, or bad luck. */
const outOfMemory = {
  ready: false,
  containerID: 'a-2',
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', containerID: 'a-2' } },
}

test('pods are touched one at a time, by node in turn', () => {
  const pods = [pod('a', { node: 'n1' }), pod('b', { node: 'n1' }), pod('c', { node: 'n2' })]
  assert.deepEqual(touched(decide(pods)), ['a envoy:v2'])
  assert.deepEqual(touched(decide(pods, { strategy: { maxUnavailable: 2 } })), ['a envoy:v2', 'c envoy:v2'])
  const decision = decide(pods)
  assert.deepEqual([decision.phase, decision.reason], ['Progressing', 'Updating'])
  assert.deepEqual(decision.counts, {
    matched: 3,
    desired: 3,
    updated: 0,
    ready: 3,
    updatedReady: 0,
    inProgress: 0,
    silent: 0,
    refused: 0,
    superseded: 0,
    previousImages: [],
  })
})

test('a node that has an updated pod waits for the others', () => {
  const pods = [
    pod('a', { node: 'n1' }),
    pod('b', { node: 'n2' }),
    pod('c', { node: 'n1', image: 'envoy:v2', touch: {} }),
  ]
  assert.deepEqual(touched(decide(pods)), ['b envoy:v2'])
})

test('pods that are not ready go first, and cost no readiness', () => {
  const pods = [pod('a'), pod('b', { ready: false }), pod('c', { ready: false })]
  assert.deepEqual(touched(decide(pods)), ['b envoy:v2'])
  assert.deepEqual(touched(decide(pods, { strategy: { maxUnavailable: 3 } })), [
    'b envoy:v2',
    'c envoy:v2',
    'a envoy:v2',
  ])
  assert.deepEqual(touched(decide(pods, { strategy: { maxUnavailable: 2 } })), ['b envoy:v2', 'c envoy:v2'])
})

test('other pods that are not ready hold the ready ones back', () => {
  const pods = [pod('a'), pod('b', { image: 'envoy:v2', ready: false, status: { ready: true } })]
  const decision = decide(pods)
  assert.deepEqual(decision.steps, [])
  assert.deepEqual([decision.phase, decision.reason], ['Progressing', 'HeldByUnreadyPods'])
})

test('while a hook runs the pod still says it is ready with its old container: it counts as away', () => {
  const stale = { image: 'docker.io/library/envoy:v1', containerID: 'a-1' }
  const pods = [pod('a', { image: 'envoy:v2', touch: { at: NOW - 5000 }, status: stale }), pod('b')]
  const decision = decide(pods)
  assert.deepEqual(decision.steps, [])
  assert.equal(decision.counts.ready, 1)
  assert.equal(decision.counts.inProgress, 1)
})

test('a pod that is away for another rollout counts, too', () => {
  const away = pod('a', { image: 'envoy:v1', touch: { rollout: 'other', from: 'envoy:v0', ids: ['a-2'] } })
  assert.deepEqual(touched(decide([away, pod('b')])), ['a envoy:v2'])
  assert.deepEqual(decide([away, pod('b')]).counts.ready, 1)
})

test('a pod is done when the new container has been ready for long enough', () => {
  const settling = pod('a', { image: 'envoy:v2', touch: { at: NOW - 8000 }, readyFor: 4000 })
  const early = decide([settling, pod('b')])
  assert.deepEqual(early.steps, [])
  assert.equal(early.again, NOW + 6000)
  const later = decide([settling, pod('b')], { now: NOW + 6000, strategy: { bakeSeconds: 0 } })
  assert.deepEqual(touched(later), ['b envoy:v2'])
  assert.equal(later.counts.updatedReady, 1)
})

test('the first pods bake before the others get the image, and the last before it is complete, which is said', () => {
  const baking = pod('a', { image: 'envoy:v2', touch: {}, readyFor: 20_000 })
  const first = decide([baking, pod('b')])
  assert.deepEqual([first.phase, first.reason, first.steps], ['Progressing', 'Baking', []])
  assert.equal(first.again, NOW + 40_000)
  const from = '1 of 2 pods are done; baking until 12:00:40 UTC: a must run for 60 s before others get it'
  assert.equal(first.message, from)
  const then = decide([baking, pod('b')], { now: NOW + 40_000 })
  assert.deepEqual(touched(then), ['b envoy:v2'])
  // What has baked once stays known to whoever reads the status.
  assert.deepEqual(then.memory.revisions.at(-1)?.bakedUntil, iso(NOW - 3_600_000))
  const last = decide([baking], {})
  assert.deepEqual(
    [last.reason, last.message.replace(/^.*; /, '')],
    ['Baking', 'baking until 12:00:40 UTC: a must run for 60 s before it is complete'],
  )
  assert.equal(decide([baking], { now: NOW + 40_000 }).phase, 'Complete')
})

test('a sidecar that was ready and ends bakes again; the second time it fails, though it is ready again', () => {
  const run = (number: number, ready: boolean) => ({
    ready,
    containerID: `a-${number}`,
    lastState: { terminated: { exitCode: 1, containerID: `a-${number - 1}`, reason: 'Error' } },
  })
  const states = [run(2, true), run(3, true), run(4, true)]
  const decisions = states.map((_, end) => {
    let seen: SeenPod | undefined
    for (const [at, status] of states.slice(0, end + 1).entries()) {
      seen = seenPod(wirePod('a', { image: 'envoy:v2', touch: {}, status }), seen, NOW + at * 30_000)
    }
    return seen && decide([seen], { now: NOW + end * 30_000 + 15_000 })
  })
  assert.deepEqual(
    decisions.map((one) => one?.reason),
    ['Baking', 'Baking', 'Stopped'],
  )
  assert.deepEqual(
    decisions.map((one) => one?.again),
    [NOW + 60_000, NOW + 90_000, undefined],
  )
  assert.equal(decisions[2]?.failure?.message, 'envoy was ready and ended, 2 times while it baked: Error')
})

test('the partition: that many stay, a percentage rounds up but for the first pod', () => {
  const pods = names(8).map((name) => pod(name))
  const desired = (partition: number | string) => decide(pods, { strategy: { partition } }).counts.desired
  assert.deepEqual(
    ['0%', '50%', '75%', '80%', '90%', '99%', '100%', 0, 3, 9].map(desired),
    [8, 4, 2, 1, 1, 1, 0, 8, 5, 0],
  )
})

test('maxUnavailable: a percentage rounds down, but one is always allowed', () => {
  const pods = names(8).map((name) => pod(name))
  const together = (maxUnavailable: number | string) => decide(pods, { strategy: { maxUnavailable } }).steps.length
  assert.deepEqual(['1%', '25%', '30%', '100%', 1, 3, 20].map(together), [1, 2, 2, 8, 1, 3, 8])
})

test('the share is reached: complete, and complete it stays while a pod is not ready', () => {
  const pods = [pod('a', { image: 'envoy:v2', touch: {} }), pod('b')]
  const first = decide(pods, { strategy: { partition: 1 } })
  assert.deepEqual([first.phase, first.completed, first.steps], ['Complete', true, []])
  assert.deepEqual(first.counts.previousImages, [{ image: 'envoy:v1', pods: 1 }])
})

test('a raised partition takes back the most recently updated', () => {
  const pods = names(4).map((name, index) =>
    pod(name, { image: 'envoy:v2', touch: { at: NOW - 1_000_000 + index, from: `envoy:old${index}` } }),
  )
  const strategy = { partition: '50%', maxUnavailable: 2 }
  const decision = decide(pods, { strategy })
  assert.deepEqual(touched(decision), ['p3 envoy:old3', 'p2 envoy:old2'])
  assert.deepEqual([decision.phase, decision.reason], ['Progressing', 'TakingBack'])
  assert.equal(decision.message, '2 to take back; 2 of 4 pods are to have the image')
  const none = decide([pod('a')], { strategy: { partition: '100%' } })
  assert.deepEqual([none.phase, none.message], ['Complete', 'none of 1 pods is to have the image'])
  assert.ok(decision.steps.every((step) => step.do === 'touch' && step.note.back))
})

test('a pod that was born on the image has nothing to go back to', () => {
  const decision = decide([pod('a', { image: 'envoy:v2' })], { strategy: { partition: '100%' } })
  assert.deepEqual([decision.phase, decision.steps], ['Complete', []])
})

test("the hook fails, by the waiter's words: stopped, with the pod and the reason", () => {
  const message = 'envoy (http://127.0.0.1:15021/ready) was not ready after 60s, tried 9 times: answered 503\n'
  const status = {
    ...starting,
    containerID: 'a-2',
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off' } },
    lastState: { terminated: { exitCode: 1, containerID: 'a-2', reason: 'Completed', message } },
  }
  const decision = decide([
    pod('a', { image: 'envoy:v2', touch: {}, ready: false, status }),
    pod('b', { ready: false }),
  ])
  assert.deepEqual([decision.phase, decision.steps], ['Stopped', []])
  assert.deepEqual(decision.failure, {
    reason: 'HookFailed',
    message: message.trim(),
    pod: 'a',
    node: 'node-1',
    generation: 1,
    time: iso(NOW),
  })
})

for (const [what, status, reason] of [
  [
    'runs out of its memory',
    { state: { terminated: { exitCode: 137, containerID: 'a-2', reason: 'OOMKilled' } } },
    'Crashed',
  ],
  [
    "can't be created",
    { state: { waiting: { reason: 'CreateContainerError', message: 'no such user' } } },
    'StartFailed',
  ],
  [
    'has a name that is no image',
    {
      containerID: 'a-1',
      state: { waiting: { reason: 'InvalidImageName', message: 'Failed to apply default image tag "envoy:v2"' } },
    },
    'ImageUnavailable',
  ],
  [
    'fails its hook',
    {
      state: { waiting: { reason: 'PostStartHookError', message: 'exit 1' } },
      lastState: { terminated: { exitCode: 1, containerID: 'a-2' } },
    },
    'HookFailed',
  ],
] as const) {
  test(`a new container that ${what} stops the rollout: ${reason}`, () => {
    const failed = pod('a', {
      image: 'envoy:v2',
      touch: { at: NOW - 60_000 },
      ready: false,
      readyFor: 60_000,
      status: { ready: false, ...status },
    })
    assert.equal(decide([failed, pod('b')]).failure?.reason, reason)
  })
}

test('behind a lock, a container whose tier ahead is not ready fails no rollout; the same words for a missing Secret do', () => {
  const waits = (name?: string) =>
    pod('a', {
      image: 'envoy:v2',
      touch: { at: NOW - 60_000 },
      ready: false,
      readyFor: 60_000,
      status: { ready: false, state: { waiting: { reason: 'CreateContainerConfigError', message: 'not found' } } },
      ...(name && { env: [{ name }] }),
    })
  for (const name of ['SIDECAR_FIRST_READY_1', 'SIDECAR_FIRST_READY_2_VAULT_AGENT']) {
    assert.equal(decide([waits(name), pod('b')]).failure, undefined)
  }
  assert.equal(decide([waits('OTHER'), pod('b')]).failure?.reason, 'StartFailed')
})

test('put back, a pod does not fail by the broken image that was started once more before the kubelet saw it', () => {
  for (const ended of [{ message: 'envoy was not ready after 8s, tried 9 times' }, { reason: 'OOMKilled' }]) {
    const lastState = { terminated: { exitCode: 137, containerID: 'a-3', ...ended } }
    const back = pod('a', {
      touch: { back: true, from: 'envoy:v2', base: 'envoy:v1', ids: ['a-2'], images: ['id of envoy:v2'] },
      generation: 3,
      ready: false,
      readyFor: 1000,
      status: { ready: false, containerID: 'a-4', lastState },
    })
    assert.equal(decide([back], { strategy: { partition: '100%' } }).failure, undefined)
  }
})

test('a container that has ended twice may recover; three times is a failure', () => {
  const crashed = (times: number) => {
    let seen: SeenPod | undefined
    for (let i = 2; i < times + 2; i++) {
      const ended = { exitCode: 1, containerID: `a-${i}`, reason: 'Error' }
      const status = { ready: false, containerID: `a-${i}`, state: { terminated: ended } }
      seen = seenPod(wirePod('a', { image: 'envoy:v2', touch: {}, ready: false, status }), seen, NOW)
    }
    return seen ? decide([seen, pod('b')]) : undefined
  }
  assert.equal(crashed(2)?.failure, undefined)
  assert.deepEqual([crashed(3)?.failure?.reason, crashed(3)?.failure?.pod], ['Crashed', 'a'])
})

test('an image that is not pulled within the deadline fails; a registry that asks for patience is waited for', () => {
  const pulling = (message: string) => {
    const status = { ready: false, containerID: 'a-1', state: { waiting: { reason: 'ImagePullBackOff', message } } }
    const one = pod('a', { image: 'envoy:v2', touch: {}, ready: false, readyFor: 1000, status })
    const kept = left(decide([one]))
    return [NOW + 298_000, NOW + 300_001].map((now) => decide([one], { status: kept, now }).failure?.reason)
  }
  assert.deepEqual(pulling('Back-off pulling image "envoy:v2": not found'), [undefined, 'ImageUnavailable'])
  assert.deepEqual(pulling('Back-off pulling image "envoy:v2": 429 Too Many Requests'), [undefined, undefined])
})

test('an image with a tag and a digest that is not pulled: the runtime leaves the tag out when it says so', () => {
  const message = 'failed to pull and unpack image "docker.io/library/envoy@sha256:abc": not found'
  const status = { ready: false, containerID: 'a-1', state: { waiting: { reason: 'ErrImagePull', message } } }
  const image = 'envoy:v2@sha256:abc'
  const one = pod('a', { image, touch: {}, ready: false, readyFor: 1000, status })
  const kept = left(decide([one], { image }))
  assert.equal(decide([one], { image, status: kept, now: NOW + 300_001 }).failure?.reason, 'ImageUnavailable')
})

test('maxFailures: so many pods may fail', () => {
  const failing = pod('a', { image: 'envoy:v2', touch: {}, ready: false, status: outOfMemory })
  const more: Look = { strategy: { maxFailures: 1, maxUnavailable: 2 } }
  assert.deepEqual(touched(decide([failing, pod('b')], more)), ['b envoy:v2'])
  const done = decide([failing, pod('b', { image: 'envoy:v2', touch: {} })], more)
  assert.deepEqual([done.phase, done.message], ['Complete', '1 of 2 pods are done, 1 failed'])
})

test('what was wrong with the old image does not fail the new one', () => {
  const trouble = {
    containerID: 'a-1',
    state: { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "envoy:v1"' } },
  }
  const one = pod('a', {
    image: 'envoy:v2',
    touch: { at: NOW - 5000 },
    ready: false,
    readyFor: 5000,
    status: { ready: false, ...trouble },
  })
  assert.equal(decide([one]).failure, undefined)
  const crashing = {
    containerID: 'a-1',
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated: { exitCode: 1, containerID: 'a-1' } },
  }
  const other = pod('a', {
    image: 'envoy:v2',
    touch: { at: NOW - 5000 },
    ready: false,
    readyFor: 5000,
    status: { ready: false, ...crashing },
  })
  assert.equal(decide([other]).failure, undefined)
})

test("a crash of a pod that nobody has touched is not this rollout's", () => {
  const status = { ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } }
  assert.equal(decide([pod('a', { image: 'envoy:v2', ready: false, status })]).failure, undefined)
})

test('the deadline passes: stopped', () => {
  const slow = pod('a', {
    image: 'envoy:v2',
    touch: { at: NOW - 1000 },
    ready: false,
    readyFor: 1000,
    status: { ready: false },
  })
  const status = left(decide([slow]))
  assert.equal(decide([slow], { status, now: NOW + 298_000 }).failure, undefined)
  assert.equal(decide([slow], { status, now: NOW + 300_001 }).failure?.reason, 'DeadlineExceeded')
})

/** A pod that was ready before its touch, with its new sidecar, which is; and its app, which isn't. */
function unreadyApp(app: object, more: object = {}): { pod: SeenPod; status: RolloutStatus } {
  const wire = wirePod('a', {
    image: 'envoy:v2',
    touch: { ready: true, at: NOW - 1000 },
    ready: false,
    readyFor: 1000,
    status: { ready: true, state: { running: {} } },
    ...more,
  })
  const its = { name: 'app', image: 'app', imageID: 'app', ready: false, restartCount: 0, containerID: 'app-1', ...app }
  const containerStatuses = [...(wire.status?.containerStatuses ?? []), its]
  const before = seenPod(wire, undefined, NOW - 2000)
  const seen = seenPod({ ...wire, status: { ...wire.status, containerStatuses } }, before, NOW)
  return { pod: seen, status: left(decide([seen])) }
}

test('ready before its touch and not again by the deadline: AppNotReady, with what is not ready', () => {
  const { pod: one, status } = unreadyApp({
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
  })
  const early = decide([one], { status, now: NOW + 290_000 })
  assert.equal(early.failure, undefined)
  assert.equal(early.message, '0 of 1 pods are done; waiting for a (app is not ready (CrashLoopBackOff))')
  const { failure } = decide([one], { status, now: NOW + 301_000 })
  assert.equal(failure?.reason, 'AppNotReady')
  assert.equal(
    failure.message,
    'the pod was ready before, and not again within 300 s, though envoy is: app is not ready (CrashLoopBackOff: back-off 5m0s)',
  )
})

for (const [what, app, why] of [
  [
    'has run out of its own memory',
    { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', containerID: 'app-0' } } },
    'app has run out of its own memory',
  ],
  [
    "can't be pulled",
    { state: { waiting: { reason: 'ImagePullBackOff', message: 'no' } } },
    "the image of app can't be pulled",
  ],
] as const) {
  test(`an app that ${what}: held, which is said, and a failure after a second deadline`, () => {
    const { pod: one, status } = unreadyApp(app)
    const held = decide([one], { status, now: NOW + 301_000 })
    assert.deepEqual([held.failure, held.excused], [undefined, [`a (${why})`]])
    assert.match(held.message, new RegExp(why))
    assert.equal(decide([one], { status, now: NOW + 601_000 }).failure?.reason, 'AppNotReady')
  })
}

test('a pod that was not ready before its touch, or judged by its sidecar alone, is done with its sidecar', () => {
  assert.equal(unreadyApp({}, { touch: { ready: false, at: NOW - 1000 } }).status.inProgress, 1)
  const { pod: before, status } = unreadyApp({}, { touch: { ready: false, at: NOW - 1000 } })
  const { pod: alone } = unreadyApp({})
  assert.equal(decide([before], { status, now: NOW + 60_000 }).phase, 'Complete')
  assert.equal(decide([alone], { status, now: NOW + 60_000 }).phase, 'Progressing')
  assert.equal(decide([alone], { status, now: NOW + 60_000, strategy: { judge: 'Sidecar' } }).phase, 'Complete')
})

test('a failure is remembered for the generation, and a changed spec gives the pod another chance', () => {
  const status = outOfMemory
  const failing = pod('a', { image: 'envoy:v2', touch: { at: NOW - 60_000 }, ready: false, status })
  const stopped = decide([failing, pod('b')])
  const kept = left(stopped)
  const recovered = pod('a', { image: 'envoy:v2', touch: { at: NOW - 60_000 } })
  assert.equal(decide([recovered, pod('b')], { status: kept }).phase, 'Stopped')
  const resumed = decide([failing, pod('b')], { status: kept, generation: 2 })
  assert.deepEqual([resumed.phase, resumed.failure, resumed.steps], ['Progressing', undefined, []])
  const again = left(resumed, 2, NOW)
  assert.equal(decide([failing, pod('b')], { status: again, generation: 2, now: NOW + 301_000 }).phase, 'Stopped')
})

test('a failure in a bake that is longer than the deadline has another chance for as long', () => {
  const terminated = { exitCode: 1, containerID: 'a-2', message: 'envoy was not ready after 60s' }
  const status = { ...starting, containerID: 'a-2', lastState: { terminated } }
  const failing = pod('a', { image: 'envoy:v2', touch: { at: NOW - 60_000 }, ready: false, status })
  const look = {
    status: left(decide([failing, pod('b')]), 2, NOW),
    strategy: { bakeSeconds: 600 },
    generation: 2,
    isKnown: (key: string) => key.endsWith(' done'),
  }
  const at = (now: number) => decide([failing, pod('b')], { ...look, now }).phase
  assert.deepEqual(
    [at(NOW + 301_000), at(NOW + 1_199_000), at(NOW + 1_201_000)],
    ['Progressing', 'Progressing', 'Stopped'],
  )
})

test('rollback: the failed pod first and at once, the others as carefully as forward', () => {
  const status = outOfMemory
  const failing = pod('a', { image: 'envoy:v2', touch: {}, ready: false, status })
  const done = names(3).map((name, index) => pod(name, { image: 'envoy:v2', touch: { at: NOW - 1_000_000 + index } }))
  const decision = decide([...done, failing, pod('z')], {
    strategy: { onFailure: 'rollback' },
    fetchOf: () => undefined,
  })
  assert.equal(decision.phase, 'RollingBack')
  assert.deepEqual(touched(decision), ['a envoy:v1'])
  assert.deepEqual(fetched(decision), ['node-1 envoy:v1'])
  const kept = left(decision)
  const putBack = pod('a', {
    touch: { back: true, from: 'envoy:v2', base: 'envoy:v1', ids: ['a-2'], images: ['id of envoy:v2'] },
    generation: 3,
    status: { containerID: 'a-3' },
  })
  const then = decide([...done, putBack, pod('z')], { strategy: { onFailure: 'rollback' }, status: kept })
  assert.deepEqual(touched(then), ['p2 envoy:v1'])
  const end = decide([putBack, pod('z')], { strategy: { onFailure: 'rollback' }, status: kept })
  assert.deepEqual([end.phase, end.steps, end.failure?.pod], ['RolledBack', [], 'a'])
})

test('a failure after the share was reached puts nothing back', () => {
  const done = pod('b', { image: 'envoy:v2', touch: {} })
  const kept = left(decide([done]))
  const status = outOfMemory
  const late = pod('a', { image: 'envoy:v2', touch: { at: NOW + 1 }, ready: false, status })
  const decision = decide([done, late], { strategy: { onFailure: 'rollback' }, status: kept })
  assert.deepEqual([decision.phase, decision.steps, decision.failure], ['Complete', [], undefined])
  assert.deepEqual(
    decision.failing.map(({ pod: name }) => name),
    ['a'],
  )
})

test("an image that can't be fetched stops the rollout before any pod is touched", () => {
  const decision = decide([pod('a'), pod('b')], { fetchOf: () => ({ is: 'failed', why: 'ErrImagePull: no' }) })
  assert.deepEqual([decision.phase, decision.steps], ['Stopped', []])
  assert.deepEqual([decision.failure?.reason, decision.failure?.node], ['ImageUnavailable', 'node-1'])
})

test("a node is asked for the image once, before its pods; a node that has it doesn't wait for the others", () => {
  const pods = [pod('a', { node: 'n1' }), pod('b', { node: 'n1' }), pod('c', { node: 'n2' })]
  const none = decide(pods, { fetchOf: () => undefined })
  assert.deepEqual(fetched(none), ['n1 envoy:v2', 'n2 envoy:v2'])
  assert.deepEqual([touched(none), none.reason], [[], 'FetchingImage'])
  const one = decide(pods, { fetchOf: (node) => ({ is: node === 'n2' ? 'there' : 'fetching' }) })
  assert.deepEqual([touched(one), fetched(one)], [['c envoy:v2'], []])
})

test('nodes that no pod of the share needs are not asked', () => {
  const pods = names(8).map((name, index) => pod(name, { node: `n${index}` }))
  assert.deepEqual(fetched(decide(pods, { strategy: { partition: 7 }, fetchOf: () => undefined })), ['n0 envoy:v2'])
})

test("where images can't be fetched ahead pods go one at a time, and the condition says so", () => {
  const pods = names(4).map((name) => pod(name))
  const decision = decide(pods, { strategy: { maxUnavailable: 3 }, fetchOf: () => ({ is: 'unable', why: 'too old' }) })
  assert.deepEqual(touched(decision), ['p0 envoy:v2'])
  assert.deepEqual(decision.unfetchable, { nodes: ['node-1'], why: 'too old' })
})

test('nor does one join another that is in progress', () => {
  const away = pod('a', { image: 'envoy:v2', touch: { at: NOW }, ready: false, status: { ready: false } })
  const look: Look = { strategy: { maxUnavailable: 3 }, fetchOf: () => ({ is: 'unable', why: 'too old' }) }
  assert.deepEqual(decide([away, pod('b')], look).steps, [])
})

test('taken back before the kubelet has done anything, a pod is done with the container that it has', () => {
  const old = { image: 'docker.io/library/envoy:v1', imageID: 'id of envoy:v1', containerID: 'a-1' }
  const strategy = { partition: '100%' }
  const unseen = pod('a', { image: 'envoy:v2', touch: { at: NOW }, observed: 1, status: old })
  const [step] = decide([unseen], { strategy }).steps
  assert.ok(step?.do === 'touch')
  assert.deepEqual([step.note.ids, step.note.keep], [[], ['a-1']])
  const back = pod('a', { touch: { ...step.note }, generation: 3, status: old })
  assert.equal(decide([back], { strategy, now: NOW + 10_000 }).phase, 'Complete')
})

test('a pod that has not started gets the image without a limit once the image has proven itself', () => {
  const fresh = names(3).map((name) => pod(name, { node: '', ready: false, status: null }))
  const strategy = { maxUnavailable: 4 }
  assert.deepEqual(touched(decide(fresh, { strategy })), [])
  const done = pod('z', { image: 'envoy:v2', touch: {} })
  assert.deepEqual(
    touched(decide([...fresh, done], { strategy: { maxUnavailable: 1 } })),
    names(3).map((name) => `${name} envoy:v2`),
  )
})

test('until then a pod that has not started shows that it starts, like any other', () => {
  const one = pod('a', { image: 'envoy:v2', touch: { ids: [], images: [], at: NOW }, ready: false, status: null })
  const decision = decide([one, pod('b', { ready: false, status: null })])
  assert.deepEqual([decision.steps, decision.counts.inProgress], [[], 1])
})

const budget = (more: Partial<Budget> = {}): Budget => ({
  name: 'shop',
  selector: { matchLabels: { app: 'shop' } },
  allowed: 1,
  desiredHealthy: 2,
  ...more,
})

test('disruption budgets: what it makes unavailable is counted, also what the status does not show yet', () => {
  const pods = names(3).map((name) => pod(name))
  const strategy = { maxUnavailable: 3 }
  assert.equal(touched(decide(pods, { strategy, budgets: [budget()] })).length, 1)
  assert.equal(touched(decide(pods, { strategy, budgets: [budget({ allowed: 3, desiredHealthy: 0 })] })).length, 3)
  assert.equal(
    touched(decide(pods, { strategy, budgets: [budget({ selector: { matchLabels: { app: 'x' } }, allowed: 0 })] }))
      .length,
    3,
  )
  const held = decide(pods, { strategy, budgets: [budget({ allowed: 0 })] })
  assert.deepEqual([held.steps, held.reason], [[], 'HeldByDisruptionBudget'])
  assert.deepEqual(decide(pods, { budgets: [budget({ desiredHealthy: undefined })] }).steps, [])
  const stale = { image: 'docker.io/library/envoy:v1', containerID: 'p0-1' }
  const away = [pod('p0', { image: 'envoy:v2', touch: { at: NOW }, status: stale }), ...pods.slice(1)]
  assert.deepEqual(decide(away, { strategy, budgets: [budget()] }).steps, [])
})

test('a container that a kubelet may have started for somebody in between has to be proven', () => {
  // Touched, and while the kubelet starts that one, somebody sets the old image again; then the rollout has another image.
  const stale = { image: 'docker.io/library/envoy:v1', imageID: 'id of envoy:v1', containerID: 'a-1' }
  const reset = pod('a', { touch: { wanted: 'envoy:v2', gen: 2 }, generation: 3, observed: 2, status: stale })
  const look: Look = { image: 'envoy:v3', generation: 2, strategy: { minReadySeconds: 0 } }
  const [step] = decide([reset, pod('b')], look).steps
  assert.ok(step?.do === 'touch' && step.pod.name === 'a')
  // It's ready, seen and about to be replaced.
  const between = { image: 'docker.io/library/envoy:v2', imageID: 'id of envoy:v2', containerID: 'a-2' }
  const touch = { ...step.note, at: NOW - 1000 }
  const ran = pod('a', { image: 'envoy:v3', touch, generation: 4, readyFor: 1000, status: between })
  assert.deepEqual(touched(decide([ran, pod('b')], look)), [])
})

test('a pod that was given the image before its start is not late while its kubelet has not seen that', () => {
  const touch = { ids: [], images: [], at: NOW - 3_000_000 }
  const unseen = { image: 'envoy:v2', touch, ready: false, status: null, observed: 1 }
  const taken = (one: SeenPod): SeenPod => ({ ...one, taken: true })
  const late = decide([taken(pod('a', unseen)), pod('b', { ready: false })])
  assert.deepEqual([late.phase, late.failure, late.leftAlone.silent], ['Progressing', undefined, ['a']])
  assert.equal(decide([taken(pod('a', { ...unseen, observed: 2 }))]).failure?.reason, 'DeadlineExceeded')
})

test('a pod that somebody else has changed since is left alone, also when the spec changes', () => {
  const changed = pod('a', { image: 'envoy:mine', touch: { wanted: 'envoy:v2', gen: 2 }, generation: 3 })
  const status = { ...takenUp(1), origins: ['envoy:v1'] }
  const decision = decide([changed], { status })
  assert.deepEqual([decision.phase, decision.steps, decision.leftAlone.superseded], ['Complete', [], ['a']])
  assert.deepEqual(touched(decide([changed], { status, generation: 2 })), [])
})

test('only images that were there at first are replaced, or those that the spec names', () => {
  const status = { ...takenUp(1), origins: ['envoy:v1'] }
  const pods = [pod('a'), pod('b', { image: 'envoy:v3' })]
  assert.deepEqual(touched(decide(pods, { status, strategy: { maxUnavailable: 2 } })), ['a envoy:v2'])
  assert.deepEqual(decide(pods, { status }).memory.origins, ['envoy:v1'])
})

/** On a node whose kubelet doesn't say what it has seen. */
function onOldNode(...args: Parameters<typeof wirePod>): SeenPod {
  const wire = wirePod(...args)
  const { observedGeneration: _, ...status } = wire.status ?? {}
  return seenPod({ ...wire, status: { ...status, startTime: iso(NOW) } }, undefined, NOW)
}

test('kubelets that do not say what they have seen: their pods are left alone', () => {
  const decision = decide([onOldNode('a'), pod('b')], { strategy: { maxUnavailable: 2 } })
  assert.deepEqual([touched(decision), decision.leftAlone.tooOld], [['b envoy:v2'], ['a']])
  const half = decide([onOldNode('a'), pod('b', { image: 'envoy:v2', touch: {} })])
  assert.deepEqual(
    [half.phase, half.message],
    ['Complete', '1 of 1 pods are done, 1 left alone since their kubelets are older than 1.34'],
  )
})

test('where all kubelets are too old nothing has run, so it is not complete: it needs somebody, until that changes', () => {
  const decision = decide([onOldNode('a'), onOldNode('b'), onOldNode('c', { image: 'other:v1' })], {
    status: { ...takenUp(1), origins: ['envoy:v1'] },
  })
  const why =
    'none of 2 pods can be upgraded in place, since their kubelets are older than 1.34: a, b; continues on newer nodes'
  assert.deepEqual([decision.phase, decision.message, decision.steps], ['Stopped', why, []])
  assert.deepEqual([decision.completed, decision.leftAlone.superseded], [false, ['c']])
  const status = left(decision)
  const is = (name: string) => status.conditions.find(({ type }) => type === name)
  assert.deepEqual(
    ['Ready', 'Stalled', 'Completed', 'NodesTooOld'].map((name) => is(name)?.status),
    ['False', 'True', 'False', 'True'],
  )
  assert.deepEqual([is('Stalled')?.reason, is('Stalled')?.message], ['NodesTooOld', why])
  assert.deepEqual(touched(decide([onOldNode('a'), pod('b')], { status })), ['b envoy:v2'])
})

test('on kubelets that are too old it is complete where nothing is to be done', () => {
  const born = [onOldNode('a', { image: 'envoy:v2' }), onOldNode('b', { image: 'envoy:v2' })]
  assert.deepEqual([decide(born).phase, decide(born).message], ['Complete', '2 of 2 pods are done'])
  assert.equal(decide([onOldNode('a')], { strategy: { partition: '100%' } }).phase, 'Complete')
})

test('a touch that the kubelet has not seen: silent, unavailable, and never late', () => {
  const stale = { image: 'docker.io/library/envoy:v1', imageID: 'id of envoy:v1', containerID: 'a-1' }
  const silent = pod('a', { image: 'envoy:v2', touch: { at: NOW - 3_000_000 }, observed: 1, status: stale })
  const decision = decide([silent, pod('b')])
  assert.deepEqual([decision.phase, decision.failure, decision.steps], ['Progressing', undefined, []])
  assert.deepEqual([decision.counts.silent, decision.counts.ready, decision.leftAlone.silent], [1, 1, ['a']])
})

test('paused: nothing is touched; claimed by an older rollout: it waits', () => {
  assert.deepEqual(
    [decide([pod('a')], { strategy: { paused: true } })].map(({ phase, steps }) => [phase, steps]),
    [['Paused', []]],
  )
  const waiting = decide([pod('a')], { claimedBy: 'older' })
  assert.deepEqual([waiting.phase, waiting.steps], ['Waiting', []])
})

test('pods that end, and pods without the container, do not count', () => {
  const other = { ...pod('b'), containers: [] }
  assert.equal(decide([pod('a', { ending: true }), other]).counts.matched, 0)
  assert.deepEqual([decide([]).phase, decide([]).reason], ['Complete', 'NoPods'])
})

test('native sidecars are found among the init containers, with their place', () => {
  const [step] = decide([pod('a', { native: true })]).steps
  assert.ok(step?.do === 'touch')
  assert.deepEqual([step.container.list, step.container.index], ['initContainers', 1])
  const stopped = decide([
    pod('a', {
      native: true,
      image: 'envoy:v2',
      touch: {},
      ready: false,
      status: {
        ready: false,
        state: { terminated: { exitCode: 1, containerID: 'a-2', message: 'x was not ready after 5s' } },
      },
    }),
  ])
  assert.equal(stopped.failure?.reason, 'HookFailed')
})

for (const [what, pods, look, words] of [
  ['is not ready', [pod('a'), pod('b', { ready: false, image: 'envoy:v2' })], {}, 'b is not ready, at most 1 may be'],
  [
    'pulls in vain',
    [pod('a')],
    { fetchOf: () => ({ is: 'waiting', why: 'ErrImagePull: no', late: false }) },
    "can't pull envoy:v2 on node-1 yet",
  ],
  ['is on no node', [pod('a', { node: '', ready: false, status: null })], {}, 'pod a is on no node yet'],
] satisfies [string, SeenPod[], Look, string][]) {
  test(`what ${what} and holds the rollout is named`, () => {
    const { message } = decide(pods, look)
    assert.ok(message.startsWith('0 of ') || message.startsWith('1 of '), message)
    assert.ok(message.includes(words), message)
  })
}

test('an updated pod that is not ready is waited for by name, also once it was done; those left alone are counted', () => {
  const done = pod('a', { image: 'envoy:v2', touch: {} })
  const down = pod('b', { image: 'envoy:v2', touch: {}, ready: false, status: { ready: false } })
  const other = pod('c', { image: 'envoy:v3' })
  const status = { ...takenUp(1), origins: ['envoy:v1'] }
  const decision = decide([done, down, other], { status, isKnown: () => true })
  assert.deepEqual(
    [decision.phase, decision.message],
    ['Progressing', '1 of 2 pods are done, 1 left alone; waiting for b'],
  )
  assert.equal(decide([other], { status }).message, 'none of 1 pods is to have the image, 1 left alone')
})

test('words of any length fit into a status, and the next look finds them unchanged', () => {
  const message = `${'💥'.repeat(40_000)} was not ready after 60s`
  const status = { ...starting, state: { terminated: { exitCode: 1, containerID: 'a-2', message } } }
  const decision = decide([pod('a', { image: 'envoy:v2', touch: {}, ready: false, status })])
  const first = left(decision)
  const longest = Math.max(...first.conditions.map((one) => one.message.length), first.failure?.message.length ?? 0)
  assert.ok(longest > 1000 && longest <= 5000, `${longest}`)
  const later = left(decide([pod('a')], { status: JSON.parse(JSON.stringify(first)) }))
  assert.deepEqual(later.failure, first.failure)
  assert.ok(first.failure?.message.isWellFormed())
})

test('many images: those that pods still have stay origins, and the status counts the most frequent', () => {
  const known = Array.from({ length: 20 }, (_, index) => `envoy:z${index}`)
  const status = {
    ...takenUp(1),
    origins: ['envoy:v1', ...known.slice(1)],
    revisions: [{ image: 'envoy:z99', partition: 0, completed: true }],
  }
  const { origins = [] } = decide([pod('a')], { status }).memory
  assert.deepEqual([origins.length, origins.includes('envoy:v1'), origins.includes('envoy:z99')], [20, true, true])
  const pods = names(50).map((name, index) =>
    pod(name, { image: 'envoy:v2', touch: { from: `envoy:v${Math.min(index, 40)}` } }),
  )
  const { previousImages } = decide(pods).counts
  assert.equal(previousImages.length, 20)
  assert.ok(previousImages.some(({ image, pods: count }) => image === 'envoy:v40' && count === 10))
})

test("a rollout by the former version's kind, without a bake and a judge, is judged as that one did", () => {
  const { bakeSeconds: _, judge: __, ...former } = rollout().spec.strategy
  const strategy = { ...former, bakeSeconds: undefined, judge: undefined } as unknown as RolloutStrategy
  const { pod: one, status } = unreadyApp({})
  const decision = decide([one], { status, strategy, now: NOW + 60_000 })
  assert.deepEqual([decision.phase, decision.again], ['Complete', undefined])
  const { again = Number.NaN } = decide([one, pod('b')], { status, strategy, now: NOW + 60_000 })
  assert.ok(again > NOW)
})
