import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import type { LabelSelector } from '../admission/pod/selector.ts'
import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import { selectorText } from '../kubernetes/selector.ts'
import { mostText, readEvents, type Seen, seenWith } from './observe.ts'
import { type LivePod, livePod } from './pod.ts'
import { workloadOf } from './workload.ts'

/** A workload as it was read, and its kind. */
interface OfKind {
  readonly kind: string
  readonly object: ClusterObject
}

/** Items in a page: 1,000 pods with their events are a dozen calls. */
const podsAtOnce = 500
const eventsAtOnce = 1000

/**
 * The pods of a workload that aren't being deleted, one at a time. Labels can be anybody's: what counts is the owner, by its uid, or by its name
 * where a ReplicaSet or a Job stands between them. @param expired is called if the list went on as of later than it began
 */
export async function* podsOf(
  objects: Objects,
  { kind, object }: OfKind,
  expired: () => void = () => {},
): AsyncIterable<V1Pod> {
  const { namespace = '', name, uid } = object.metadata ?? {}
  const labelSelector = kind === 'CronJob' ? 'batch.kubernetes.io/job-name' : selectorOf(object)
  const selection = { namespace, ...(labelSelector && { labelSelector }) }
  const found = objects.items<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, selection, { size: podsAtOnce, expired })
  for await (const pod of found) {
    const { deletionTimestamp, ownerReferences = [] } = pod.metadata ?? {}
    if (deletionTimestamp !== undefined) continue
    const owner = workloadOf(pod)
    const isDirect = ownerReferences.some((each) => each.uid === uid)
    if (isDirect || (owner.kind === kind && owner.name === name)) yield pod
  }
}

/**
 * What a cluster shows of each of them: with one list of pods, of their events and of those of the nodes, however many pods there are.
 * @param whole called with each of them as the API server has it, before the first one is given
 * @throws ClusterError if its pods may not be listed
 */
export async function* startsOf(
  objects: Objects,
  workload: OfKind,
  now: () => number,
  { expired, whole }: { readonly expired?: () => void; readonly whole?: (pod: V1Pod) => void } = {},
): AsyncIterable<Seen> {
  const pods = new Map<string, string>()
  const nodeNames = new Set<string | undefined>()
  for await (const pod of podsOf(objects, workload, expired)) {
    whole?.(pod)
    // As a text: ten thousand pods with a megabyte of variables each would be ten gigabytes.
    pods.set(pod.metadata?.uid ?? '', JSON.stringify(livePod(pod, mostText)))
    nodeNames.add(pod.spec?.nodeName)
  }
  if (pods.size === 0) return
  const eventsIn = (namespace: string, fieldSelector: string) =>
    objects.items<CoreV1Event>(
      { apiVersion: 'v1', kind: 'Event' },
      { namespace, fieldSelector },
      { size: eventsAtOnce },
    )
  const ofPods = eventsIn(workload.object.metadata?.namespace ?? '', 'involvedObject.kind=Pod')
  const events = await readEvents(ofPods, pods.size, ({ uid = '' }) => (pods.has(uid) ? uid : undefined))
  // A node's events are in the namespace default, since it has none.
  const ofNodes = eventsIn('default', 'involvedObject.kind=Node,reason=Starting')
  const nodes = await readEvents(ofNodes, nodeNames.size, ({ name }) => (nodeNames.has(name) ? name : undefined))
  for (const [uid, text] of pods) {
    const pod: LivePod = JSON.parse(text)
    const node = nodes && (nodes.get(pod.node ?? '') ?? [])
    yield seenWith(pod, events && (events.get(uid) ?? []), node, now())
  }
}

/** Of what a server sends anything may be missing: then all pods of the namespace are looked through. */
function selectorOf({ spec }: ClusterObject & { readonly spec?: { readonly selector?: unknown } }): string {
  const selector = spec?.selector
  return typeof selector === 'object' && selector !== null ? selectorText(selector as LabelSelector) : ''
}
