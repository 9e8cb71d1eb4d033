import { ClusterError } from '../../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../kubernetes/objects.ts'
import { judge, type Outcome } from '../../outcome/outcome.ts'
import { startsOf } from '../../seen/workload-pods.ts'
import type { Finding } from '../findings.ts'
import { judgeStarts, type StartedPod } from './started.ts'

interface Asked {
  readonly objects: Objects
  readonly now: () => number
  readonly kind: string
  /** Those that rules name. */
  readonly sidecars: readonly string[]
}

/** How the pods of a workload started, and what is wrong with them by now. @throws ClusterError other than that they may not be listed */
export async function workloadFindings(
  object: ClusterObject,
  { objects, now, kind, sidecars }: Asked,
): Promise<Finding[]> {
  const { namespace = '', name = '' } = object.metadata ?? {}
  const started: StartedPod[] = []
  let expired = false
  try {
    for await (const seen of startsOf(objects, { kind, object }, now, () => (expired = true))) {
      started.push({ name: seen.pod.name, owner: { kind, namespace, name }, ...judge(seen, sidecars) })
    }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return [{ kind: 'pods-unread', message: error.message }]
  }
  const kinds = Map.groupBy(started, ({ outcome }) => countedAs(outcome))
  const counts = [...kinds].map(([outcome, { length }]) => ({ outcome, count: length }))
  return [{ kind: 'pods-looked-at', counts, expired }, ...judgeStarts(started, now())]
}

const countedAs = (outcome: Outcome): Outcome['kind'] | 'no-sidecars' =>
  outcome.kind === 'unknown' && outcome.reasons.some(({ why }) => why === 'no-sidecars') ? 'no-sidecars' : outcome.kind
