import type { Member } from '../members.ts'
import { desiredOf } from '../share.ts'
import type { ProgressReason, RolloutFailure, RolloutPhase } from '../types.ts'
import type { Decision, Shown } from './decision.ts'
import { firstNames } from './first-names.ts'
import type { Moves } from './targets.ts'
import type { Walk } from './walk.ts'

/** What is known of a rollout, and of the moves that are left. */
export interface Look extends Pick<Moves, 'moves' | 'back'>, Pick<Walk, 'touches' | 'held'> {
  readonly shown: Shown
  readonly members: readonly Member[]
  /** All of the decision but what its rule says. */
  readonly decision: Omit<Decision, 'phase' | 'reason' | 'message'>
  /** As many as are to have the image have it, and none is on its way but those that have failed. */
  readonly reached: boolean
  /** How many are on their way and have failed. */
  readonly broken: number
  /** Those that are done and have yet to run for a while. */
  readonly baking: readonly Member[]
}

export interface PhaseRule {
  readonly name: string
  /** The same as `holds`, for people. */
  readonly when: string
  readonly holds: (look: Look) => boolean
  /** No pod is moved, whatever is left to do. */
  readonly rests?: true
  readonly phase: RolloutPhase
  /** `held`: what holds the next pod back. */
  readonly reason: ProgressReason | 'held'
  readonly message: (look: Look) => string
  /** What of the decision is otherwise than without this rule. */
  readonly but?: (look: Look) => Partial<Decision>
}

/** What a rollout does if no other rule holds. */
export const updating = {
  name: 'updating',
  when: 'otherwise',
  holds: () => true,
  phase: 'Progressing',
  reason: 'Updating',
  message: (look) => `${progressOf(look)}${waitingFor(look.members)}`,
} as const satisfies PhaseRule

/** Of these rules, in their order, the first that holds decides. docs/rollouts.md lists them. */
export const phaseRules: readonly PhaseRule[] = [
  {
    name: 'claimed by another',
    when: 'an older rollout upgrades this container of one of the pods',
    holds: ({ shown }) => shown.claimedBy !== undefined,
    rests: true,
    phase: 'Waiting',
    reason: 'Waiting',
    message: ({ shown: { claimedBy, rollout } }) =>
      `SidecarRollout ${claimedBy} is older and upgrades ${rollout.spec.container} of the same pods`,
    but: () => ({ steps: [] }),
  },
  {
    name: 'paused',
    when: '`strategy.paused`',
    holds: ({ shown }) => shown.rollout.spec.strategy.paused,
    rests: true,
    phase: 'Paused',
    reason: 'Paused',
    message: (look) =>
      `${doneOf(look.decision)}; no more pods are touched${look.decision.failure ? `; ${whyOf(look.decision)}` : ''}`,
  },
  {
    name: 'stopped by a failure',
    when: 'it has failed, under `onFailure: pause`',
    holds: ({ shown, decision }) => decision.failure !== undefined && shown.rollout.spec.strategy.onFailure === 'pause',
    rests: true,
    phase: 'Stopped',
    reason: 'Stopped',
    message: (look) =>
      `${doneOf(look.decision, look.decision.failing.length)}; stopped by ${whyOf(look.decision)}: continues when the spec changes`,
  },
  {
    name: 'rolled back',
    when: 'it has failed, under `onFailure: rollback`, and no pod is left to put back',
    holds: (look) => look.decision.failure !== undefined && look.moves.length === 0 && returning(look).length === 0,
    phase: 'RolledBack',
    reason: 'RolledBack',
    message: ({ decision }) => `every touched pod is back on the image it had, after ${whyOf(decision)}`,
  },
  {
    name: 'rolling back',
    when: 'it has failed, under `onFailure: rollback`',
    holds: ({ decision }) => decision.failure !== undefined,
    phase: 'RollingBack',
    reason: 'RollingBack',
    message(look) {
      const off = returning(look)
      const stuck = off.find(({ state }) => state.is === 'failed')
      const rest = stuck
        ? `pod ${stuck.pod.name} does not recover`
        : `${look.moves.length} left to put back${waitingFor(off)}${look.decision.denied.length > 0 ? `; ${refusalsOf(look.decision)}` : ''}`
      return `${rest}; after ${whyOf(look.decision)}`
    },
  },
  {
    // Complete would say that something has run.
    name: 'nodes too old',
    when: 'no pod that it may upgrade has a kubelet of 1.34 or later',
    holds: ({ shown, members, decision }) =>
      members.every(({ standing: is }) => is === 'too old' || is === 'superseded') &&
      desiredOf(shown.rollout.spec.strategy.partition, decision.leftAlone.tooOld.length) > 0,
    phase: 'Stopped',
    reason: 'NodesTooOld',
    message({ decision: { leftAlone } }) {
      const { length } = leftAlone.tooOld
      return `none of ${length} pods can be upgraded in place, ${KUBELETS}: ${firstNames(leftAlone.tooOld)}; continues on newer nodes`
    },
    but: () => ({ completed: false }),
  },
  {
    name: 'no pods',
    when: 'no pod matches',
    holds: ({ reached, decision }) => reached && decision.counts.matched === 0,
    phase: 'Complete',
    reason: 'NoPods',
    message: progressOf,
    but: completing,
  },
  {
    name: 'complete',
    when: 'the share is reached, and its pods are done',
    holds: ({ reached }) => reached,
    phase: 'Complete',
    reason: 'Complete',
    message: progressOf,
    but: completing,
  },
  {
    name: 'baking',
    when: 'the first pods, or the last, are done and have yet to run for `bakeSeconds`, and nothing else is to be done',
    holds: ({ baking, touches, held, broken, decision: { counts } }) =>
      baking.length > 0 &&
      touches.length === 0 &&
      counts.inProgress === broken &&
      (held === undefined || held.reason === 'Baking'),
    phase: 'Progressing',
    reason: 'Baking',
    message: (look) => `${progressOf(look)}; ${bakingText(look)}`,
  },
  {
    name: 'refused',
    when: 'admission puts the old image back or denies the change, and nothing else is left to do',
    holds: ({ moves, broken, decision: { counts, denied, leftAlone } }) =>
      moves.length === denied.length && counts.inProgress === broken && leftAlone.refused.length > 0,
    phase: 'Stopped',
    reason: 'Refused',
    message: (look) => `${progressOf(look)}; ${refusalsOf(look.decision)}`,
  },
  {
    name: 'held',
    when: 'no pod is on its way, and the next one has to wait',
    holds: ({ held, touches, decision }) =>
      held !== undefined && touches.length === 0 && decision.counts.inProgress === 0,
    phase: 'Progressing',
    reason: 'held',
    message: (look) => `${progressOf(look)}; ${look.held?.message}`,
  },
  {
    name: 'taking back',
    when: 'pods have to leave the image',
    holds: ({ back }) => back,
    phase: 'Progressing',
    reason: 'TakingBack',
    message: progressOf,
  },
  updating,
]

