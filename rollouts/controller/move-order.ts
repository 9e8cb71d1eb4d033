import type { Member } from '../members.ts'

/** The most recently touched first. */
export const byRecency = (a: Member, b: Member) => (b.note?.at ?? 0) - (a.note?.at ?? 0) || byName(a, b)

const byName = (a: Member, b: Member) => (a.pod.name < b.pod.name ? -1 : a.pod.name > b.pod.name ? 1 : 0)

/** Unready pods first: they have the least to lose. */
export const worstFirst = (members: readonly Member[], then: (a: Member, b: Member) => number) =>
  members.toSorted((a, b) => Number(a.available) - Number(b.available) || then(a, b))

/** Unready pods first, then one of each node in turn, starting with the nodes that have the fewest updated pods. */
export function spread(candidates: readonly Member[], members: readonly Member[]): readonly Member[] {
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
