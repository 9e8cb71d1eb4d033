import { type KubeConfig, PatchStrategy, type V1PodDisruptionBudget, type V1PodSpec } from '@kubernetes/client-node'
import { type Report, writeEvent } from '../../src/kubernetes/event.ts'
import type { WireObject } from '../../src/kubernetes/follow.ts'
import type { RawCalls } from '../../src/kubernetes/raw.ts'
import type { Wire } from '../../src/kubernetes/wire.ts'
import { type Note, noteKey, writeNote } from '../pod-note.ts'
import type { SeenContainer, SeenPod, WirePod } from '../seen-pod.ts'
import { API_GROUP, API_VERSION, CONTROLLER, PLURAL, type RolloutStatus, type SidecarRollout } from '../types.ts'
import { type Mirrored, mirror } from './mirror.ts'

/** A PodDisruptionBudget as it comes over the wire. */
export type WireBudget = WireObject & Wire<V1PodDisruptionBudget>

/** A workload as it comes over the wire: what is read of it. */
interface WireWorkload {
  readonly metadata: {
    readonly ownerReferences?: readonly {
      readonly kind: string
      readonly name: string
      readonly controller?: boolean
    }[]
  }
  readonly spec?: { readonly template?: { readonly spec?: Wire<V1PodSpec> } }
}

/** All calls that the controller makes. Each throws ClusterError. */
export interface Cluster {
  readRollout(namespace: string, name: string): Promise<SidecarRollout | undefined>
  /** As a whole, and only over the version that was seen: otherwise a conflict. */
  writeStatus(rollout: SidecarRollout, status: RolloutStatus): Promise<SidecarRollout>
  readPod(namespace: string, name: string): Promise<WirePod | undefined>
  /** The image and the note about it, if the pod is still as it was seen: otherwise it's `invalid`. */
  touchPod(pod: SeenPod, container: SeenContainer, note: Note): Promise<WirePod>
  /** The note alone, if the pod is still as it was seen: otherwise it's `invalid`. */
  notePod(pod: SeenPod, container: SeenContainer, note: Note): Promise<WirePod>
  /** A `conflict` when it's there already. */
  createPod(namespace: string, pod: object): Promise<WirePod>
  removePod(namespace: string, name: string): Promise<void>
  report(rollout: SidecarRollout, report: Report, now: number): Promise<void>
  /** A workload of the API group apps; undefined for another kind, and where it's gone. */
  readWorkload(namespace: string, kind: string, name: string): Promise<WireWorkload | undefined>
  /** When a node's kubelet last renewed its Lease; undefined if it has none. */
  readNodeLease(node: string): Promise<string | undefined>
  /** Deletes this very rollout. */
  removeRollout(rollout: SidecarRollout): Promise<void>
}

const workloads: Readonly<Record<string, string>> = {
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
  DaemonSet: 'daemonsets',
}
const ROLLOUTS = `/apis/${API_GROUP}/${API_VERSION}`
const rolloutPath = (namespace: string, name: string) =>
  `${ROLLOUTS}/namespaces/${namespace}/${PLURAL}/${encodeURIComponent(name)}`
