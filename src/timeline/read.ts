import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import type { LabelSelector } from '../admission/pod/selector.ts'
import type { RawCalls } from '../kubernetes/raw.ts'
import { selectorText } from '../kubernetes/selector.ts'
import { mostText, readEvents, seenWith } from '../seen/observe.ts'
import { type LivePod, livePod } from '../seen/pod.ts'
import { type Timeline, timelineOf } from './timeline.ts'

/** Which workload. */
interface WorkloadName {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Items in a page: 1,000 pods with their events are a dozen calls. */
const podsAtOnce = 500
const eventsAtOnce = 1000

/**
 * How the pods of a workload started: the workload, its pods, their events and those of the nodes, each with one list however many pods there
 * are. What is being deleted is left out. Undefined: there is no such workload. @throws ClusterError
 * @param now by the API server's clock, in ms @param expired is called if the list of pods went on as of later than it began
 */
export async function readStarts(
  calls: RawCalls,
  { apiVersion, kind, namespace, name }: WorkloadName,
  now: () => number,
  expired: () => void,
): Promise<readonly Timeline[] | undefined> {
  const inNamespace = `namespaces/${encodeURIComponent(namespace)}`
  const path = `/apis/${apiVersion}/${inNamespace}`
  const workload = await calls.find<Selecting>(`${path}/${kind.toLowerCase()}s/${encodeURIComponent(name)}`)
  if (!workload) return undefined
  const labelSelector = selectorText(workload.spec?.selector) || undefined
  // Labels can be anybody's: what counts is who owns a pod. A Deployment's ReplicaSets do.
  const owners = new Set([workload.metadata?.uid])
  if (kind === 'Deployment') {
    for await (const each of calls.items<Owned>(`${path}/replicasets`, { labelSelector })) {
      if (isOwned(each, owners)) owners.add(each.metadata?.uid)
    }
  }
  const pods = new Map<string, string>()
  const nodeNames = new Set<string | undefined>()
  const list = { size: podsAtOnce, expired }
  for await (const pod of calls.items<V1Pod>(`/api/v1/${inNamespace}/pods`, { labelSelector }, list)) {
    if (pod.metadata?.deletionTimestamp !== undefined || !isOwned(pod, owners)) continue
    // As a text: ten thousand pods with a megabyte of variables each would be ten gigabytes.
    pods.set(pod.metadata?.uid ?? '', JSON.stringify(livePod(pod, mostText)))
    nodeNames.add(pod.spec?.nodeName)
  }
  const eventsOf = (path: string, fieldSelector: string) =>
    calls.items<CoreV1Event>(path, { fieldSelector }, { size: eventsAtOnce, expired: () => {} })
  const ofPods = eventsOf(`/api/v1/${inNamespace}/events`, 'involvedObject.kind=Pod')
  const events = await readEvents(ofPods, pods.size, ({ uid = '' }) => (pods.has(uid) ? uid : undefined))
  // A node's events are in the namespace default, since it has none.
  const ofNodes = eventsOf('/api/v1/namespaces/default/events', 'involvedObject.kind=Node,reason=Starting')
  const nodes = await readEvents(ofNodes, nodeNames.size, ({ name }) => (nodeNames.has(name) ? name : undefined))
  return [...pods].map(([uid, text]) => {
    const pod: LivePod = JSON.parse(text)
    const node = nodes && (nodes.get(pod.node ?? '') ?? [])
    return timelineOf(seenWith(pod, events && (events.get(uid) ?? []), node, now()))
  })
}

type Selecting = { readonly metadata?: { uid?: string }; readonly spec?: { selector?: LabelSelector } }
type Owned = Pick<V1Pod, 'metadata'>

const isOwned = ({ metadata }: Owned, owners: ReadonlySet<string | undefined>): boolean =>
  metadata?.ownerReferences?.some(({ uid }) => owners.has(uid)) ?? false