/** Those that are on their way back. */
const returning = ({ members }: Look) => members.filter(({ inProgress, note }) => inProgress && note?.back)

function completing({ shown, members, broken, decision }: Look): Partial<Decision> {
  const { rollout, now, behind } = shown
  const { counts, completed, memory } = decision
  const unneeded = counts.matched > 0 && members.every(({ note }) => note?.rollout !== rollout.metadata.uid)
  // With its share; an image that no pod is to have isn't one to come back to.
  const some = counts.desired > 0
  const at = some && !completed && broken === 0 && { completedAt: new Date(now).toISOString() }
  const complete = { partition: rollout.spec.strategy.partition, completed: some, ...at }
  const revisions = memory.revisions.map((one, index, { length }) =>
    index === length - 1 ? { ...one, ...complete } : one,
  )
  return { completed: true, unneeded, behind: unneeded ? [] : behind, memory: { ...memory, revisions } }
}

/** Whose touches came to nothing, and why. */
export const refusalsOf = ({ leftAlone: { refused }, denied }: Pick<Decision, 'leftAlone' | 'denied'>): string =>
  [
    refused.length > denied.length &&
      `admission puts the old image back: ${firstNames(refused.slice(0, refused.length - denied.length))}`,
    denied.length > 0 && `the API server denies the change: ${firstNames(denied, DENIED)}`,
  ]
    .filter(Boolean)
    .join('; ')

/** So many of the pods whose change is denied are named, since each comes with its reason. */
const DENIED = 2

/** Where a failure was: `pod shop-1 on node a`. */
export const placeOf = ({ pod, node }: Pick<RolloutFailure, 'pod' | 'node'>) =>
  [pod && `pod ${pod}`, node && `node ${node}`].filter(Boolean).join(' on ')

const whyOf = ({ failure }: Pick<Decision, 'failure'>) => failure && `${failure.reason} (${placeOf(failure)})`

const KUBELETS = 'since their kubelets are older than 1.34'

/** How far it is. */
function progressOf({ decision, back, moves, broken }: Look): string {
  const { matched, desired } = decision.counts
  return back && moves.length > 0
    ? `${moves.length} to take back; ${desired} of ${matched} pods are to have the image`
    : doneOf(decision, broken)
}

/** How many pods are done, and how many won't be. */
function doneOf({ counts: { matched, desired, updatedReady }, leftAlone }: Look['decision'], broken = 0): string {
  const { superseded, tooOld } = leftAlone
  if (matched === 0) return 'no pods match'
  return [
    desired === 0 ? `none of ${matched} pods is to have the image` : `${updatedReady} of ${desired} pods are done`,
    broken > 0 && `${broken} failed`,
    superseded.length > 0 && `${superseded.length} left alone`,
    tooOld.length > 0 && `${tooOld.length} left alone ${KUBELETS}`,
  ]
    .filter(Boolean)
    .join(', ')
}

/** The first pods that are on their way, or have the image and aren't ready with it. */
function waitingFor(members: readonly Member[]): string {
  const found = (silent: boolean) =>
    members.flatMap(({ inProgress, updated, state, pod, ...one }) => {
      const isAwaited = inProgress || (updated && state.is !== 'done')
      if (!isAwaited || state.is === 'failed' || one.silent !== silent) return []
      const lacks = state.is === 'starting' ? (state.held ?? state.lacks) : undefined
      return [lacks === undefined ? pod.name : `${pod.name} (${lacks})`]
    })
  const [going, silent] = [found(false), found(true)]
  return [
    going.length > 0 ? `; waiting for ${firstNames(going, WAITING)}` : '',
    silent.length > 0 ? `; no answer from the kubelets of ${firstNames(silent, WAITING)}` : '',
  ].join('')
}

/** What a person needs to know who sees that nothing happens. */
function bakingText({ baking, held, shown: { rollout } }: Look): string {
  const until = new Date(Math.max(...baking.map(({ bakes = 0 }) => bakes))).toISOString().slice(11, 19)
  const names = firstNames(
    baking.map(({ pod }) => pod.name),
    WAITING,
  )
  const { bakeSeconds } = rollout.spec.strategy
  const then = held ? 'others get it' : 'it is complete'
  return `baking until ${until} UTC: ${names} must run for ${bakeSeconds} s before ${then}`
}

/** So many of the pods that are waited for are named: the message is one line of a table. */
const WAITING = 2
