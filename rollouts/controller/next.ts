/**
 * What to do next about a rollout, decided from what the cluster shows and the time alone. What is remembered besides (when a container was
 * first seen ready) only ever makes it wait longer, so a successor of a process that was killed, at any point, goes on from there. Times are
 * in ms since 1970, by the API server's clock.
 */

import { sameName } from '../image.ts'
import { type Counts, countsOf, type Member, membersOf, SILENT, settledKey, withContainer } from '../members.ts'
import { type Memory, pulledFor, remember } from '../memory.ts'
import type { Note } from '../record.ts'
import { allowedFailures, desiredOf } from '../share.ts'
import { deadlineOf, isRewritten, noteOf, type Patience, patienceOf, standing } from '../sidecar.ts'
import type { FailureReason, ProgressReason, RolloutFailure, RolloutPhase, SidecarRollout } from '../types.ts'
import { named } from './names.ts'
import type { Shown, Step } from './step.ts'
import { desiredIn, type Move, movesOf } from './targets.ts'
import { type Walk, walk } from './walk.ts'

export interface Decision extends Pick<Walk, 'wanted' | 'unfetchable' | 'unfetched'> {
  readonly phase: RolloutPhase
  readonly reason: ProgressReason
  readonly message: string
  readonly counts: Counts
  /** When this generation was taken up. */
  readonly since: number
  readonly failure: RolloutFailure | undefined
  /** Whether this generation has reached its share, now or before. */
  readonly completed: boolean
  readonly memory: Memory
  /** Pods that are left alone, by why. */
  readonly leftAlone: Readonly<Record<'superseded' | 'refused' | 'silent' | 'tooOld', readonly string[]>>
  readonly behind: readonly string[]
  /** Complete, and no pod has an image from here any more. */
  readonly unneeded: boolean
  /** Pods that fail now, whether that stops the rollout or not. */
  readonly failing: readonly RolloutFailure[]
  /** Touched pods that have been done for long enough: see `settledKey`. */
  readonly settled: readonly string[]
  readonly steps: readonly Step[]
  /** Nodes of late pods: whether their kubelets live has to be looked at. */
  readonly awaited: readonly string[]
  /** When to look again even if nothing changes; undefined: no need. */
  readonly again: number | undefined
}

