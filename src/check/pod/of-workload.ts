import type { V1Pod } from '@kubernetes/client-node'
import type { LabelSelector } from '../../admission/pod/selector.ts'
import { ClusterError } from '../../kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../kubernetes/objects.ts'
import { selectorText } from '../../kubernetes/selector.ts'
import { judge, type Outcome } from '../../outcome/outcome.ts'
import { observe } from '../../seen/observe.ts'
import { workloadOf } from '../../seen/workload.ts'
import type { Finding } from '../findings.ts'
import { judgeStart, judgeStarts, type StartedPod } from '../installation/starts.ts'
import type { SubjectKind } from './subject.ts'

interface Asked {
  readonly objects: Objects
  readonly now: () => number
  readonly kind: SubjectKind
  /** Those that rules name. */
  readonly sidecars: readonly string[]
}

/** How the pods of a workload started, and what is wrong with them by now. @throws ClusterError other than that they may not be listed */
export async function podsOf(workload: ClusterObject, { objects, now, kind, sidecars }: Asked): Promise<Finding[]> {
  const { namespace = '', name = '', uid } = workload.metadata ?? {}
  const labelSelector = kind.kind === 'CronJob' ? 'batch.kubernetes.io/job-name' : selectorOf(workload)
  if (labelSelector === '') return [{ kind: 'pods-unread', message: 'it has no selector' }]
  // Labels can be anybody's: what counts is the owner.
  const isOwn = (pod: V1Pod) => {
    const owner = workloadOf(pod)
    const direct = pod.metadata?.ownerReferences?.some((each) => each.uid === uid) ?? false
    return direct || (owner.kind === kind.kind && owner.name === name)
  }
  const started: StartedPod[] = []
  const look = closely(objects, now, { most: mostOfOne, all: true })
  try {
    for await (const pod of objects.items<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector })) {
      if (pod.metadata?.deletionTimestamp === undefined && isOwn(pod)) started.push(await look(pod, sidecars))
    }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return [{ kind: 'pods-unread', message: error.message }]
  }
  const kinds = Map.groupBy(started, ({ outcome }) => countedAs(outcome))
  const counts = [...kinds].map(([outcome, { length }]) => ({ outcome, count: length }))
  return [{ kind: 'pods-looked-at', counts }, ...judgeStarts(started, now())]
}

const countedAs = (outcome: Outcome): Outcome['kind'] | 'no-sidecars' =>
  outcome.kind === 'unknown' && outcome.reasons.some(({ why }) => why === 'no-sidecars') ? 'no-sidecars' : outcome.kind

/** So many pods of one owner are looked at more closely; more where nothing else is asked about. */
const mostLooked = 3
const mostOfOne = 20

/**
 * Judges pods by their status, and with their events, where these could show more: of a few of each owner, since the others are alike.
 * @param all also those of which only the events tell that nothing is wrong with them
 */
export function closely(objects: Objects, now: () => number, { most, all } = { most: mostLooked, all: false }) {
  const looked = new Map<string, number>()
  return async (pod: V1Pod, sidecars: readonly string[]): Promise<StartedPod> => {
    const { more, ...start } = judgeStart(pod, sidecars, now(), all)
    const { kind, namespace, name } = start.owner
    const owner = `${kind} ${namespace}/${name}`
    const before = looked.get(owner) ?? 0
    if (!more || before >= most) return start
    looked.set(owner, before + 1)
    const { outcome, lacking, starts, down, app } = judge(await observe(objects, pod, now), sidecars)
    return { name: start.name, owner: start.owner, outcome, lacking, starts, down, app }
  }
}

type Workload = ClusterObject & { readonly spec?: { readonly selector?: unknown } }

/** Of what a server sends anything may be missing. */
function selectorOf({ spec }: Workload): string {
  const selector = spec?.selector
  return typeof selector === 'object' && selector !== null ? selectorText(selector as LabelSelector) : ''
}
