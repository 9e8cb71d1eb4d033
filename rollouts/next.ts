/**
 * What to do next about a rollout, decided from what the cluster shows and the time alone: nothing is remembered, so whoever comes after a
 * process that was killed, at any point, goes on from there. Times are in ms since 1970, by the API server's clock.
 */
import type { Budget } from './budget.ts'
import type { Fetch } from './fetch.ts'
import { type Counts, countsOf, hasDiverged, type Member, membersOf } from './members.ts'
import { byRecency, spread, worstFirst } from './order.ts'
import type { SeenContainer, SeenPod } from './pod.ts'
import type { Touch } from './record.ts'
import { deadlineOf, isCurrent, type Patience, sameImage, touchOf } from './sidecar.ts'
import type { FailureReason, ProgressReason, RolloutFailure, RolloutPhase, SidecarRollout } from './types.ts'
import { type Move, type Walk, walk } from './walk.ts'

export interface Shown {
  readonly now: number
  readonly rollout: SidecarRollout
  /** An older rollout that claims the container of one of the pods. */
  readonly claimedBy: string | undefined
  /** Those that the selector matches. */
  readonly pods: readonly SeenPod[]
  /** All of the namespace, for the budgets. */
  readonly neighbours: readonly SeenPod[]
  readonly budgets: readonly Budget[]
  /** How an image is doing on a node; undefined: nobody has asked for it there yet. */
  readonly fetchOf: (node: string, image: string) => Fetch | undefined
}

export type Step =
  | { readonly do: 'touch'; readonly pod: SeenPod; readonly container: SeenContainer; readonly touch: Touch }
  | {
      readonly do: 'fetch'
      readonly node: string
      readonly image: string
      /** A pod whose pull secrets will do. */
      readonly like: SeenPod
      readonly pullPolicy: string
    }

export interface Decision extends Pick<Walk, 'wanted' | 'unfetchable'> {
  readonly phase: RolloutPhase
  readonly reason: ProgressReason
  readonly message: string
  readonly counts: Counts
  /** When this generation was taken up. */
  readonly since: number
  readonly failure: RolloutFailure | undefined
  /** Whether this generation has reached its share, now or before. */
  readonly completed: boolean
  /** Pods that somebody else has changed since. */
  readonly diverged: readonly string[]
  readonly steps: readonly Step[]
  /** When to look again even if nothing changes; undefined: no need. */
  readonly again: number | undefined
}

export function next(shown: Shown): Decision {
  const { rollout } = shown
  const { generation } = rollout.metadata
  const { strategy } = rollout.spec
  const patience = patienceOf(rollout, shown.now)
  const members = membersOf(rollout, shown.pods, patience)
  const counts = countsOf(members.all, rollout)
  const completed = (rollout.status?.conditions ?? []).some(
    ({ type, status, observedGeneration }) =>
      type === 'Completed' && status === 'True' && observedGeneration === generation,
  )
  const still = {
    counts,
    since: patience.since,
    diverged: members.all.filter((one) => hasDiverged(one, rollout)).map(({ pod }) => pod.name),
    failure: undefined,
    completed,
    steps: [],
    wanted: [],
    unfetchable: undefined,
    again: soonest(members.all, patience),
  }
  if (shown.claimedBy !== undefined) {
    const message = `SidecarRollout ${shown.claimedBy} is older and claims ${rollout.spec.container} of the same pods`
    return { ...still, phase: 'Waiting', reason: 'Waiting', message }
  }
  const kept = rollout.status?.failure?.generation === generation ? rollout.status.failure : undefined
  const failure = kept ?? failureOf(shown, members.all)
  if (strategy.paused)
    return { ...still, phase: 'Paused', reason: 'Paused', message: 'no further pod is touched', failure }
  // A pod that comes and fails long after the rollout was through is no reason to put all the others back.
  if (failure && (strategy.onFailure === 'pause' || completed)) {
    return { ...still, phase: 'Stopped', reason: 'Stopped', message: 'goes on when the spec changes', failure }
  }

  const { moves, limit, back } = movesOf(shown, members.all, counts, failure !== undefined)
  const { touches, fetches, held, ...images } = walk(shown, {
    members: members.all,
    proven: members.proven,
    moves,
    limit,
    back,
  })
  const going = {
    ...still,
    ...images,
    failure,
    steps: [...fetches, ...touches.map((move) => touching(move, { shown, back }))],
  }
  const idle = moves.length === 0 && counts.inProgress === 0
  if (failure) {
    if (idle) {
      return { ...going, phase: 'RolledBack', reason: 'RolledBack', message: 'every touched pod has its image back' }
    }
    const stuck = members.all.find(({ touch, state }) => touch?.back && state.is === 'failed')
    const message = stuck ? `pod ${stuck.pod.name} doesn't come back` : `${moves.length} pods to put back`
    return { ...going, phase: 'RollingBack', reason: 'RollingBack', message }
  }
  const progress = progressOf(counts, back ? moves.length : 0)
  if (idle && (completed || counts.updatedReady >= Math.min(counts.updated, counts.desired))) {
    const reason = counts.matched === 0 ? 'NoPods' : 'Complete'
    return { ...going, phase: 'Complete', reason, message: progress, completed: true }
  }
  if (held && touches.length === 0 && counts.inProgress === 0) {
    return { ...going, phase: 'Progressing', reason: held.reason, message: `${progress}; ${held.message}` }
  }
  return { ...going, phase: 'Progressing', reason: back ? 'TakingBack' : 'Updating', message: progress }
}