export function next(shown: Shown): Decision {
  const { rollout, isSettled } = shown
  const { generation, uid } = rollout.metadata
  const { strategy } = rollout.spec
  const patience = patienceOf(rollout, shown.now, shown.lifeOf)
  const pods = withContainer(rollout, shown.pods)
  const remembered = remember(rollout, pods)
  const members = membersOf(rollout, pods, remembered, { patience, isSettled })
  const { all } = members
  const memory = withEffective(remembered, all)
  const counts = countsOf(all, desiredIn(rollout, all))
  const completed = (rollout.status?.conditions ?? []).some(
    ({ type, status, observedGeneration }) =>
      type === 'Completed' && status === 'True' && observedGeneration === generation,
  )
  const namesOf = (of: (one: Member) => boolean) => all.filter(of).map(({ pod }) => pod.name)
  const failing = failingOf(shown, all)
  const still = {
    counts,
    since: patience.since,
    leftAlone: {
      superseded: namesOf((one) => one.standing === 'superseded'),
      refused: namesOf((one) => one.standing === 'refused'),
      silent: namesOf(({ silent }) => silent),
      tooOld: namesOf((one) => one.standing === 'too old'),
    },
    behind: shown.behind,
    unneeded: false,
    failing,
    settled: all.flatMap(({ pod, note, state }) => (note && state.is === 'done' ? [settledKey(pod, note)] : [])),
    memory,
    failure: undefined,
    completed,
    steps: notesOf(all),
    wanted: [],
    unfetchable: undefined,
    unfetched: undefined,
    awaited: awaitedOf(all),
    again: soonest(all, patience),
  }
  const { superseded, tooOld } = still.leftAlone
  const alone = { superseded: superseded.length, tooOld: tooOld.length }
  if (shown.claimedBy !== undefined) {
    const message = `SidecarRollout ${shown.claimedBy} is older and upgrades ${rollout.spec.container} of the same pods`
    return { ...still, steps: [], phase: 'Waiting', reason: 'Waiting', message }
  }
  const kept = rollout.status?.failure?.generation === generation ? rollout.status.failure : undefined
  // A new pod that fails after the rollout was complete doesn't put the others back.
  const failure =
    kept ?? (completed ? undefined : failureOf(shown, all, { failing, image: pulledFor(rollout.spec.image, memory) }))
  const why = failure && `${failure.reason} (${placeOf(failure)})`
  if (strategy.paused) {
    const message = `${progressOf(counts, alone)}; no more pods are touched${why ? `; ${why}` : ''}`
    return { ...still, phase: 'Paused', reason: 'Paused', message, failure }
  }
  if (failure && strategy.onFailure === 'pause') {
    const message = `${progressOf(counts, { broken: failing.length, ...alone })}; stopped by ${why}: continues when the spec changes`
    return { ...still, phase: 'Stopped', reason: 'Stopped', message, failure }
  }

  const { moves, limit, back } = movesOf(rollout, all, memory, failure !== undefined)
  const { touches, fetches, held, ...images } = walk(shown, {
    members: all,
    proven: members.proven,
    moves,
    limit,
    back,
    memory,
  })
  const going = {
    ...still,
    ...images,
    failure,
    steps: [...still.steps, ...touches.map((move) => touching(move, { shown, back })), ...fetches],
  }
  const broken = all.filter(({ inProgress, state }) => inProgress && state.is === 'failed').length
  const idle = limit === 0 && counts.inProgress === broken
  if (failure) {
    const off = all.filter(({ inProgress, note }) => inProgress && note?.back)
    if (moves.length === 0 && off.length === 0) {
      const message = `every touched pod is back on the image it had, after ${why}`
      return { ...going, phase: 'RolledBack', reason: 'RolledBack', message }
    }
    const stuck = off.find(({ state }) => state.is === 'failed')
    const rest = stuck ? `pod ${stuck.pod.name} does not recover` : `${moves.length} left to put back${waitingFor(off)}`
    const message = `${rest}; after ${why}`
    return { ...going, phase: 'RollingBack', reason: 'RollingBack', message }
  }
  const done = counts.updatedReady >= Math.min(counts.updated, counts.desired) - broken
  const progress = progressOf(counts, { back: back ? moves.length : 0, broken, ...alone })
  // Complete would say that something has run.
  const none = all.every(({ standing: is }) => is === 'too old' || is === 'superseded')
  if (none && desiredOf(strategy.partition, tooOld.length) > 0) {
    const message = `none of ${tooOld.length} pods can be upgraded in place, ${KUBELETS}: ${named(tooOld)}; continues on newer nodes`
    return { ...going, phase: 'Stopped', reason: 'NodesTooOld', message, completed: false }
  }
  if (idle && (completed || done)) {
    const reason = counts.matched === 0 ? 'NoPods' : 'Complete'
    const unneeded = counts.matched > 0 && all.every(({ note }) => note?.rollout !== uid)
    const behind = unneeded ? [] : shown.behind
    const at = completed || broken > 0 ? undefined : new Date(shown.now).toISOString()
    const finished = { ...going, memory: withCompleted(memory, rollout, counts, at), unneeded, behind, completed: true }
    return { ...finished, phase: 'Complete', reason, message: progress }
  }
  const only = moves.length === 0 && counts.inProgress === broken && counts.refused > 0
  if (only) {
    const message = `${progress}; admission puts the old image back: ${named(still.leftAlone.refused)}`
    return { ...going, phase: 'Stopped', reason: 'Refused', message }
  }
  if (held && touches.length === 0 && counts.inProgress === 0) {
    return { ...going, phase: 'Progressing', reason: held.reason, message: `${progress}; ${held.message}` }
  }
  const waiting = back ? '' : waitingFor(all)
  return { ...going, phase: 'Progressing', reason: back ? 'TakingBack' : 'Updating', message: `${progress}${waiting}` }
}

