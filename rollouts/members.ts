import { sameName } from './image.ts'
import { isOrigin, type Memory } from './memory.ts'
import type { Note } from './pod-note.ts'
import type { PodWith, SeenPod } from './seen-pod.ts'
import {
  isAway,
  isInTrouble,
  isJudgedByPod,
  isRefused,
  lateState,
  noteOf,
  type Patience,
  type Reached,
  type SidecarState,
  sidecarState,
} from './sidecar-state.ts'
import { type Counts, completedIn, type SidecarRollout } from './types.ts'

/** A matched pod, as the rollout sees it. */
export interface Member extends PodWith {
  /**
   * - `eligible`: ours to bring to an image
   * - `superseded`: it has an image that isn't ours to replace, or somebody else has changed it since we touched it
   * - `refused`: admission has undone our touch, and would do so again
   * - `too old`: its kubelet doesn't say what it has seen
   */
  readonly standing: 'eligible' | 'superseded' | 'refused' | 'too old'
  readonly state: SidecarState
  /** This rollout's note about the image that the container has now. */
  readonly note: Note | undefined
  /** The image by the name that the spec has for it, before admission rewrote it. */
  readonly image: string
  /** What it had before this rollout; undefined for a pod that was born with an image of the spec. */
  readonly origin: string | undefined
  /** On the rollout's image, whatever brought it there. */
  readonly updated: boolean
  /** It has baked: nothing that happens to it now is the image's doing. */
  readonly settled: boolean
  /** Its bake ends with this look. */
  readonly justBaked: boolean
  /** Until when it bakes, if it is done and has nothing else to show. */
  readonly bakes: number | undefined
  /** Touched and not done: maxUnavailable limits these besides the pods that aren't ready. */
  readonly inProgress: boolean
  /** Its kubelet has said nothing for a while. */
  readonly silent: boolean
  /** Its image doesn't work, so another may replace it at once. */
  readonly inTrouble: boolean
  readonly available: boolean
}

export interface Members {
  readonly all: readonly Member[]
  /** The first pods that this rollout has brought to the image have baked, or without a bake one is done: the image works. */
  readonly proven: boolean
}

/** How long after a touch a kubelet that hasn't seen it counts as silent, in ms: most need a moment. */
export const SILENT = 10_000
/** The same for one that hasn't renewed its Lease since a pod was late. */
const LIFELESS = 15_000

/** So many former images are counted: each pod may have had one of its own. */
const IMAGES = 20

/** What a touched pod has reached once; forgotten with the process. */
const reachedKey = (pod: SeenPod, note: Note, what: NonNullable<Reached>) => `${pod.uid} ${note.gen} ${what}`

/** All that the pods have reached by now: see `Shown.isKnown`. */
export const reachedKeys = (members: readonly Member[]): readonly string[] =>
  members.flatMap(({ pod, note, state, settled }) => [
    ...(note && state.is === 'done' ? [reachedKey(pod, note, 'done')] : []),
    ...(note && settled ? [reachedKey(pod, note, 'settled')] : []),
  ])

/** The pods that have the container and aren't ending. @param pods those that the selector matches */
export const withContainer = (rollout: SidecarRollout, pods: readonly SeenPod[]): readonly PodWith[] =>
  pods.flatMap((pod) => {
    const container = pod.containers.find(({ name }) => name === rollout.spec.container)
    return container && !pod.ending ? [{ pod, container }] : []
  })

