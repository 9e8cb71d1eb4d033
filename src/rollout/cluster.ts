import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import { type SeenPod, seenPod, type WirePod } from '../../rollouts/pod.ts'
import { API_GROUP, API_VERSION, PLURAL, type RolloutStrategy, type SidecarRollout } from '../../rollouts/types.ts'
import type { LabelSelector } from '../admission/selector.ts'
import { call } from '../kubernetes/call.ts'
import { connection } from '../kubernetes/connection.ts'
import { ClusterError, failureKind } from '../kubernetes/failure.ts'
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
const MANAGER = 'sidecar-first'
const PAGE = 500

export function rolloutCluster(kubeconfig: KubeConfig, namespace: string): RolloutCluster {
  let skew = 0
  const configuration = connection(kubeconfig, {
    timeout: 30_000,
    heard: (date) => {
      // Its answers tell whole seconds: a small difference is none.
      skew = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0
    },
  })
  const custom = new CustomObjectsApi(configuration)
  const core = new CoreV1Api(configuration)
  const where = { group: API_GROUP, version: API_VERSION, namespace, plural: PLURAL }
  const as = (type: string) => setHeaderOptions('Content-Type', type)
  let former = new Map<string, SeenPod>()
  const now = () => Date.now() + skew
  return {
    now,
    read: (name) => known(call(() => custom.getNamespacedCustomObject({ ...where, name }), { optional: true })),
    list: async () => (await known(call(() => custom.listNamespacedCustomObject(where)))).items,
    apply: (body) =>
      known(
        call(() =>
          custom.patchNamespacedCustomObject(
            { ...where, name: body.metadata.name, body, fieldManager: MANAGER, force: true },
            as(PatchStrategy.ServerSideApply),
          ),
        ),
      ),
    change: (name, strategy) =>
      known(
        call(() =>
          custom.patchNamespacedCustomObject(
            { ...where, name, body: { spec: { strategy } }, fieldManager: MANAGER },
            as(PatchStrategy.MergePatch),
          ),
        ),
      ),
    async pods(selector) {
      const labelSelector = selectorText(selector)
      const found = new Map<string, SeenPod>()
      let next: string | undefined
      try {
        do {
          const page = await call(() =>
            core.listNamespacedPod({ namespace, labelSelector, limit: PAGE, ...(next && { _continue: next }) }),
          )
          for (const pod of page.items) {
            const seen = seenPod(wire(pod), former.get(pod.metadata?.name ?? ''), now())
            found.set(seen.name, seen)
          }
          next = page.metadata?._continue || undefined
        } while (next !== undefined)
      } catch (error) {
        if (failureKind(error) === 'forbidden') return undefined
        throw error
      }
      former = found
      return [...found.values()]
    },
    async hasController() {
      const labelSelector = 'app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=rollouts'
      try {
        const apps = new AppsV1Api(configuration)
        const { items } = await call(() => apps.listDeploymentForAllNamespaces({ labelSelector }))
        return items.length > 0
      } catch (error) {
        if (error instanceof ClusterError) return undefined
        throw error
      }
    },
  }
}

/** As it came over the wire, with times as text. */
const wire = (pod: object): WirePod => JSON.parse(JSON.stringify(pod))

/** A 404 that isn't about an object is about the kind. */
async function known<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (failureKind(error) !== 'missing' || (error instanceof Error && error.message.includes('" not found')))
      throw error
    throw new ClusterError(
      'missing',
      `the cluster has no SidecarRollout yet; ${installLine} brings it and its controller`,
    )
  }
}