/** Where a failure was: `pod shop-1 on node a`. */
export const placeOf = ({ pod, node }: Pick<RolloutFailure, 'pod' | 'node'>) =>
  [pod && `pod ${pod}`, node && `node ${node}`].filter(Boolean).join(' on ')

const KUBELETS = 'since their kubelets are older than 1.34'

function progressOf(
  { matched, desired, updatedReady }: Counts,
  { back = 0, broken = 0, superseded = 0, tooOld = 0 },
): string {
  if (matched === 0) return 'no pods match'
  if (back > 0) return `${back} to take back; ${desired} of ${matched} pods are to have the image`
  const done =
    desired === 0 ? `none of ${matched} pods is to have the image` : `${updatedReady} of ${desired} pods are done`
  const failed = broken > 0 ? `${broken} failed` : ''
  const alone = superseded > 0 ? `${superseded} left alone` : ''
  return [done, failed, alone, tooOld > 0 ? `${tooOld} left alone ${KUBELETS}` : ''].filter(Boolean).join(', ')
}

/** The first pods that are on their way, or have the image and aren't ready with it. */
function waitingFor(members: readonly Member[]): string {
  const found = (silent: boolean) =>
    members.flatMap(({ inProgress, updated, state, pod, ...one }) => {
      const isAwaited = inProgress || (updated && state.is !== 'done')
      return isAwaited && state.is !== 'failed' && one.silent === silent ? [pod.name] : []
    })
  const [going, silent] = [found(false), found(true)]
  return [
    going.length > 0 ? `; waiting for ${named(going, WAITING)}` : '',
    silent.length > 0 ? `; no answer from the kubelets of ${named(silent, WAITING)}` : '',
  ].join('')
}

/** So many of the pods that are waited for are named: the message is one line of a table. */
const WAITING = 2

/** What admission makes of the present image, as soon as one pod has shown it. */
function withEffective(memory: Memory, members: readonly Member[]): Memory {
  const revisions = memory.revisions.map((revision) => {
    const shown = members.find(
      ({ note, container }) => note?.effective === container.image && sameName(note.wanted, revision.image),
    )
    const image = shown?.container.image
    return image === undefined || sameName(image, revision.image) ? revision : { ...revision, effective: image }
  })
  return { ...memory, revisions }
}

/** With its share; an image that no pod is to have isn't one to come back to. @param at when, if all touched pods are done just now */
function withCompleted(memory: Memory, { spec }: SidecarRollout, { desired }: Counts, at: string | undefined): Memory {
  const present = memory.revisions.at(-1)
  if (!present) return memory
  const { partition } = spec.strategy
  const complete = { ...present, partition, completed: desired > 0, ...(desired > 0 && at && { completedAt: at }) }
  return { ...memory, revisions: [...memory.revisions.slice(0, -1), complete] }
}

/** Notes that don't yet say what admission has made of the image. */
function notesOf(members: readonly Member[]): readonly Step[] {
  return members.flatMap(({ pod, container, note }): Step[] => {
    const stored = pod.notes.get(container.name)
    return note && stored && isRewritten(stored, pod, container) ? [{ do: 'note', pod, container, note }] : []
  })
}

function touching({ member, to }: Move, { shown: { rollout, now }, back }: { shown: Shown; back: boolean }): Step {
  const { pod, container, origin } = member
  const note: Note = {
    rollout: rollout.metadata.uid,
    revision: rollout.metadata.generation,
    from: container.image,
    wanted: to,
    effective: undefined,
    base: origin ?? container.image,
    back,
    gen: pod.generation + 1,
    ...formerOf(member, to),
    at: now,
  }
  return { do: 'touch', pod, container, note }
}

