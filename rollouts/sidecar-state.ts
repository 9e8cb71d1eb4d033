import { finalImageReasons, isCrashLoop, isHookError, waitsFor } from '../src/seen/reasons.ts'
import { isNamedIn, proves } from './image.ts'
import type { Note } from './pod-note.ts'
import type { SeenContainer, SeenPod, SeenStatus } from './seen-pod.ts'
import type { FailureReason, SidecarRollout } from './types.ts'

/** How a pod's sidecar is doing with the image that its spec has. */
export type SidecarState =
  /** Not scheduled, or held back by what starts before it: nothing of it has run, and nothing can be said yet. */
  | { readonly is: 'pending' }
  /**
   * - `silent`: touched, and the kubelet hasn't seen it: a frozen kubelet, a dead node, a lost network, or just a moment
   * - `starting`: the old container may still run or already be away; or the new one isn't ready; or its pod was and isn't
   */
  | Waiting
  /** Ready, but not for long enough. */
  | { readonly is: 'settling'; readonly until: number }
  | { readonly is: 'done' }
  | {
      readonly is: 'failed'
      readonly reason: FailureReason
      readonly message: string
      /** When it was late, and until when others may excuse that: they are looked at once for all. */
      readonly late?: { readonly since: number; readonly until: number }
    }

interface Waiting {
  readonly is: 'silent' | 'starting'
  /** When to look again even if nothing changes; undefined: no need. */
  readonly until?: number
  /** The node whose sign of life a late one waits for, and from when on it is late. */
  readonly awaits?: { readonly node: string; readonly since: number }
  /** The sidecar is ready, and the pod was before: what of it isn't yet. */
  readonly lacks?: string
  /** Why such a one is late and hasn't failed: it has twice the time. */
  readonly held?: string
}

export interface Patience {
  /** In ms, as all of these. */
  readonly minReady: number
  /** How long a new sidecar has to run before nothing that happens to it is the image's doing. */
  readonly bake: number
  readonly deadline: number
  /** Whether a pod that was ready before is to be again. */
  readonly byPod: boolean
  /** When the spec was last changed: a new attempt, for which deadlines begin then at the earliest. */
  readonly since: number
  readonly lifeOf: LifeOf
  /** What had failed before `since` may still come right within the deadline, so that a stopped rollout can be resumed. */
  readonly forgiving: boolean
  readonly now: number
}

/** A sign of life of a node's kubelet. */
export interface Life {
  /** When it was seen, by the API server's clock, in ms. */
  readonly at: number
  /** There had been none for a while. */
  readonly afterSilence: boolean
}

/** The first sign of life after `since`; undefined: it is still waited for. */
export type LifeOf = (node: string, since: number) => Life | undefined

/** @param now the API server's clock, in ms */
export function patienceOf({ metadata, spec, status }: SidecarRollout, now: number, lifeOf: LifeOf): Patience {
  // The kind of the former version has no bake, until the new one is applied.
  const { minReadySeconds, bakeSeconds = 0, progressDeadlineSeconds, onFailure, judge } = spec.strategy
  const known = status?.observedGeneration === metadata.generation
  return {
    minReady: minReadySeconds * 1000,
    bake: bakeSeconds * 1000,
    deadline: progressDeadlineSeconds * 1000,
    byPod: judge === 'Pod',
    since: known ? Date.parse(status.since) : now,
    forgiving: onFailure === 'pause',
    lifeOf,
    now,
  }
}

/** The note that goes with the image that the container has now; otherwise somebody else has changed the pod since. */
export function noteOf(pod: SeenPod, container: SeenContainer): Note | undefined {
  const note = pod.notes.get(container.name)
  // The patch itself makes the generation, so this one is forged or the touch was refused.
  if (!note || note.gen > pod.generation) return undefined
  if (container.image === (note.effective ?? note.wanted)) return note
  return isRewritten(note, pod, container) ? { ...note, effective: container.image } : undefined
}