const podsPath = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`

export function cluster(calls: RawCalls): Cluster {
  return {
    readRollout: (namespace, name) => calls.find(rolloutPath(namespace, name)),
    writeStatus({ metadata: { namespace, name, resourceVersion } }, status) {
      // By JSON patch, since a merge would keep what the new status leaves out.
      const body = [
        { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/status', value: status },
      ]
      return calls.patch(`${rolloutPath(namespace, name)}/status`, body, PatchStrategy.JsonPatch)
    },
    readPod: (namespace, name) => calls.find(`${podsPath(namespace)}/${name}`),
    touchPod(pod, container, note) {
      const at = `/spec/${container.list}/${container.index}`
      const body = [
        ...testsOf(pod, container),
        { op: 'replace', path: `${at}/image`, value: note.wanted },
        noting(container, note),
      ]
      return calls.patch(`${podsPath(pod.namespace)}/${pod.name}`, body, PatchStrategy.JsonPatch)
    },
    notePod(pod, container, note) {
      const body = [...testsOf(pod, container), noting(container, note)]
      return calls.patch(`${podsPath(pod.namespace)}/${pod.name}`, body, PatchStrategy.JsonPatch)
    },
    createPod: (namespace, pod) => calls.create(podsPath(namespace), pod),
    async removePod(namespace, name) {
      await calls.remove(`${podsPath(namespace)}/${name}`)
    },
    async readWorkload(namespace, kind, name) {
      const plural = workloads[kind]
      return plural === undefined
        ? undefined
        : await calls.find(`/apis/apps/v1/namespaces/${namespace}/${plural}/${encodeURIComponent(name)}`)
    },
    async readNodeLease(node) {
      const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${encodeURIComponent(node)}`
      return (await calls.find<{ spec?: { renewTime?: string } }>(path))?.spec?.renewTime
    },
    async removeRollout({ metadata: { namespace, name, uid } }) {
      await calls.remove(rolloutPath(namespace, name), { preconditions: { uid } })
    },
    report({ apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }, report, now) {
      const about = { apiVersion, kind, namespace, name, uid, resourceVersion }
      return writeEvent(calls, about, report, { component: CONTROLLER, now })
    },
  }
}

/** What a patch tests: that the pod is the one that was seen, and its spec hasn't changed since. */
function testsOf(pod: SeenPod, { list, index, name, image, status }: SeenContainer) {
  const at = `/spec/${list}/${index}`
  return [
    { op: 'test', path: '/metadata/uid', value: pod.uid },
    { op: 'test', path: '/metadata/generation', value: pod.generation },
    // Without annotations the patch creates them, so it must not overwrite any that were added in the meantime. And a container that hasn't run
    // costs nothing, as long as it still hasn't.
    ...(pod.annotated && status?.id ? [] : [{ op: 'test', path: '/metadata/resourceVersion', value: pod.version }]),
    ...(pod.annotated ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} }]),
    { op: 'test', path: `${at}/name`, value: name },
    { op: 'test', path: `${at}/image`, value: image },
  ]
}

function noting({ name }: SeenContainer, note: Note) {
  const key = noteKey(name).replaceAll('~', '~0').replaceAll('/', '~1')
  return { op: 'add', path: `/metadata/annotations/${key}`, value: writeNote(note) }
}

export interface Mirrors {
  rollouts(into: Mirrored<SidecarRollout>, signal: AbortSignal): Promise<void>
  /** Of the whole cluster. */
  pods(into: Mirrored<WirePod>, signal: AbortSignal): Promise<void>
  budgets(into: Mirrored<WireBudget>, signal: AbortSignal): Promise<void>
  /** Of a namespace, once. */
  listPods(namespace: string, each: (pod: WirePod) => void): Promise<void>
  listBudgets(namespace: string, each: (budget: WireBudget) => void): Promise<void>
}

const BUDGETS = '/apis/policy/v1'

export function mirrors(
  kubeconfig: KubeConfig,
  calls: RawCalls,
  more: Pick<Parameters<typeof mirror>[0], 'resync' | 'failed'>,
): Mirrors {
  const follow = <T extends WireObject>(path: string, into: Mirrored<T>, signal: AbortSignal) =>
    mirror<T>({ ...more, kubeconfig, calls, path, into, signal })
  const list = async <T>(path: string, each: (object: T) => void) => {
    for await (const item of calls.items<T>(path)) each(item)
  }
  return {
    rollouts: (into, signal) => follow(`${ROLLOUTS}/${PLURAL}`, into, signal),
    pods: (into, signal) => follow('/api/v1/pods', into, signal),
    budgets: (into, signal) => follow(`${BUDGETS}/poddisruptionbudgets`, into, signal),
    listPods: (namespace, each) => list(podsPath(namespace), each),
    listBudgets: (namespace, each) => list(`${BUDGETS}/namespaces/${namespace}/poddisruptionbudgets`, each),
  }
}
