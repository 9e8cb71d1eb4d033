import { type KubeConfig, PatchStrategy } from '@kubernetes/client-node'
import type { LabelSelector } from '../../src/admission/pod/selector.ts'
import { createClock } from '../../src/kubernetes/clock.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { ClusterError, failureKind, isMissingKind } from '../../src/kubernetes/failure.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { selectorText } from '../../src/kubernetes/selector.ts'
import { type SeenPod, seenPod, type WirePod } from '../seen-pod.ts'
import {
  API_GROUP,
  API_VERSION,
  CONTROLLER_LABELS,
  PLURAL,
  type RolloutStrategy,
  type SidecarRollout,
} from '../types.ts'
import type { StartRequest } from './request.ts'

/** What a command changes of a rollout's spec. */
export interface SpecChange {
  readonly image?: string
  readonly strategy: Partial<RolloutStrategy>
}

/** A best guess at a pod's past for a first look: the API doesn't record when a sidecar became ready. */
export function firstSeen(pod: WirePod): SeenPod {
  const { conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {}
  const ready = conditions.find(({ type }) => type === 'Ready')?.lastTransitionTime
  const starts = [...initContainerStatuses, ...containerStatuses].map(({ state }) => state?.running?.startedAt)
  return seenPod(pod, undefined, Math.max(0, ...[ready, ...starts].map((time) => Date.parse(time ?? '') || 0)))
}

export const installLine = 'sidecar-first install --rollouts --apply'
const owned = '?fieldManager=sidecar-first'

export type RolloutCluster = ReturnType<typeof rolloutCluster>

/** The calls that the command makes, in one namespace. Each throws ClusterError. */
export function rolloutCluster(kubeconfig: KubeConfig, namespace: string) {
  const clock = createClock()
  const configuration = connection(kubeconfig, { timeout: 30_000, heard: clock.heard })
  const calls = rawCalls(configuration)
  const path = `/apis/${API_GROUP}/${API_VERSION}/namespaces/${namespace}/${PLURAL}`
  const one = (name: string) => `${path}/${encodeURIComponent(name)}`
  let former = new Map<string, SeenPod>()

  async function listPods(selector: LabelSelector): Promise<SeenPod[]> {
    const found = new Map<string, SeenPod>()
    const labelSelector = selectorText(selector)
    for await (const pod of calls.items<WirePod>(`/api/v1/namespaces/${namespace}/pods`, { labelSelector })) {
      found.set(pod.metadata.name, seenPod(pod, former.get(pod.metadata.name) ?? firstSeen(pod), clock.now()))
    }
    former = found
    return [...found.values()]
  }

  return {
    /** The API server's clock, in ms. */
    now: clock.now,
    read: (name: string) => known(calls.find<SidecarRollout>(one(name))),
    list: async () => (await known(calls.get<{ items: SidecarRollout[] }>(path))).items,
    /** The pods that the selector matches; undefined if they can't be listed. */
    pods: (selector: LabelSelector) => allowed(listPods(selector)),
    /** Server-side apply, with force: takes over fields that others own. */
    apply(request: StartRequest): Promise<SidecarRollout> {
      const where = `${one(request.metadata.name)}${owned}&force=true`
      return known(calls.patch(where, request, PatchStrategy.ServerSideApply))
    },
    change: (name: string, spec: SpecChange): Promise<SidecarRollout> =>
      known(calls.patch(`${one(name)}${owned}`, { spec }, PatchStrategy.MergePatch)),
    /** Deletes this very rollout; no pod changes. */
    remove: ({ metadata: { name, uid } }: SidecarRollout) => known(calls.remove(one(name), { preconditions: { uid } })),
    /** Whether the controller's Deployment exists in any namespace; undefined if that can't be listed. */
    async hasController(): Promise<boolean | undefined> {
      const query = { labelSelector: CONTROLLER_LABELS }
      const found = await allowed(calls.get<{ items: unknown[] }>('/apis/apps/v1/deployments', query))
      return found && found.items.length > 0
    },
  }
}

/** Undefined if the call is forbidden. */
const allowed = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error) => {
    if (failureKind(error) === 'forbidden') return undefined
    throw error
  })

/** @throws ClusterError that says how to install the kind, if the cluster doesn't have it */
const known = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error) => {
    if (!isMissingKind(error)) throw error
    const why = `the cluster does not know SidecarRollout yet; install it and its controller: ${installLine}`
    throw new ClusterError('missing', why)
  })
