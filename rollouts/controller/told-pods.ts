import type { Report } from '../../src/kubernetes/event.ts'
import type { RolloutFailure } from '../types.ts'
import { firstNames } from './first-names.ts'

/** So many events of failing pods are written in a row for a rollout; as fast as client-go's own limit, one more may follow after this time, in ms. */
const EVENTS = 10
const ANOTHER = 300_000

/** The pods of a rollout of which events have said that they fail; forgotten with the process. */
export class ToldPods {
  #pods: ReadonlySet<string> = new Set()
  /** From when on as many as at first may be written; each one makes it later. */
  #rested = Number.NEGATIVE_INFINITY

  /**
   * @param failing those that fail now; one that has recovered is told again when it fails again
   * @param known the pod that the rollout's own event names
   * @param steady in ms
   * @returns what to say now, and in how many ms to ask again, if there is more than may be said
   */
  say(
    failing: readonly RolloutFailure[],
    { known, steady }: { known: string | undefined; steady: number },
  ): { readonly reports: readonly Report[]; readonly again: number | undefined } {
    const from = Math.max(this.#rested, steady)
    const room = EVENTS - Math.ceil((from - steady) / ANOTHER)
    const untold = failing.filter(({ pod = '' }) => pod !== known && !this.#pods.has(pod))
    const reports = room > 0 ? reportsOf(untold, room) : []
    const left = new Set(room > 0 ? [] : untold.map(({ pod }) => pod))
    this.#pods = new Set(failing.flatMap(({ pod = '' }) => (left.has(pod) ? [] : [pod])))
    this.#rested = from + reports.length * ANOTHER
    return { reports, again: left.size > 0 ? from - (EVENTS - 1) * ANOTHER - steady : undefined }
  }
}

/** One for each pod; where that would be too many, the last is about all the others. */
function reportsOf(untold: readonly RolloutFailure[], room: number): readonly Report[] {
  const one = (message: string): Report => ({ type: 'Warning', reason: 'PodFailed', message })
  const each = untold.length > room ? untold.slice(0, room - 1) : untold
  const others = untold.slice(each.length)
  return [
    ...each.map(({ pod, reason, message }) => one(`pod ${pod}: ${reason}: ${message}`)),
    ...(others.length > 0
      ? [one(`${others.length} more pods: ${firstNames(others.map(({ pod, reason }) => `${pod} (${reason})`))}`)]
      : []),
  ]
}