/** Whether admission has rewritten the image, and the note doesn't say so yet: no other patch has come in between. */
export function isRewritten(note: Note, pod: SeenPod, container: SeenContainer): boolean {
  const { effective, gen, wanted, from } = note
  return effective === undefined && gen === pod.generation && container.image !== wanted && container.image !== from
}

/** Whether admission has put the old image back: the note was stored, and the spec didn't change. */
export function isRefused(note: Note, pod: SeenPod, container: SeenContainer): boolean {
  return note.gen > pod.generation && container.image === note.from
}

/**
 * Whether the status is about a container of the image in the spec.
 * - `old`: it is one that ran before; while a hook runs, the kubelet reports nothing, for its whole duration
 * - `unproven`: it is one that nobody knows, and it may have been started before the kubelet acted on the touch
 */
export function standing(pod: SeenPod, container: SeenContainer): 'current' | 'old' | 'unproven' {
  const { status } = container
  if (!status?.id) return 'old'
  const note = noteOf(pod, container)
  if (!note) return (pod.observed ?? pod.generation) >= pod.generation ? 'current' : 'old'
  if ((pod.observed ?? 0) < note.gen) return 'old'
  // The kubelet compares the text: where admission writes another name of the same image, it's a restart.
  if (note.keep.includes(status.id)) return container.image === note.wanted ? 'current' : 'old'
  // Of several touches in a row, the last may have brought back what runs.
  if (note.ids.includes(status.id)) return note.between && proves(status, container.image) ? 'unproven' : 'old'
  // The old image under a new id: restarted just before the touch was seen, unless both names are one image. Once the kubelet has seen the
  // touch, what it makes is by that.
  const suspect = !status.isNew && (note.between || note.images.includes(status.imageId))
  return !suspect || proves(status, container.image) ? 'current' : 'unproven'
}

/** How long a container that can't be proven counts as away where no rollout says, in ms. */
const UNPROVEN = 300_000

/**
 * Whether the pod has a sidecar that was touched, by any rollout, and isn't back. Its Ready condition may not say so.
 * @param back one that its own rollout has found to be back
 */
export const isAway = (pod: SeenPod, now: number, back?: SeenContainer): boolean =>
  pod.containers.some((one) => {
    if (one === back || !noteOf(pod, one)) return false
    const { status } = one
    const is = standing(pod, one)
    const isBack = is === 'current' || (is === 'unproven' && now - (status?.acted ?? now) > UNPROVEN)
    return !(isBack && status?.state === 'running' && status.ready)
  })

/** How far a touched pod has come once: `done`, or `settled`, which is when it has baked and can't fail any more. */
export type Reached = 'done' | 'settled' | undefined