function progressOf({ matched, desired, updatedReady }: Counts, toTakeBack: number): string {
  if (matched === 0) return 'no pod matches'
  if (toTakeBack > 0) return `${toTakeBack} to take back; ${desired} of ${matched} pods shall have the image`
  if (desired === 0) return `none of ${matched} pods shall have the image`
  return `${updatedReady} of ${desired} pods are done`
}

/** @param now as in Shown */
export function patienceOf({ metadata, spec, status }: SidecarRollout, now: number): Patience {
  const { minReadySeconds, progressDeadlineSeconds, onFailure } = spec.strategy
  const known = status?.observedGeneration === metadata.generation
  return {
    minReady: minReadySeconds * 1000,
    deadline: progressDeadlineSeconds * 1000,
    since: known ? Date.parse(status.since) : now,
    forgiving: onFailure === 'pause',
    now,
  }
}

/** The pods that need another image, in the order in which they get it. */
function movesOf(
  { rollout }: Shown,
  members: readonly Member[],
  counts: Counts,
  failed: boolean,
): { moves: readonly Move[]; limit: number; back: boolean } {
  const surplus = counts.updated - counts.desired
  if (failed || surplus > 0) {
    const touched = members.filter(({ updated, touch }) => updated && touch && !touch.back && touch.from !== touch.to)
    const back = failed ? touched : touched.toSorted(byRecency).slice(0, surplus)
    const moves = worstFirst(back, byRecency).flatMap((member) =>
      member.touch ? [{ member, to: member.touch.from }] : [],
    )
    return { moves, limit: moves.length, back: true }
  }
  const candidates = surplus === 0 ? [] : members.filter((one) => !one.updated && !hasDiverged(one, rollout))
  const moves = spread(candidates, members).map((member) => ({ member, to: rollout.spec.image }))
  return { moves, limit: -surplus, back: false }
}

function touching({ member, to }: Move, { shown: { rollout, now }, back }: { shown: Shown; back: boolean }): Step {
  const { pod, container } = member
  // One that is on its way to another image says nothing of what is the old one: it may even run what it shall have.
  const moving = !isCurrent(pod, container) && (touchOf(pod, container) || sameImage(container.status?.image ?? '', to))
  const status = moving ? undefined : container.status
  const touch = {
    rollout: rollout.metadata.uid,
    generation: rollout.metadata.generation,
    from: container.image,
    to,
    back,
    container: status?.id ?? '',
    imageId: status?.imageId ?? '',
    at: now,
  }
  return { do: 'touch', pod, container, touch }
}

function failureOf({ rollout, now, fetchOf }: Shown, members: readonly Member[]): RolloutFailure | undefined {
  const failed = (found: { reason: FailureReason; message: string; pod?: string; node?: string | undefined }) => {
    const { node, ...rest } = found
    const time = new Date(now).toISOString()
    return { ...rest, ...(node !== undefined && { node }), generation: rollout.metadata.generation, time }
  }
  for (const { pod, state, touch } of members) {
    if (state.is !== 'failed' || !touch) continue
    return failed({ reason: state.reason, message: state.message, pod: pod.name, node: pod.node })
  }
  const nodes = new Set(members.flatMap(({ updated, pod }) => (updated ? [] : (pod.node ?? []))))
  for (const node of nodes) {
    const fetch = fetchOf(node, rollout.spec.image)
    if (fetch?.is === 'failed') return failed({ reason: 'ImageUnavailable', message: fetch.why, node })
  }
  return undefined
}

/** When the first of them will have been ready long enough, or not in time. */
function soonest(members: readonly Member[], patience: Patience): number | undefined {
  const times = members.flatMap(({ state, touch }) => {
    if (state.is === 'settling') return [state.until]
    // A millisecond late: at the deadline itself it hasn't passed.
    return state.is === 'starting' && touch ? [Math.max(deadlineOf(touch, patience), patience.now) + 1] : []
  })
  return times.length > 0 ? Math.min(...times) : undefined
}
