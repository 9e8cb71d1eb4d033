import type { V1Deployment, V1Node, V1Pod } from '@kubernetes/client-node'
import { objectNames, selectorOf } from '../../kubernetes/names.ts'
import type { Idle } from '../findings/replicas.ts'
import type { Finding } from '../findings.ts'
import type { Check } from '../site.ts'

/** Whether the replicas that answer the API server exist, are ready, and run on different nodes. */
export const replicas: Check = {
  name: 'replicas',
  async run({ objects, namespace }) {
    const reference = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: objectNames.deployment, namespace },
    }
    const [deployment, pods, nodes] = await Promise.all([
      objects.read<V1Deployment>(reference),
      objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector: selectorOf('serve') }),
      objects.list<V1Node>({ apiVersion: 'v1', kind: 'Node' }),
    ])
    const usable = nodes.filter(({ spec }) => spec?.unschedulable !== true)
    return judgeReplicas(deployment, pods, usable.length, namespace)
  },
}

export function judgeReplicas(
  deployment: V1Deployment | undefined,
  pods: readonly V1Pod[],
  nodes: number,
  namespace: string,
): readonly Finding[] {
  if (!deployment) return [{ kind: 'deployment-missing', namespace }]
  const wanted = deployment.spec?.replicas ?? 1
  const living = pods.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
  const ready = living.filter(isReady)
  const nodesOfReady = new Set(ready.map(({ spec }) => spec?.nodeName ?? ''))
  const [node = ''] = nodesOfReady
  const findings: Finding[] = []
  if (wanted === 0) findings.push({ kind: 'scaled-to-0', namespace })
  else if (ready.length === 0) findings.push({ kind: 'no-replica-ready', namespace, wanted })
  else if (ready.length < wanted) findings.push({ kind: 'replicas-missing', namespace, ready: ready.length, wanted })
  for (const pod of living.filter((each) => !isReady(each))) {
    const kind = ready.length === 0 ? 'replica-blocked' : 'replica-not-ready'
    findings.push({ kind, namespace, pod: pod.metadata?.name ?? '', reason: whyNot(pod) })
  }
  if (wanted === 1 && ready.length === 1) findings.push({ kind: 'one-replica', namespace })
  if (ready.length > 1 && nodesOfReady.size === 1 && nodes > 1) {
    findings.push({ kind: 'replicas-together', namespace, ready: ready.length, node })
  }
  if (findings.length > 0) return findings
  return [{ kind: 'replicas-ready', ready: ready.length, wanted, places: nodesOfReady.size }]
}

export const isReady = ({ status }: V1Pod) =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true

/** Why a pod isn't ready, in the kubelet's words. */
function whyNot({ status }: V1Pod): string {
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting ?? [])[0]
  if (waiting) return [waiting.reason, waiting.message].filter(Boolean).join(': ')
  const unmet = status?.conditions?.find(({ status, message }) => status !== 'True' && message)
  return unmet?.message ?? status?.phase ?? 'nothing is known of it'
}

/** Why none of these pods does its work; undefined if one does. */
export function idleness(pods: readonly V1Pod[]): Idle | undefined {
  if (pods.some(isReady)) return undefined
  const [one] = pods
  return one ? { why: 'not-ready', pod: one.metadata?.name ?? '', reason: whyNot(one) } : { why: 'no-pod' }
}