export function membersOf(
  rollout: SidecarRollout,
  pods: readonly PodWith[],
  memory: Memory,
  { patience: asked, isKnown }: { patience: Patience; isKnown: (key: string) => boolean },
): Members {
  const { metadata, spec } = rollout
  const completed = completedIn(rollout)
  const completedAt = completed ? Date.parse(completed.lastTransitionTime) : Number.NEGATIVE_INFINITY
  // In an earlier generation: what a process has seen itself is forgotten with it.
  const hasBaked = ({ wanted, at }: Note) =>
    memory.revisions.some(
      ({ image, completedAt = '', bakedUntil = '' }) =>
        sameName(image, wanted) && (at <= Date.parse(completedAt) || at <= Date.parse(bakedUntil)),
    )
  // What goes back never bakes, by an image and a share that were complete before, either.
  const last = memory.revisions.at(-1)
  const isBack = last?.completed === true && last.partition === spec.strategy.partition
  const patience = isBack ? { ...asked, bake: 0 } : asked
  const all = pods.map(({ pod, container }): Member => {
    const found = noteOf(pod, container)
    const note = found?.rollout === metadata.uid ? found : undefined
    const knows = (what: NonNullable<Reached>) => note !== undefined && isKnown(reachedKey(pod, note, what))
    const had = note !== undefined && (note.at <= completedAt || hasBaked(note) || knows('settled'))
    const state = sidecarState(pod, container, patience, had ? 'settled' : knows('done') ? 'done' : undefined)
    const baked = note?.back ? 0 : (container.status?.readySince ?? 0) + patience.bake
    const isUnbaked = note !== undefined && !had && state.is === 'done' && baked > patience.now
    const settled = had || (note !== undefined && state.is === 'done' && !isUnbaked)
    const image = note?.wanted ?? nominal(container.image, memory)
    const mayBeReplaced = note === undefined && isOrigin(image, rollout, memory) && !sameName(image, spec.image)
    const inProgress = note !== undefined && !settled && state.is !== 'done' && state.is !== 'pending'
    return {
      pod,
      container,
      standing: standingOf(rollout, memory, { pod, container, note, image }),
      state,
      note,
      image,
      origin: note?.base ?? (mayBeReplaced ? container.image : undefined),
      updated: sameName(image, spec.image),
      settled,
      justBaked: settled && !had && note?.back === false && patience.bake > 0,
      bakes: isUnbaked ? baked : undefined,
      inProgress,
      silent: inProgress && state.is === 'silent' && isSilent(state, note, patience),
      inTrouble: isInTrouble(pod, container),
      available: pod.ready && !isAway(pod, patience.now, state.is === 'done' ? container : undefined) && !inProgress,
    }
  })
  const held = excused(all, patience)
  const isDone = ({ state }: Member) => state.is === 'done'
  const known = patience.bake === 0 ? all.filter(isForward).some(isDone) : last?.bakedUntil !== undefined
  const judged = known ? held : held.map((one) => answerable(one, patience))
  const first = judged.filter(isForward)
  const hasShown = ({ settled, silent, state }: Member) => settled || silent || state.is === 'failed'
  const proven = known || (first.some(({ settled }) => settled) && first.every(hasShown))
  return { all: judged, proven }
}

/** Brought to the image by this rollout. */
export const isForward = ({ updated, note }: Member): boolean => updated && note?.back === false

/** Up to when the pods that were touched have baked, once the first have: what a successor of this process needs to know of them. */
export function withBaked({ revisions, ...rest }: Memory, { all, proven }: Members): Memory {
  const touched = all.filter(isForward)
  const at = (some: readonly Member[]) => some.flatMap(({ note }) => note?.at ?? [])
  const unbaked = touched.filter(({ settled }) => !settled)
  const until = unbaked.length > 0 ? least(at(unbaked)) - 1 : -least(at(touched).map((one) => -one))
  const last = revisions.at(-1)
  const known = Date.parse(last?.bakedUntil ?? '')
  if (!last || !proven || touched.length === 0 || until <= known) return { revisions, ...rest }
  return { ...rest, revisions: [...revisions.slice(0, -1), { ...last, bakedUntil: new Date(until).toISOString() }] }
}

/** So many untouched pods must have been ready, for what they do to say something. */
const UNTOUCHED = 3

/**
 * Where as large a share of the untouched pods of an owner has lost `Ready` as of its touched ones, and before the first of these was late, those
 * have twice the time: after that, others may be down for the load that they no longer bear.
 */
