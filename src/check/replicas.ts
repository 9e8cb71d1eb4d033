import type { V1Deployment, V1Node, V1Pod } from '@kubernetes/client-node'
import { type Finding, ok, problem, warning } from './finding.ts'
import type { Check } from './site.ts'

const labelSelector = 'app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=serve'

/** Whether the replicas that answer the API server are there, ready, and apart. */
export const replicas: Check = {
  name: 'replicas',
  async run({ objects, namespace }) {
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'sidecar-first', namespace } }
    const [deployment, pods, nodes] = await Promise.all([
      objects.read<V1Deployment>(reference),
      objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector }),
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
  if (!deployment) {
    return [
      problem(`there is no Deployment ${namespace}/sidecar-first`, 'install sidecar-first, or name its --namespace'),
    ]
  }
  const wanted = deployment.spec?.replicas ?? 1
  const living = pods.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
  const ready = living.filter(isReady)
  const describe = `kubectl describe pod -n ${namespace} -l ${labelSelector}`
  const findings: Finding[] = living
    .filter((pod) => !isReady(pod))
    .map((pod) => {
      const say = ready.length === 0 ? problem : warning
      return say(`${pod.metadata?.name} is not ready: ${whyNot(pod)}`, describe)
    })
  if (ready.length === 0) {
    const scale = `kubectl scale -n ${namespace} deployment/sidecar-first --replicas=2`
    const none = wanted === 0 ? 'the Deployment is scaled to 0' : `no replica of ${wanted} is ready`
    findings.unshift(problem(none, wanted === 0 ? scale : describe))
  } else if (ready.length < wanted)
    findings.unshift(warning(`${ready.length} of ${wanted} replicas are ready`, describe))
  else if (wanted === 1) {
    const scale = `kubectl scale -n ${namespace} deployment/sidecar-first --replicas=2`
    findings.push(warning('one replica alone: while it restarts, no pod is patched', scale))
  }
  const places = new Set(ready.map(({ spec }) => spec?.nodeName))
  if (ready.length > 1 && places.size === 1 && nodes > 1) {
    const restart = `kubectl rollout restart -n ${namespace} deployment/sidecar-first`
    findings.push(warning(`all ${ready.length} ready replicas are on the node ${[...places][0]}`, restart))
  }
  if (findings.length > 0) return findings
  return [ok(`${ready.length} of ${wanted} ready, on ${places.size === 1 ? 'the one node' : `${places.size} nodes`}`)]
}

export const isReady = ({ status }: V1Pod) =>
  status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true

/** Why a pod isn't ready, in the kubelet's words. */
export function whyNot({ status }: V1Pod): string {
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting ?? [])[0]
  if (waiting) return [waiting.reason, waiting.message].filter(Boolean).join(': ')
  const unmet = status?.conditions?.find(({ status, message }) => status !== 'True' && message)
  return unmet?.message ?? status?.phase ?? 'nothing is known of it'
}
