import type { V1Pod } from '@kubernetes/client-node'
import { ClusterError } from '../../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../kubernetes/objects.ts'
import { judge, type Outcome } from '../../outcome/outcome.ts'
import { type Owner, ownerOf, ownerText, renewal } from '../../seen/owner.ts'
import { startsOf } from '../../seen/workload-pods.ts'
import { type Finding, told } from '../findings.ts'
import { judgeStarts, type StartedPod } from './started.ts'

interface Asked {
  readonly objects: Objects
  readonly now: () => number
  readonly kind: string
  /** Those that rules name. */
  readonly sidecars: readonly string[]
  /** How one of them compares with what the webhook would make of it. */
  readonly verdict: (pod: V1Pod) => Finding
}

/** How the pods of a workload started, and what is wrong with them by now. @throws ClusterError other than that they may not be listed */
export async function workloadFindings(
  object: ClusterObject,
  { objects, now, kind, sidecars, verdict }: Asked,
): Promise<Finding[]> {
  const { namespace = '', name = '' } = object.metadata ?? {}
  const started: StartedPod[] = []
  const standing: StandingPod[] = []
  let expired = false
  const options = {
    expired: () => {
      expired = true
    },
    // What has ended is not created again for its order.
    whole: (pod: V1Pod) => {
      const ended = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
      if (!ended) standing.push({ name: pod.metadata?.name ?? '', owner: ownerOf(pod), verdict: verdict(pod) })
    },
  }
  try {
    for await (const seen of startsOf(objects, { kind, object }, now, options)) {
      started.push({ name: seen.pod.name, owner: { kind, namespace, name }, ...judge(seen, sidecars) })
    }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return [{ kind: 'pods-unread', message: error.message }]
  }
  const kinds = Map.groupBy(started, ({ outcome }) => countedAs(outcome))
  const counts = [...kinds].map(([outcome, { length }]) => ({ outcome, count: length }))
  return [
    { kind: 'pods-looked-at', counts, expired },
    ...standingFindings(standing, { kind, namespace, name }),
    ...judgeStarts(started, now()),
  ]
}

interface StandingPod {
  readonly name: string
  readonly owner: Owner
  readonly verdict: Finding
}

/** Pods that don't have the order that they should have, whatever their template would get today: alike ones once. */
function standingFindings(all: readonly StandingPod[], workload: Owner): readonly Finding[] {
  const alike = Map.groupBy(all, ({ verdict }) => likeness(verdict))
  return [...alike].flatMap(([like, some]): Finding[] => {
    const [one] = some
    if (one === undefined || like === undefined || !isUnheld(one.verdict)) return []
    const names = some.map(({ name }) => name)
    const finding = told({ ...one.verdict, renew: renewal(one.owner, names) })
    const kind = finding.level === 'problem' ? 'pods-stand-wrong' : 'pods-stand-doubtful'
    const affected = { some: some.length, all: all.length }
    return [{ kind, owner: ownerText(workload), affected, pod: one.name, told: finding }]
  })
}

type Unheld = Extract<Finding, { readonly kind: 'missed' | 'unlocked' | 'outdated' }>
/** What only a pod can be: the rest is said of its template. */
const isUnheld = (finding: Finding): finding is Unheld =>
  finding.kind === 'missed' || finding.kind === 'unlocked' || finding.kind === 'outdated'

function likeness(finding: Finding): string | undefined {
  if (!isUnheld(finding)) return undefined
  if (finding.kind === 'missed') return `missed ${finding.because.kind} ${finding.would}`
  return finding.kind === 'unlocked' ? `unlocked ${finding.names.join()}` : finding.kind
}

const countedAs = (outcome: Outcome): Outcome['kind'] | 'no-sidecars' =>
  outcome.kind === 'unknown' && outcome.reasons.some(({ why }) => why === 'no-sidecars') ? 'no-sidecars' : outcome.kind