export function sidecarState(
  pod: SeenPod,
  container: SeenContainer,
  patience: Patience,
  reached: Reached,
): SidecarState {
  const { status } = container
  const { now, minReady, since } = patience
  const settled = reached === 'settled'
  // Once it was in time, it has at least that of its bake, which may be longer.
  const deadline = Math.max(patience.deadline, reached === 'done' ? 2 * patience.bake : 0)
  const note = noteOf(pod, container)
  if (!status?.id && !note?.ids.length) return { is: 'pending' }
  const is = standing(pod, container)
  if (!note || !status) {
    return { is: is === 'current' && status?.state === 'running' && status.ready ? 'done' : 'starting' }
  }
  if ((pod.observed ?? 0) < note.gen) return { is: 'silent' }
  const start = deadlineStart(pod, status, since)
  const overdue = now - start > deadline
  // What was done once, a process that hasn't seen it begin can't prove.
  const unbaked = settled ? undefined : bakeFailure(container, note, since)
  if (unbaked) return { is: 'failed', reason: 'Crashed', message: unbaked }
  const isReady =
    (is === 'current' || (is === 'unproven' && (overdue || settled))) && status.state === 'running' && status.ready
  // Ready by the kubelet's word, which is what a Service and a person see.
  const isAppAwaited = isReady && isJudgedByPod(note, patience) && !pod.ready
  if (isReady && !isAppAwaited) {
    const until = Math.max(status.readySince, pod.ready ? pod.readySeen : 0) + minReady
    return settled || is === 'unproven' || until <= now ? { is: 'done' } : { is: 'settling', until }
  }
  const lacks = isAppAwaited ? { lacks: lackOf(pod, container, ({ reason }) => reason) } : {}
  if (settled) return { is: 'starting', ...lacks }
  const failure = failureOf(pod, container, note, patience)
  if (failure) {
    const forgiven = patience.forgiving && note.at < since && now - since <= deadline
    return forgiven ? { is: 'starting', until: since + deadline + 1 } : { is: 'failed', ...failure }
  }
  if (isThrottled(status)) return { is: 'starting', ...lacks }
  // A millisecond late: at the deadline itself it hasn't passed.
  if (!overdue) return { is: 'starting', ...lacks, until: start + deadline + 1 }
  const late = lateState(pod, container, start, { ...patience, deadline })
  if (late.is !== 'failed') return late
  if (isImageTrouble(status, container.image)) {
    return { is: 'failed', reason: 'ImageUnavailable', message: worded(status) }
  }
  if (!isAppAwaited) return late
  const until = start + 2 * deadline
  const held = now > until ? undefined : excuseOf(pod, container, note, now)
  if (held !== undefined) return { is: 'starting', ...lacks, held, until: until + 1 }
  const within = `within ${Math.round(deadline / 1000)} s`
  const message = `the pod was ready before, and not again ${within}, though ${container.name} is: ${lackOf(pod, container, worded)}`
  return { is: 'failed', reason: 'AppNotReady', message, late: { since: start + deadline, until } }
}

/** Whether a touched pod is to be ready again, besides its sidecar. */
export const isJudgedByPod = (note: Note, { byPod }: Pick<Patience, 'byPod'>): boolean => byPod && note.ready

/** Why it isn't the new sidecar's doing that the pod isn't ready, as far as the pod itself shows that. */
function excuseOf(pod: SeenPod, container: SeenContainer, { at }: Note, now: number): string | undefined {
  for (const { name, status } of pod.containers) {
    if (name === container.name || !status || status.ready) continue
    if (waitsFor(status.reason) === 'image') return `the image of ${name} can't be pulled`
    if (status.outOfMemory && status.outOfMemory.seen > at) return `${name} has run out of its own memory`
  }
  return isAway(pod, now, container) ? 'another sidecar of it is being upgraded' : undefined
}

/** What of a pod isn't ready, besides its sidecar. */
function lackOf(pod: SeenPod, { name }: SeenContainer, word: (status: SeenStatus) => string): string {
  const unready = pod.containers.flatMap((one) => {
    if (one.name === name || one.status?.ready) return []
    const why = one.status && one.status.state !== 'running' ? word(one.status) : ''
    return [`${one.name} is not ready${why && ` (${why})`}`]
  })
  return unready.join(', ') || 'a readiness gate has not passed'
}

/** How long a kubelet that lives has to report what has become of a container, in ms. */
const REPORT = 5000

/**
 * Being late says something about the image only if the kubelet was there to start it. A kubelet may be frozen, or its node dead, at any moment
 * after it has seen the touch.
 */
export function lateState(
  { node = '' }: SeenPod,
  { name }: SeenContainer,
  start: number,
  { now, deadline, lifeOf }: Patience,
): SidecarState {
  const awaits = { node, since: start + deadline }
  const life = lifeOf(node, awaits.since)
  if (!life) return { is: 'silent', awaits }
  const rest = life.at + (life.afterSilence ? deadline : REPORT)
  if (now <= rest) return { is: 'starting', awaits, until: rest + 1 }
  const message = `${name} was not ready within ${Math.round(deadline / 1000)} s`
  return { is: 'failed', reason: 'DeadlineExceeded', message }
}

/** So often may a sidecar that has been ready end while it bakes: once may be bad luck, or its liveness probe's. */
const BAKE_ENDS = 1

