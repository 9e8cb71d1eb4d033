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

interface Level {
  readonly image: string
  /** How many pods are to be on this level. */
  readonly quota: number
}

/** How many of the pods are to have the present image. */
export const desiredIn = ({ spec }: SidecarRollout, members: readonly Member[]): number =>
  desiredOf(spec.strategy.partition, members.filter(({ standing }) => isOurs(standing)).length)

// A refused pod is one of the share: that it doesn't get there has to show.
const isOurs = (standing: Member['standing']) => standing === 'eligible' || standing === 'refused'

/** The pods that need another image: first those that have to leave theirs, then those that are missing on it. */
export function movesOf(rollout: SidecarRollout, members: readonly Member[], memory: Memory, failed: boolean): Moves {
  const ours = members.filter(({ standing }) => standing === 'eligible')
  const levels = levelsOf(rollout, memory, members.filter(({ standing }) => isOurs(standing)).length, failed)
  const rank = new Map(ours.map((one) => [one, rankOf(one, levels)]))
  const on = levels.map((_, level) => ours.filter((one) => rank.get(one) === level))
  const missing = levels.map(({ quota }, level) => Math.max(0, quota - (on[level]?.length ?? 0)))
  const surplus = levels.map(({ quota }, level) => Math.max(0, (on[level]?.length ?? 0) - quota))

  // On the way to the present image they needn't go back first.
  const off = ours.filter((one) => rank.get(one) === OFF).sort(byRecency)
  const room = failed ? 0 : missing.reduce((sum, count) => sum + count, 0)
  const leaving = off.slice(0, Math.max(0, off.length - room))
  let wantedBefore = 0
  for (const [level, there] of on.entries()) {
    // A pod that was born so has nothing to go back to.
    const movable = there.filter(({ note }) => note !== undefined).sort(byRecency)
    leaving.push(...movable.slice(0, Math.max(0, (surplus[level] ?? 0) - wantedBefore)))
    wantedBefore += missing[level] ?? 0
  }
  if (leaving.length > 0) return backMoves(leaving, levels, missing)

  const level = missing.findIndex((count) => count > 0)
  const found = levels[level]
  if (!found) return { moves: [], limit: 0, back: false }
  const candidates = ours.filter((one) => {
    const from = rank.get(one) ?? OFF
    const free = from === OFF || from >= levels.length || (from > level && (surplus[from] ?? 0) > 0)
    return free && (mayMove(one) || sameName(one.note?.from ?? '', found.image))
  })
  return {
    moves: spread(candidates, members).map((member) => ({ member, to: found.image })),
    limit: missing[level] ?? 0,
    back: false,
  }
}

/** On an image of ours that is not a level any more. */
const OFF = -1

/** The level that a pod is on; one past the last for its own origin. */
function rankOf({ image, note }: Member, levels: readonly Level[]): number {
  const level = levels.findIndex((one) => sameName(one.image, image))
  if (level >= 0) return level
  return note && !sameName(image, note.base) ? OFF : levels.length
}

/** Not one that was touched and isn't done: what is shown of it may be what ran before. */
const mayMove = ({ inProgress, inTrouble, state, origin }: Member) =>
  origin !== undefined && (!inProgress || inTrouble || state.is === 'failed')

function backMoves(leaving: readonly Member[], levels: readonly Level[], missing: readonly number[]): Moves {
  const room = [...missing]
  const moves = worstFirst(leaving, byRecency).flatMap((member): Move[] => {
    const level = room.findIndex((count, index) => count > 0 && !sameName(levels[index]?.image ?? '', member.image))
    const found = levels[level]
    if (found) {
      room[level] = (room[level] ?? 0) - 1
      return [{ member, to: found.image }]
    }
    return member.origin === undefined ? [] : [{ member, to: member.origin }]
  })
  return { moves, limit: moves.length, back: true }
}

/** The present image with its share, then what pods fall back to; each level is for those pods that the ones before it leave. */
function levelsOf(rollout: SidecarRollout, memory: Memory, total: number, failed: boolean): readonly Level[] {
  const { image, strategy } = rollout.spec
  const all = [...(failed ? [] : [{ image, partition: strategy.partition }]), ...basesOf(rollout, memory, failed)]
  let taken = 0
  return all.map(({ image: name, partition }) => {
    const upTo = Math.max(taken, desiredOf(partition, total))
    const quota = upTo - taken
    taken = upTo
    return { image: name, quota }
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
