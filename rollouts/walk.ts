import { budgets } from './budget.ts'
import type { Member } from './members.ts'
import type { Shown, Step } from './next.ts'
import { allowedUnavailable } from './share.ts'
import type { ProgressReason } from './types.ts'

/** A pod whose sidecar shall get this image. */
export interface Move {
  readonly member: Member
  readonly to: string
}

export interface Walk {
  readonly touches: readonly Move[]
  readonly fetches: readonly Extract<Step, { do: 'fetch' }>[]
  /** Fetches that are of use. */
  readonly wanted: readonly { readonly node: string; readonly image: string }[]
  readonly unfetchable: { readonly nodes: readonly string[]; readonly why: string } | undefined
  /** What holds back the first that can't be made now. */
  readonly held: { readonly reason: ProgressReason; readonly message: string } | undefined
}

/** How many nodes may be fetching for one rollout. */
const FETCHING = 8

/** Goes through the moves in their order and takes those that may be made now, `limit` at most. */
export function walk(
  shown: Shown,
  {
    members,
    proven,
    moves,
    limit,
    back,
  }: { members: readonly Member[]; proven: boolean; moves: readonly Move[]; limit: number; back: boolean },
): Walk {
  const allowed = allowedUnavailable(shown.rollout.spec.strategy.maxUnavailable, members.length)
  const room = budgets(shown.budgets, shown.neighbours)
  const images = createImages(shown, back)
  let unavailable = members.filter(({ available }) => !available).length
  let inProgress = members.filter((one) => one.inProgress).length
  let alone = false
  let held: Walk['held']
  const hold = (reason: ProgressReason, message: string) => {
    held ??= { reason, message }
  }
  const touches: Move[] = []

  for (const [index, move] of moves.entries()) {
    if (touches.length >= limit) break
    const { pod, state, available } = move.member
    // What has never run isn't interrupted.
    if (state.is === 'pending' && (proven || back)) {
      touches.push(move)
      continue
    }
    // There the image can't be fetched, and until it has proven itself nobody is given it unfetched.
    if (pod.node === undefined) continue
    // Put back to what it had, a pod that isn't ready has nothing to lose.
    const there = back && !available ? 'there' : images.on(pod.node, move, index < limit)
    if (there === 'no') {
      hold('FetchingImage', `${move.to} is being fetched on ${pod.node}`)
      continue
    }
    const most = there === 'unknown' ? 1 : allowed
    const more = move.member.inProgress ? 0 : 1
    if (alone || inProgress + more > most) {
      hold('Updating', 'others are in progress')
      continue
    }
    if (available) {
      if (unavailable >= most) {
        hold('HeldByUnreadyPods', `${unavailable} of the pods aren't ready, ${most} may be`)
        continue
      }
      const budget = room.refuses(pod)
      if (budget !== undefined) {
        hold('HeldByDisruptionBudget', `PodDisruptionBudget ${budget} has no room for another pod to be away`)
        continue
      }
      room.take(pod)
      unavailable++
    }
    inProgress += more
    alone = there === 'unknown'
    touches.push(move)
  }
  return { touches, held, ...images.found() }
}

/** Whether images are on nodes; remembers what must be fetched. */
function createImages({ fetchOf }: Shown, back: boolean) {
  const fetches = new Map<string, Extract<Step, { do: 'fetch' }>>()
  const wanted = new Map<string, { node: string; image: string }>()
  const unable = new Map<string, string>()
  let fetching = 0
  return {
    on(node: string, { member: { pod, container }, to: image }: Move, soon: boolean): 'there' | 'no' | 'unknown' {
      const fetch = fetchOf(node, image)
      const key = `${node} ${image}`
      if (fetch || soon) wanted.set(key, { node, image })
      // An image that ran there a moment ago may well be there still: going back isn't given up for it.
      if (fetch?.is === 'unable' || (back && fetch?.is === 'failed')) {
        unable.set(node, fetch.why)
        return 'unknown'
      }
      if (fetch?.is === 'there') return 'there'
      if (fetch?.is === 'fetching') fetching++
      else if (!fetch && soon && !fetches.has(key) && fetching < FETCHING) {
        fetching++
        fetches.set(key, { do: 'fetch', node, image, like: pod, pullPolicy: container.pullPolicy })
      }
      return 'no'
    },
    found(): Pick<Walk, 'fetches' | 'wanted' | 'unfetchable'> {
      const [why] = unable.values()
      return {
        fetches: [...fetches.values()],
        wanted: [...wanted.values()],
        unfetchable: why === undefined ? undefined : { nodes: [...unable.keys()].sort(), why },
      }
    },
  }
}