function bakeFailure({ name, status }: SeenContainer, note: Note, since: number): string | undefined {
  const ends = status?.ends.filter(({ seen, wasReady }) => wasReady && seen >= since) ?? []
  // What goes back doesn't bake. Where a touch was replaced before it was seen, one of the ends may be the former container's.
  if (!status || note.back || ends.length <= BAKE_ENDS + Number(note.between)) return undefined
  const ended = status.state === 'terminated' ? status : (status.last ?? status)
  return `${name} was ready and ended, ${ends.length} times while it baked: ${worded(ended)}`
}

/**
 * From when on a touched sidecar has the whole deadline: the kubelet's sight of it, a changed spec, a new sandbox, its first end, which may be bad
 * luck. A pod that flaps has no more.
 */
const deadlineStart = (pod: SeenPod, { acted, ends }: SeenStatus, since: number): number =>
  Math.max(acted, since, pod.sandboxSeen, ends[0]?.seen ?? 0)

/** Whether it can't come right by itself soon: then another image may replace this one before it is done. */
export function isInTrouble(pod: SeenPod, container: SeenContainer): boolean {
  const { status } = container
  const note = noteOf(pod, container)
  if (!status || !note || (pod.observed ?? 0) < note.gen) return false
  const { state, reason } = status
  return (
    state === 'terminated' ||
    (state === 'waiting' && (waitsFor(reason) === 'image' || cannotStart(container) || isCrashLoop(reason)))
  )
}

/** A container with a lock waits for the tiers before it in the same words as for a key that is missing: then the deadline judges. */
const cannotStart = ({ status, locked }: SeenContainer): boolean => {
  const waits = waitsFor(status?.reason ?? '')
  return waits === 'start' || (waits === 'configuration' && !locked)
}
/** How long an old container's trouble may still be shown after the kubelet has seen the new image, in ms. */
const STALE = 30_000
/** So often must a container end: one crash may be the node's, or bad luck. */
const ENDS = 3

/** Whether a registry asks for patience: that says nothing about the image. */
export const asksForPatience = (message: string): boolean => /\b429\b|too ?many ?requests/i.test(message)

const isImageTrouble = ({ state, reason, message }: SeenStatus, image: string) =>
  state === 'waiting' && waitsFor(reason) === 'image' && isNamedIn(message, image)
const isThrottled = ({ state, reason, message }: SeenStatus) =>
  state === 'waiting' && waitsFor(reason) === 'image' && asksForPatience(message)

function failureOf(
  pod: SeenPod,
  container: SeenContainer,
  note: Note,
  { now, since }: Patience,
): { reason: FailureReason; message: string } | undefined {
  const { status, image } = container
  if (!status) return undefined
  const { state, reason, id, last, acted } = status
  // The message must name the new image: the old one's trouble may be shown for a moment more.
  if (isImageTrouble(status, image) && finalImageReasons.has(reason)) {
    return { reason: 'ImageUnavailable', message: worded(status) }
  }
  if (state === 'waiting' && cannotStart(container) && now - acted > STALE) {
    return { reason: 'StartFailed', message: worded(status) }
  }
  // Once it's ready an earlier end is forgotten: it must be ready for the whole time again.
  if (standing(pod, container) !== 'current' || (state === 'running' && status.ready)) return undefined
  // A broken image may be started once more before the kubelet sees that another replaces it: its end says nothing of that one.
  const isOwn = (ended: string) => ended === id || (!note.back && !note.between && !note.ids.includes(ended))
  const ended = state === 'terminated' ? status : last && isOwn(last.id) ? last : undefined
  // The waiter's words are the termination message.
  if (isHookError(reason) || / was not ready after /.test(ended?.message ?? '')) {
    return { reason: 'HookFailed', message: ended?.message.trim() || worded(status) }
  }
  const ends = status.ends.filter(({ seen }) => seen >= since)
  const own = ends.some((end) => end.outOfMemory && isOwn(end.id))
  if (!own && ends.length < ENDS) return undefined
  return { reason: 'Crashed', message: worded(ended ?? status) }
}

const worded = ({ reason, message }: Pick<SeenStatus, 'reason' | 'message'>) =>
  message.trim() === '' ? reason || 'it ended' : `${reason}: ${message.trim()}`