function excused(all: readonly Member[], patience: Patience): readonly Member[] {
  const lateOf = ({ state }: Member) => (state.is === 'failed' ? state.late : undefined)
  const ownerOf = ({ pod: { owner } }: Member) => owner && `${owner.kind}/${owner.name}`
  if (!all.some(lateOf)) return all
  const families = [...Map.groupBy(all, ownerOf)].filter(([owner, siblings]) => owner && siblings.some(lateOf))
  const excuses = new Map(
    families.map(([owner, siblings]) => {
      const late = siblings.filter(lateOf)
      const touch = least(late.map(({ note }) => note?.at ?? 0))
      const first = least(late.map((one) => lateOf(one)?.since ?? 0))
      const touched = siblings.filter(({ note }) => note && isJudgedByPod(note, patience))
      const down = touched.filter(({ pod }) => !pod.ready)
      const untouched = siblings.filter(({ note, pod }) => note === undefined && (pod.ready || pod.lostSeen > touch))
      const lost = untouched.filter(({ pod: { lostSeen } }) => lostSeen > touch && lostSeen <= first)
      const isEnough = untouched.length >= UNTOUCHED && lost.length * touched.length >= down.length * untouched.length
      return [
        owner,
        isEnough && `${lost.length} of ${untouched.length} pods that nobody has touched became unready, too`,
      ]
    }),
  )
  return all.map((one) => {
    const late = lateOf(one)
    const held = excuses.get(ownerOf(one) ?? '')
    if (!late || !held || patience.now > late.until) return one
    return { ...one, state: { is: 'starting', held, until: late.until + 1 } }
  })
}

const least = (times: readonly number[]): number => times.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)

const isSilent = ({ awaits }: { awaits?: { since: number } }, { at }: Note, { now }: Patience) =>
  awaits ? now - awaits.since >= LIFELESS : now - at >= SILENT

/** An image that admission has made of one of the spec's counts as that one. */
const nominal = (image: string, { revisions }: Memory) =>
  revisions.find(({ effective, born }) => [effective, born].some((one) => one !== undefined && sameName(one, image)))
    ?.image ?? image

function standingOf(
  rollout: SidecarRollout,
  memory: Memory,
  { pod, container, note, image }: Pick<Member, 'pod' | 'container' | 'note' | 'image'>,
): Member['standing'] {
  const { metadata, spec } = rollout
  // Born with it: nothing is to be done there, whatever its kubelet is.
  if (!note && sameName(image, spec.image)) return 'eligible'
  const stale = note ? undefined : pod.notes.get(container.name)
  if (stale?.rollout === metadata.uid && stale.revision === metadata.generation && !sameName(image, stale.wanted)) {
    return isRefused(stale, pod, container) ? 'refused' : 'superseded'
  }
  const known = memory.revisions.some((revision) => sameName(revision.image, image))
  if (!note && !known && !isOrigin(image, rollout, memory)) return 'superseded'
  // A pod that its kubelet hasn't taken on yet may still come to run on any node.
  return pod.taken && pod.observed === undefined ? 'too old' : 'eligible'
}

/** Until the image has proven itself, a pod that was given it before its start must show that it starts. */
function answerable(member: Member, patience: Patience): Member {
  const { now, since, deadline } = patience
  const { state, note, updated, container, pod } = member
  if (state.is !== 'pending' || !note || !updated) return member
  if (pod.taken && (pod.observed ?? 0) < note.gen) {
    const until = note.at + SILENT
    const unseen: SidecarState = { is: 'silent', ...(now < until && { until }) }
    return { ...member, inProgress: true, silent: isSilent(unseen, note, patience), state: unseen }
  }
  const start = Math.max(note.at, since, container.status?.acted ?? 0)
  const late = now - start > deadline && pod.taken
  const until = pod.taken ? { until: start + deadline + 1 } : {}
  const judged: SidecarState = late ? lateState(pod, container, start, patience) : { is: 'starting', ...until }
  return { ...member, inProgress: true, state: judged }
}

export function countsOf(members: readonly Member[], desired: number): Counts {
  const updated = members.filter((one) => one.updated)
  const images = new Map<string, number>()
  for (const { note } of updated) if (note && !note.back) images.set(note.base, (images.get(note.base) ?? 0) + 1)
  const count = (of: (one: Member) => boolean) => members.filter(of).length
  return {
    matched: members.length,
    desired,
    updated: updated.length,
    ready: count(({ available }) => available),
    updatedReady: updated.filter(({ state }) => state.is === 'done').length,
    inProgress: count((one) => one.inProgress),
    silent: count(({ silent }) => silent),
    refused: count(({ standing }) => standing === 'refused'),
    superseded: count(({ standing }) => standing === 'superseded'),
    previousImages: [...images]
      .map(([image, pods]) => ({ image, pods }))
      .sort((a, b) => b.pods - a.pods)
      .slice(0, IMAGES)
      .sort((a, b) => (a.image < b.image ? -1 : 1)),
  }
}
