import { type KubeConfig, PatchStrategy } from '@kubernetes/client-node'
import { type SeenPod, seenPod, type WirePod } from '../../rollouts/pod.ts'
import { API_GROUP, API_VERSION, PLURAL, type RolloutStrategy, type SidecarRollout } from '../../rollouts/types.ts'
import type { LabelSelector } from '../admission/selector.ts'
import { createClock } from '../kubernetes/clock.ts'
import { connection } from '../kubernetes/connection.ts'
import { ClusterError, failureKind, isMissingKind } from '../kubernetes/failure.ts'
import { rawCalls } from '../kubernetes/raw.ts'
import type { StartRequest } from './request.ts'
import { selectorText } from './selector.ts'

/** What the command does to a cluster, in one namespace. Each call throws ClusterError. */
export interface RolloutCluster {
  read(name: string): Promise<SidecarRollout | undefined>
  list(): Promise<SidecarRollout[]>
  /** Those that the selector matches; undefined where they can't be listed. */
  pods(selector: LabelSelector): Promise<SeenPod[] | undefined>
  /** Server-side apply; takes fields that others own. */
  apply(request: StartRequest): Promise<SidecarRollout>
  change(name: string, strategy: Partial<RolloutStrategy>): Promise<SidecarRollout>
  /** Whether the controller's Deployment is anywhere; undefined where that can't be seen. */
  hasController(): Promise<boolean | undefined>
  /** The API server's clock, in ms. */
  now(): number
}

export const installLine = 'sidecar-first install --rollouts --apply'
const owned = '?fieldManager=sidecar-first'

export function rolloutCluster(kubeconfig: KubeConfig, namespace: string): RolloutCluster {
  const clock = createClock()
  const configuration = connection(kubeconfig, { timeout: 30_000, heard: clock.heard })
  const calls = rawCalls(configuration)
  const path = `/apis/${API_GROUP}/${API_VERSION}/namespaces/${namespace}/${PLURAL}`
  const one = (name: string) => `${path}/${encodeURIComponent(name)}`
  let former = new Map<string, SeenPod>()

  async function listPods(selector: LabelSelector): Promise<SeenPod[]> {
    const found = new Map<string, SeenPod>()
    const pages = calls.pages<WirePod>(`/api/v1/namespaces/${namespace}/pods`, {
      labelSelector: selectorText(selector),
    })
    for await (const { items } of pages) {
      for (const pod of items) found.set(pod.metadata.name, seenPod(pod, former.get(pod.metadata.name), clock.now()))
    }
    former = found
    return [...found.values()]
  }

  return {
    now: clock.now,
    read: (name) => known(calls.find<SidecarRollout>(one(name))),
    list: async () => (await known(calls.get<{ items: SidecarRollout[] }>(path))).items,
    apply: (request) =>
      known(calls.patch(`${one(request.metadata.name)}${owned}&force=true`, request, PatchStrategy.ServerSideApply)),
    change: (name, strategy) =>
      known(calls.patch(`${one(name)}${owned}`, { spec: { strategy } }, PatchStrategy.MergePatch)),
    pods: (selector) => allowed(listPods(selector)),
    async hasController() {
      const labelSelector = 'app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=rollouts'
      const found = await allowed(calls.get<{ items: unknown[] }>('/apis/apps/v1/deployments', { labelSelector }))
      return found && found.items.length > 0
    },
  }
}

/** Undefined where it may not be seen. */
async function allowed<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (failureKind(error) === 'forbidden') return undefined
    throw error
  }
}

/** @throws ClusterError that says how the kind comes to the cluster, where it isn't there */
async function known<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!isMissingKind(error)) throw error
    throw new ClusterError(
      'missing',
      `the cluster has no SidecarRollout yet; ${installLine} brings it and its controller`,
    )
  }
}
