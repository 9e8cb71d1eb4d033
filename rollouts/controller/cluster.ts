import { type KubeConfig, PatchStrategy, type V1PodDisruptionBudget, type V1ReplicaSet } from '@kubernetes/client-node'
import { type Report, writeEvent } from '../../src/kubernetes/event.ts'
import { type Followed, follow, type WireObject } from '../../src/kubernetes/follow.ts'
import type { RawCalls } from '../../src/kubernetes/raw.ts'
import type { Wire } from '../../src/kubernetes/wire.ts'
import { type Note, noteKey, writeNote } from '../pod-note.ts'
import type { SeenContainer, SeenPod, WirePod } from '../seen-pod.ts'
import { API_GROUP, API_VERSION, CONTROLLER, PLURAL, type RolloutStatus, type SidecarRollout } from '../types.ts'

/** A PodDisruptionBudget as it comes over the wire. */
export type WireBudget = WireObject & Wire<V1PodDisruptionBudget>

/** A workload as it comes over the wire: what is read of it, all kinds have. */
type WireWorkload = Wire<V1ReplicaSet>

const workloads: readonly string[] = ['ReplicaSet', 'StatefulSet', 'DaemonSet']
const ROLLOUTS = `/apis/${API_GROUP}/${API_VERSION}`
const rolloutPath = (namespace: string, name: string) =>
  `${ROLLOUTS}/namespaces/${namespace}/${PLURAL}/${encodeURIComponent(name)}`
const podsPath = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`

export type Cluster = ReturnType<typeof cluster>

/** All calls that the controller makes. Each throws ClusterError. */
export function cluster(calls: RawCalls) {
  const patchPod = ({ namespace, name }: SeenPod, body: readonly object[]): Promise<WirePod> =>
    calls.patch(`${podsPath(namespace)}/${name}`, body, PatchStrategy.JsonPatch)
  return {
    readRollout: (namespace: string, name: string) => calls.find<SidecarRollout>(rolloutPath(namespace, name)),
    /** As a whole, and only over the version that was seen: otherwise a conflict. */
    writeStatus(
      { metadata: { namespace, name, resourceVersion } }: SidecarRollout,
      status: RolloutStatus,
    ): Promise<SidecarRollout> {
      // By JSON patch, since a merge would keep what the new status leaves out.
      const body = [
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/status', value: status },
      ]
      return calls.patch(`${rolloutPath(namespace, name)}/status`, body, PatchStrategy.JsonPatch)
    },
    readPod: (namespace: string, name: string) => calls.find<WirePod>(`${podsPath(namespace)}/${name}`),
    /** The image and the note about it, if the pod is still as it was seen: otherwise it's `invalid`. */
    touchPod(pod: SeenPod, container: SeenContainer, note: Note) {
      const path = `/spec/${container.list}/${container.index}/image`
      const image = { op: 'replace', path, value: note.wanted }
      return patchPod(pod, [...testsOf(pod, container), image, noting(container, note)])
    },
    /** The note alone, if the pod is still as it was seen: otherwise it's `invalid`. */
    notePod: (pod: SeenPod, container: SeenContainer, note: Note) =>
      patchPod(pod, [...testsOf(pod, container), noting(container, note)]),
    /** A `conflict` when it's there already. */
    createPod: (namespace: string, pod: object) => calls.create<WirePod>(podsPath(namespace), pod),
    removePod: (namespace: string, name: string) => calls.remove(`${podsPath(namespace)}/${name}`),
    /** A workload of the API group apps; undefined for another kind, and where it's gone. */
    async readWorkload(namespace: string, kind: string, name: string): Promise<WireWorkload | undefined> {
      if (!workloads.includes(kind)) return undefined
      return await calls.find(
        `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${encodeURIComponent(name)}`,
      )
    },
    /** When a node's kubelet last renewed its Lease; undefined if it has none. */
    async readNodeLease(node: string): Promise<string | undefined> {
      const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${encodeURIComponent(node)}`
      return (await calls.find<{ spec?: { renewTime?: string } }>(path))?.spec?.renewTime
    },
    /** Deletes this very rollout. */
    removeRollout: ({ metadata: { namespace, name, uid } }: SidecarRollout) =>
      calls.remove(rolloutPath(namespace, name), { preconditions: { uid } }),
    report({ apiVersion, kind, metadata }: SidecarRollout, report: Report, now: number): Promise<void> {
      const { namespace, name, uid, resourceVersion } = metadata
      const about = { apiVersion, kind, namespace, name, uid, resourceVersion }
      return writeEvent(calls, about, report, { component: CONTROLLER, now })
    },
  }
}

const testsVersion = ({ annotated }: SeenPod, status: SeenContainer['status']) => !annotated || !status?.id

/** Whether a pod, as it is now, passes the tests of a patch that was refused: then it wasn't for them. */
export function isAsSeen({ metadata }: WirePod, pod: SeenPod, { status }: SeenContainer): boolean {
  if (metadata.resourceVersion === pod.version) return true
  const isSame = metadata.uid === pod.uid && metadata.generation === pod.generation
  return isSame && !testsVersion(pod, status) && metadata.annotations !== undefined
}

/** What a patch tests: that the pod is the one that was seen, and its spec hasn't changed since. */
function testsOf(pod: SeenPod, { list, index, name, image, status }: SeenContainer) {
  const at = `/spec/${list}/${index}`
  return [
    { op: 'test', path: '/metadata/uid', value: pod.uid },
    { op: 'test', path: '/metadata/generation', value: pod.generation },
    // Without annotations the patch creates them, so it must not overwrite any that were added in the meantime. And a container that hasn't run
    // costs nothing, as long as it still hasn't.
    ...(testsVersion(pod, status) ? [{ op: 'test', path: '/metadata/resourceVersion', value: pod.version }] : []),
    ...(pod.annotated ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} }]),
    { op: 'test', path: `${at}/name`, value: name },
    { op: 'test', path: `${at}/image`, value: image },
  ]
}

function noting({ name }: SeenContainer, note: Note) {
  const key = noteKey(name).replaceAll('~', '~0').replaceAll('/', '~1')
  return { op: 'add', path: `/metadata/annotations/${key}`, value: writeNote(note) }
}

const BUDGETS = '/apis/policy/v1'

export type Mirrors = ReturnType<typeof mirrors>

/** What the controller keeps a copy of. */
export function mirrors(
  kubeconfig: KubeConfig,
  calls: RawCalls,
  more: Pick<Parameters<typeof follow>[0], 'resync' | 'failed'>,
) {
  const following =
    <T extends WireObject>(path: string) =>
    (into: Followed<T>, signal: AbortSignal): Promise<void> =>
      follow<T>({ ...more, kubeconfig, calls, path, into, signal })
  const listing =
    <T>(pathIn: (namespace: string) => string) =>
    async (namespace: string, each: (object: T) => void): Promise<void> => {
      for await (const item of calls.items<T>(pathIn(namespace))) each(item)
    }
  return {
    rollouts: following<SidecarRollout>(`${ROLLOUTS}/${PLURAL}`),
    /** Of the whole cluster. */
    pods: following<WirePod>('/api/v1/pods'),
    budgets: following<WireBudget>(`${BUDGETS}/poddisruptionbudgets`),
    /** Of a namespace, once. */
    listPods: listing<WirePod>(podsPath),
    listBudgets: listing<WireBudget>((namespace) => `${BUDGETS}/namespaces/${namespace}/poddisruptionbudgets`),
  }
}