/** What of a pod that is touched ran before, and what may be started before the kubelet sees the touch. */
function formerOf({ pod, container }: Member, to: string): Pick<Note, 'ids' | 'keep' | 'between' | 'images'> {
  const { status } = container
  const now = status?.id ? { ids: [status.id], images: [status.imageId].filter(Boolean) } : { ids: [], images: [] }
  const before = noteOf(pod, container)
  if (!before || standing(pod, container) === 'current') {
    // Scheduled, and nothing is reported yet: the old image may be starting. Or somebody has changed the pod, and its kubelet hasn't seen that.
    const starting = now.ids.length === 0 || (pod.observed ?? pod.generation) < pod.generation
    return { ...now, keep: [], between: starting && pod.node !== undefined }
  }
  // Taken back before the kubelet acted: what ran before goes on. Had it acted, its next report wouldn't show that one any more.
  const keep = !before.between && before.from === to ? before.ids : []
  const ids = [...new Set([...before.ids, ...before.keep, ...now.ids])].filter((id) => !keep.includes(id))
  return { ids, keep, between: true, images: [...new Set([...before.images, ...now.images])] }
}

/** The pods that fail now. */
function failingOf({ rollout, now }: Shown, members: readonly Member[]): readonly RolloutFailure[] {
  return members.flatMap(({ pod, state, note }): RolloutFailure[] => {
    if (state.is !== 'failed' || !note) return []
    const { reason, message } = state
    return [failed({ reason, message, pod: pod.name, node: pod.node }, rollout, now)]
  })
}

function failed(
  { node, ...rest }: { reason: FailureReason; message: string; pod?: string; node?: string | undefined },
  { metadata }: SidecarRollout,
  now: number,
): RolloutFailure {
  const time = new Date(now).toISOString()
  return { ...rest, ...(node !== undefined && { node }), generation: metadata.generation, time }
}

/** What fails the rollout: more pods, or nodes that can't pull the image, than may fail. */
function failureOf(
  { rollout, now, fetchOf }: Shown,
  members: readonly Member[],
  { failing, image }: { failing: readonly RolloutFailure[]; image: string },
): RolloutFailure | undefined {
  const allowed = allowedFailures(rollout.spec.strategy.maxFailures, members.length)
  if (failing.length > allowed) return failing[0]
  const nodes = new Set(
    members.flatMap(({ updated, standing: is, pod }) => (updated || is !== 'eligible' ? [] : (pod.node ?? []))),
  )
  const late: RolloutFailure[] = []
  for (const node of nodes) {
    const fetch = fetchOf(node, image, false)
    const found = fetch?.is === 'failed' || (fetch?.is === 'waiting' && fetch.late) ? fetch.why : undefined
    if (found === undefined) continue
    const why = failed({ reason: 'ImageUnavailable', message: found, node }, rollout, now)
    if (fetch?.is === 'failed') return why
    late.push(why)
  }
  return late.length > allowed ? late[0] : undefined
}

function awaitedOf(members: readonly Member[]): readonly string[] {
  const nodes = members.flatMap(({ state }) =>
    state.is === 'silent' || state.is === 'starting' ? (state.awaits?.node ?? []) : [],
  )
  return [...new Set(nodes)]
}

/** When the first of them will have been ready long enough, or not in time. */
function soonest(members: readonly Member[], patience: Patience): number | undefined {
  const times = members.flatMap(({ pod, container, state, note, inProgress }) => {
    if (state.is === 'settling') return [state.until]
    if (state.is === 'silent' && note && patience.now - note.at < SILENT) return [note.at + SILENT]
    const deadline = note && inProgress && state.is === 'starting' ? deadlineOf(pod, container, patience) : undefined
    // A millisecond late: at the deadline itself it hasn't passed.
    return deadline === undefined ? [] : [Math.max(deadline, patience.now) + 1]
  })
  return times.length > 0 ? Math.min(...times) : undefined
}
