import { type LabelSelector, selects } from '../../src/admission/pod/selector.ts'
import type { SeenPod } from '../seen-pod.ts'
import { isAway } from '../sidecar-state.ts'

/** A PodDisruptionBudget; the numbers are those of its status. */
export interface Budget {
  readonly name: string
  readonly selector: LabelSelector
  readonly allowed: number
  /** undefined until the disruption controller has looked at it: then it allows nothing. */
  readonly desiredHealthy: number | undefined
}

/**
 * What the budgets still have room for. Their status alone isn't enough: it lags, and while a hook runs the pod's Ready condition is the old
 * one, so those that are away are counted here as well.
 * @param pods all of the namespace
 */
export function budgets(all: readonly Budget[], pods: readonly SeenPod[], now: number) {
  const rooms = all.map((budget) => {
    const covered = pods.filter((pod) => !pod.ending && covers(budget, pod))
    const away = covered.filter((pod) => pod.ready && isAway(pod, now)).length
    const healthy = covered.filter((pod) => pod.ready).length - away
    const room =
      budget.desiredHealthy === undefined ? 0 : Math.min(budget.allowed - away, healthy - budget.desiredHealthy)
    return { budget, room }
  })
  return {
    /** The budget that has no room for this pod to be away; undefined: all have. */
    refuses: (pod: SeenPod): string | undefined =>
      rooms.find(({ budget, room }) => room < 1 && covers(budget, pod))?.budget.name,
    /** The pod will be away. */
    take(pod: SeenPod) {
      for (const one of rooms) if (covers(one.budget, pod)) one.room--
    },
  }
}

/** policy/v1: an empty selector is all pods of the namespace. */
const covers = ({ selector }: Budget, pod: SeenPod) => selects(selector, pod.labels)
