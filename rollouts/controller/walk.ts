import { sameName } from '../image.ts'
import { isForward, type Member, type Members } from '../members.ts'
import { type Memory, pulledFor } from '../memory.ts'
import type { Note } from '../pod-note.ts'
import { allowedUnavailable } from '../share.ts'
import { noteOf, standing } from '../sidecar-state.ts'
import type { ProgressReason } from '../types.ts'
import { budgets } from './budget.ts'
import type { Decision, Shown, Step, Unfetched } from './decision.ts'
import { firstNames } from './first-names.ts'
import type { Move, Moves } from './targets.ts'

export interface Walk extends Pick<Decision, 'wanted' | 'unfetchable' | 'unfetched'> {
  readonly touches: readonly Step[]
  readonly fetches: readonly Extract<Step, { do: 'fetch' }>[]
  /** What holds back the first that can't be made now. */
  readonly held: { readonly reason: ProgressReason; readonly message: string } | undefined
}

/** How many nodes may be fetching for one rollout. */
const FETCHING = 8

/** So many pods that aren't ready are named. */
const UNREADY = 2

/** What is known of the pods; `proven`: the image works. */
type Judgement = Pick<Members, 'proven'> & { readonly members: readonly Member[]; readonly memory: Memory }

/** Goes through the moves in their order and takes those that may be made now, `limit` at most. */
export function walk(shown: Shown, { members, memory, proven, moves, limit, back }: Judgement & Moves): Walk {
  const allowed = allowedUnavailable(shown.rollout.spec.strategy.maxUnavailable, members.length)
  const room = budgets(shown.budgets, shown.neighbours, shown.now)
  const images = createImages(shown, back)
  // Judged by its sidecar alone, a pod that isn't ready anyway takes nobody's place.
  const { judge } = shown.rollout.spec.strategy
  const isIdle = ({ inProgress, note }: Member) => judge === 'Sidecar' && !inProgress && note?.ready !== true
  const unready = members.flatMap((one) => (one.available || isIdle(one) ? [] : [one.pod.name]))
  let unavailable = unready.length
  let inProgress = members.filter((one) => one.inProgress).length
  let alone = false
  let held: Walk['held']
  const hold = (reason: ProgressReason, message: string) => {
    held ??= { reason, message }
  }
  // Those that get it before it has shown anything.
  let first = members.filter((one) => isForward(one) && !one.settled).length
  const isFirst = ({ to }: Move) => !proven && !back && sameName(to, shown.rollout.spec.image)
  const touches: Step[] = []
  const touch = (move: Move) => {
    touches.push(touching(move, shown, back))
    first++
  }

  for (const [index, move] of moves.entries()) {
    if (touches.length >= limit) break
    const { pod, state, available } = move.member
    // A pod that has never run isn't interrupted.
    if (state.is === 'pending' && (proven || back)) {
      touch(move)
      continue
    }
    // Not scheduled: the image can't be fetched there yet, and until it has proven itself no pod gets it unfetched.
    if (pod.node === undefined) {
      hold('Updating', `pod ${pod.name} is on no node yet`)
      continue
    }
    // Put back to what it had, a pod that isn't ready has nothing to lose.
    const image = pulledFor(move.to, memory)
    const there = back && !available ? 'there' : images.on(pod.node, { ...move, to: image }, index < limit)
    const most = there === 'unknown' ? 1 : allowed
    if (isFirst(move) && first >= most) {
      hold('Baking', 'the first pods have to bake before others get the image')
      continue
    }
    if (there === 'no') {
      const at = `${image} on ${pod.node}`
      hold('FetchingImage', images.fails(pod.node) ? `can't pull ${at} yet` : `fetching ${at}`)
      continue
    }
    const more = move.member.inProgress ? 0 : 1
    if (alone || inProgress + more > most) {
      hold('Updating', 'others are in progress')
      continue
    }
    if (available) {
      if (unavailable >= most) {
        const are = unready.length === 1 ? 'is' : 'are'
        hold('HeldByUnreadyPods', `${firstNames(unready, UNREADY)} ${are} not ready, at most ${most} may be`)
        continue
      }
      const budget = room.refuses(pod)
      if (budget !== undefined) {
        hold('HeldByDisruptionBudget', `PodDisruptionBudget ${budget} allows no further disruption`)
        continue
      }
      room.take(pod)
      unavailable++
    }
    inProgress += more
    alone = there === 'unknown'
    touch(move)
  }
  return { touches, held, ...images.found() }
}

/** Whether images are on nodes; remembers what must be fetched. */
function createImages({ fetchOf }: Shown, back: boolean) {
  const fetches = new Map<string, Extract<Step, { do: 'fetch' }>>()
  const wanted = new Map<string, { node: string; image: string }>()
  const unable = new Map<string, string>()
  const waiting = new Map<string, string>()
  let fetching = 0
  return {
    on(node: string, { member: { pod, container }, to: image }: Move, soon: boolean): 'there' | 'no' | 'unknown' {
      const fetch = fetchOf(node, image, pod.pullSecrets.length === 0)
      const key = `${node} ${image}`
      if (fetch || soon) wanted.set(key, { node, image })
      // An image that ran there a moment ago is probably still there: a failed pull doesn't stop a pod from going back.
      if (fetch?.is === 'unable' || (back && (fetch?.is === 'failed' || fetch?.is === 'waiting'))) {
        unable.set(node, fetch.why)
        return 'unknown'
      }
      if (fetch?.is === 'there') return 'there'
      if (fetch?.is === 'waiting' || fetch?.is === 'failed') waiting.set(node, fetch.why)
      if (fetch && fetch.is !== 'expired') {
        if (fetch.is === 'fetching') fetching++
      } else if (soon && !fetches.has(key) && fetching < FETCHING) {
        fetching++
        fetches.set(key, { do: 'fetch', node, image, like: pod, pullPolicy: container.pullPolicy })
      }
      return 'no'
    },
    /** Whether a pull fails there, and is tried again. */
    fails: (node: string) => waiting.has(node),
    found(): Pick<Walk, 'fetches' | 'wanted' | 'unfetchable' | 'unfetched'> {
      return {
        fetches: [...fetches.values()],
        wanted: [...wanted.values()],
        unfetchable: nodesOf(unable),
        unfetched: nodesOf(waiting),
      }
    },
  }
}

function nodesOf(nodes: ReadonlyMap<string, string>): Unfetched | undefined {
  const [why] = nodes.values()
  return why === undefined ? undefined : { nodes: [...nodes.keys()].sort(), why }
}

/** The step that gives a pod its image. @param back it takes the pod off the present image */
function touching({ member, to }: Move, { rollout, now }: Shown, back: boolean): Step {
  const { pod, container, origin, inProgress, note: before } = member
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
    // One that isn't back yet was ready before the touch that it isn't back from.
    ready: inProgress ? (before?.ready ?? false) : pod.ready,
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
