import { sameName } from '../image.ts'
import type { Member } from '../members.ts'
import { basesOf, type Memory } from '../memory.ts'
import { desiredOf } from '../share.ts'
import type { SidecarRollout } from '../types.ts'

/** A pod whose sidecar is to get this image. */
export interface Move {
  readonly member: Member
  readonly to: string
}

export interface Moves {
  /** In the order in which they are to be made; `limit` of them. */
  readonly moves: readonly Move[]
  readonly limit: number
  /** They take pods off the present image. */
  readonly back: boolean
}

/** An image with its share of the pods. */
interface Level {
  readonly image: string
  readonly on: readonly Member[]
  /** How many more are to be on it, or fewer. */
  readonly missing: number
  readonly surplus: number
}

/** How many of the pods are to have the present image. */
export const desiredIn = ({ spec }: SidecarRollout, members: readonly Member[]): number =>
  desiredOf(spec.strategy.partition, members.filter(({ standing }) => isOurs(standing)).length)

// A refused pod is one of the share: that it doesn't get there has to show.
const isOurs = (standing: Member['standing']) => standing === 'eligible' || standing === 'refused'

/** The pods that need another image: first those that have to leave theirs, then those that are missing on it. */
export function movesOf(rollout: SidecarRollout, members: readonly Member[], memory: Memory, failed: boolean): Moves {
  const ours = members.filter(({ standing }) => standing === 'eligible')
  const levels = levelsOf(rollout, memory, members, failed)
  const levelOf = ({ image }: Member) => levels.find((one) => sameName(one.image, image))

  // On an image of ours that is not a level any more. On the way to the present image they needn't go back first.
  const off = ours.filter((one) => !levelOf(one) && one.note && !sameName(one.image, one.note.base)).sort(byRecency)
  const room = failed ? 0 : levels.reduce((sum, { missing }) => sum + missing, 0)
  const leaving = off.slice(0, Math.max(0, off.length - room))
  let wantedBefore = 0
  for (const { on, surplus, missing } of levels) {
    // A pod that was born so has nothing to go back to.
    const movable = on.filter(({ note }) => note !== undefined).sort(byRecency)
    leaving.push(...movable.slice(0, Math.max(0, surplus - wantedBefore)))
    wantedBefore += missing
  }
  if (leaving.length > 0) return backMoves(leaving, levels)

  const goal = levels.find(({ missing }) => missing > 0)
  if (!goal) return { moves: [], limit: 0, back: false }
  const after = levels.slice(levels.indexOf(goal) + 1)
  const candidates = ours.filter((one) => {
    const level = levelOf(one)
    const free = !level || (after.includes(level) && level.surplus > 0)
    return free && (mayMove(one) || sameName(one.note?.from ?? '', goal.image))
  })
  const moves = spread(candidates, members).map((member) => ({ member, to: goal.image }))
  return { moves, limit: goal.missing, back: false }
}

/** Not one that was touched and isn't done: what is shown of it may be what ran before. */
const mayMove = ({ inProgress, inTrouble, state, origin }: Member) =>
  origin !== undefined && (!inProgress || inTrouble || state.is === 'failed')

function backMoves(leaving: readonly Member[], levels: readonly Level[]): Moves {
  const room = levels.map(({ image, missing }) => ({ image, left: missing }))
  const moves = worstFirst(leaving, byRecency).flatMap((member): Move[] => {
    const level = room.find(({ image, left }) => left > 0 && !sameName(image, member.image))
    if (level) level.left--
    const to = level?.image ?? member.origin
    return to === undefined ? [] : [{ member, to }]
  })
  return { moves, limit: moves.length, back: true }
}

/** The present image with its share, then what pods fall back to; each level is for those pods that the ones before it leave. */
function levelsOf(
  rollout: SidecarRollout,
  memory: Memory,
  members: readonly Member[],
  failed: boolean,
): readonly Level[] {
  const { image, strategy } = rollout.spec
  const all = [...(failed ? [] : [{ image, partition: strategy.partition }]), ...basesOf(rollout, memory, failed)]
  const total = members.filter(({ standing }) => isOurs(standing)).length
  const left = new Set(members.filter(({ standing }) => standing === 'eligible'))
  let taken = 0
  return all.map(({ image: name, partition }) => {
    const quota = Math.max(0, desiredOf(partition, total) - taken)
    taken += quota
    const on = [...left].filter((one) => sameName(one.image, name))
    for (const one of on) left.delete(one)
    return { image: name, on, missing: Math.max(0, quota - on.length), surplus: Math.max(0, on.length - quota) }
  })
}

/** The most recently touched first. */
const byRecency = (a: Member, b: Member) => (b.note?.at ?? 0) - (a.note?.at ?? 0) || byName(a, b)

const byName = (a: Member, b: Member) => (a.pod.name < b.pod.name ? -1 : a.pod.name > b.pod.name ? 1 : 0)

/** Unready pods first: they have the least to lose. */
const worstFirst = (members: readonly Member[], then: (a: Member, b: Member) => number) =>
  members.toSorted((a, b) => Number(a.available) - Number(b.available) || then(a, b))

/** Unready pods first, then one of each node in turn, starting with the nodes that have the fewest updated pods. */
function spread(candidates: readonly Member[], members: readonly Member[]): readonly Member[] {
  const taken = new Map<string, number>()
  const take = (node = '') => {
    const turn = taken.get(node) ?? 0
    taken.set(node, turn + 1)
    return turn
  }
  for (const { pod, updated } of members) if (updated) take(pod.node)
  const turns = new Map(worstFirst(candidates, byName).map((one) => [one, take(one.pod.node)]))
  return worstFirst(candidates, (a, b) => (turns.get(a) ?? 0) - (turns.get(b) ?? 0) || byName(a, b))
}
