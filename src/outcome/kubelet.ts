import { kubeletStarts } from '../seen/event.ts'
import type { Moment } from '../seen/moment.ts'
import type { Seen } from '../seen/observe.ts'

/** A cluster keeps events for an hour. */
export const eventsLast = 3_600_000

/** What a kubelet did not finish, such as a hook, the next one takes for done. When one began, the node's events tell. */
export interface Kubelet {
  /** Whether another one began between two moments, or in their seconds; undefined where nobody knows. */
  readonly restarted: (from: Moment, to: Moment) => boolean | undefined
  /** When the last one began, as far as anybody knows. */
  readonly last: number | undefined
}

export function kubeletOf({ node, now }: Pick<Seen, 'node' | 'now'>): Kubelet {
  const starts = node && kubeletStarts(node)
  return {
    last: starts && starts.length > 0 ? Math.max(...starts.map(({ at }) => at)) : undefined,
    restarted: (from, to) => {
      const end = to.at + (to.exact ? 0 : 1000)
      if (starts?.some(({ at, exact }) => at + (exact ? 0 : 1000) > from.at && at <= end)) return true
      return starts && now - from.at < eventsLast ? false : undefined
    },
  }
}
