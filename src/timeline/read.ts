import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import type { LabelSelector } from '../admission/pod/selector.ts'
import { keys } from '../admission/words/keys.ts'
import { failureKind } from '../kubernetes/failure.ts'
import type { RawCalls } from '../kubernetes/raw.ts'
import { selectorText } from '../kubernetes/selector.ts'
import { essence } from '../outcome/moment.ts'
import { mostEvents } from '../outcome/outcome.ts'
import { reducedPod } from '../outcome/reduced.ts'
import { type Timeline, timelineOf } from './timeline.ts'

/** Which workload. */
export interface Workload {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** Items in a page: 1,000 pods with their events are a dozen calls. */
const podsAtOnce = 500
const eventsAtOnce = 1000
/** Characters that are kept of an event's message, and of a container's words. */
const mostText = 1024

/**
 * How the pods of a workload started: the workload, its pods, their events and those of the nodes, each with one list however many pods there
 * are. What is being deleted is left out. Undefined: there is no such workload. @throws ClusterError
 * @param now by the API server's clock, in ms @param expired is called if the list of pods went on as of later than it began
 */
export async function readStarts(
  calls: RawCalls,
  { apiVersion, kind, namespace, name }: Workload,
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
    pods.set(pod.metadata?.uid ?? '', kept(pod))
    nodeNames.add(pod.spec?.nodeName)
  }
  const ofPod = 'involvedObject.kind=Pod'
  const events = await byObject(calls, `/api/v1/${inNamespace}/events`, ofPod, ({ uid = '' }) =>
    pods.has(uid) ? uid : undefined,
  )
  // A node's events are in the namespace default, since it has none.
  const ofNode = 'involvedObject.kind=Node,reason=Starting'
  const nodes = await byObject(calls, '/api/v1/namespaces/default/events', ofNode, ({ name }) =>
    nodeNames.has(name) ? name : undefined,
  )
  return [...pods].map(([uid, text]) => {
    const pod: V1Pod = JSON.parse(text)
    const node = nodes && (nodes.get(pod.spec?.nodeName ?? '') ?? [])
    const own = events && (events.get(uid) ?? [])
    const seen = { pod, node: node === 'crowded' ? undefined : node, now: now() }
    return timelineOf(own === 'crowded' ? { ...seen, events: undefined, crowded: true } : { ...seen, events: own })
  })
}

/** What of a pod is judged, as JSON: ten thousand pods with a megabyte of variables each would be ten gigabytes. */
export function kept(pod: V1Pod): string {
  const { name, namespace, creationTimestamp, annotations = {} } = pod.metadata ?? {}
  const own = Object.fromEntries([keys.sidecars, keys.status].map((key) => [key, annotations[key]]))
  const metadata = { name, namespace, creationTimestamp, annotations: own }
  return JSON.stringify({ metadata, ...reducedPod(pod, { waiting: mostText, ended: mostText }) })
}

type Selecting = { readonly metadata?: { uid?: string }; readonly spec?: { selector?: LabelSelector } }
type Owned = Pick<V1Pod, 'metadata'>

const isOwned = ({ metadata }: Owned, owners: ReadonlySet<string | undefined>): boolean =>
  metadata?.ownerReferences?.some(({ uid }) => owners.has(uid)) ?? false

/**
 * What is read of events, by a key of the object that they are about; `crowded` about which there are more than count. Undefined where they may not
 * be listed.
 */
async function byObject(
  calls: RawCalls,
  path: string,
  fieldSelector: string,
  keyOf: (object: CoreV1Event['involvedObject']) => string | undefined,
): Promise<ReadonlyMap<string, readonly CoreV1Event[] | 'crowded'> | undefined> {
  const found = new Map<string, CoreV1Event[] | 'crowded'>()
  const list = { size: eventsAtOnce, expired: () => {} }
  try {
    for await (const event of calls.items<CoreV1Event>(path, { fieldSelector }, list)) {
      const key = keyOf(event.involvedObject)
      if (key === undefined) continue
      const own = found.get(key) ?? []
      if (own === 'crowded') continue
      const isFull = own.length === mostEvents
      if (!isFull) own.push(essence(event, mostText))
      found.set(key, isFull ? 'crowded' : own)
    }
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  }
  return found
}
