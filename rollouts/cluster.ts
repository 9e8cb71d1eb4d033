import { type KubeConfig, PatchStrategy } from '@kubernetes/client-node'
import { type Report, writeEvent } from '../src/kubernetes/event.ts'
import type { RawCalls } from '../src/kubernetes/raw.ts'
import type { WireFetchPod } from './fetch.ts'
import type { Mirrored, WireObject } from './mirror.ts'
import { mirror } from './mirror.ts'
import type { SeenContainer, SeenPod, WirePod } from './pod.ts'
import { type Touch, touchKey, writeTouch } from './record.ts'
import { API_GROUP, API_VERSION, PLURAL, type RolloutStatus, type SidecarRollout } from './types.ts'

/** A PodDisruptionBudget as it comes over the wire. */
export interface WireBudget extends WireObject {
  readonly spec: { readonly selector?: { matchLabels?: Record<string, string> } }
  readonly status?: { readonly disruptionsAllowed?: number; readonly desiredHealthy?: number }
}

/** All calls that the controller makes. Each throws ClusterError. */
export interface Cluster {
  readRollout(namespace: string, name: string): Promise<SidecarRollout | undefined>
  /** As a whole, and only over the version that was seen: otherwise a conflict. */
  writeStatus(rollout: SidecarRollout, status: RolloutStatus): Promise<SidecarRollout>
  readPod(namespace: string, name: string): Promise<WirePod | undefined>
  /** The image and the note about it, if the pod still is as it was seen: otherwise it's `invalid`. */
  touchPod(pod: SeenPod, container: SeenContainer, touch: Touch): Promise<WirePod>
  /** A `conflict` when it's there already. */
  createPod(namespace: string, pod: object): Promise<WirePod & WireFetchPod>
  removePod(namespace: string, name: string): Promise<void>
  report(rollout: SidecarRollout, report: Report, now: number): Promise<void>
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
    touchPod(pod, container, touch) {
      const at = `/spec/${container.list}/${container.index}`
      const key = touchKey(container.name).replaceAll('~', '~0').replaceAll('/', '~1')
      const body = [
        { op: 'test', path: '/metadata/uid', value: pod.uid },
        // Annotations are made only where there are none, and so nobody else's may have come in between.
        ...(pod.annotated
          ? []
          : [
              { op: 'test', path: '/metadata/resourceVersion', value: pod.version },
              { op: 'add', path: '/metadata/annotations', value: {} },
            ]),
        { op: 'test', path: `${at}/name`, value: container.name },
        { op: 'test', path: `${at}/image`, value: touch.from },
        { op: 'replace', path: `${at}/image`, value: touch.to },
        { op: 'add', path: `/metadata/annotations/${key}`, value: writeTouch(touch) },
      ]
      return calls.patch(`${podsPath(pod.namespace)}/${pod.name}`, body, PatchStrategy.JsonPatch)
    },
    createPod: (namespace, pod) => calls.create(podsPath(namespace), pod),
    async removePod(namespace, name) {
      await calls.remove(`${podsPath(namespace)}/${name}`)
    },
    report({ apiVersion, kind, metadata: { namespace, name, uid, resourceVersion } }, report, now) {
      const about = { apiVersion, kind, namespace, name, uid, resourceVersion }
      return writeEvent(calls, about, report, { component: 'sidecar-first-rollouts', now })
    },
  }
}

export interface Mirrors {
  rollouts(into: Mirrored<SidecarRollout>, signal: AbortSignal): Promise<void>
  pods(namespace: string, into: Mirrored<WirePod & WireFetchPod>, signal: AbortSignal): Promise<void>
  budgets(namespace: string, into: Mirrored<WireBudget>, signal: AbortSignal): Promise<void>
}

export function mirrors(
  kubeconfig: KubeConfig,
  calls: RawCalls,
  more: Pick<Parameters<typeof mirror>[0], 'resync' | 'failed'>,
): Mirrors {
  const follow = <T extends WireObject>(path: string, into: Mirrored<T>, signal: AbortSignal) =>
    mirror<T>({ ...more, kubeconfig, calls, path, into, signal })
  return {
    rollouts: (into, signal) => follow(`${ROLLOUTS}/${PLURAL}`, into, signal),
    pods: (namespace, into, signal) => follow(podsPath(namespace), into, signal),
    budgets: (namespace, into, signal) =>
      follow(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, into, signal),
  }
}
