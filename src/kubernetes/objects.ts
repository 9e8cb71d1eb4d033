import {
  type createConfiguration,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
} from '@kubernetes/client-node'
import { call } from './call.ts'

/** An object of any kind; what else it has is up to its kind. */
export type ClusterObject = KubernetesObject

/** Which object. `namespace` is absent for kinds of the whole cluster. */
export interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** Objects of any kind, found by the API server's own discovery. Each call throws ClusterError. */
export interface Objects {
  read<T extends ClusterObject>(reference: Reference): Promise<T | undefined>
  /** All of a kind, in pages. Selectors as kubectl takes them; `namespace` undefined: of all namespaces. */
  list<T extends ClusterObject>(
    kind: { apiVersion: string; kind: string },
    selection?: { namespace?: string; labelSelector?: string; fieldSelector?: string },
  ): Promise<T[]>
  create<T extends ClusterObject>(object: T, options?: { dryRun?: boolean }): Promise<T>
  /** Server-side apply as `sidecar-first`; `force` takes fields that somebody else owns. */
  apply<T extends ClusterObject>(object: T, options?: { dryRun?: boolean; force?: boolean }): Promise<T>
  /** False when it wasn't there. Dependents go in the background. */
  remove(reference: Reference): Promise<boolean>
}

const MANAGER = 'sidecar-first'
const PAGE = 500

export function objects(configuration: ReturnType<typeof createConfiguration>): Objects {
  const api = new KubernetesObjectApi(configuration)
  const dry = (dryRun = false) => (dryRun ? 'All' : undefined)
  return {
    read: <T extends ClusterObject>({ apiVersion, kind, metadata }: Reference) =>
      call(() => api.read({ apiVersion, kind, metadata: { ...metadata } }) as Promise<T>, { optional: true }),
    async list<T extends ClusterObject>(
      { apiVersion, kind }: { apiVersion: string; kind: string },
      {
        namespace,
        labelSelector,
        fieldSelector,
      }: { namespace?: string; labelSelector?: string; fieldSelector?: string } = {},
    ) {
      const all: T[] = []
      let next: string | undefined
      do {
        const { items, metadata } = await call(() =>
          api.list<T>(
            apiVersion,
            kind,
            namespace,
            undefined,
            undefined,
            undefined,
            fieldSelector,
            labelSelector,
            PAGE,
            next,
          ),
        )
        all.push(...items)
        next = metadata?._continue || undefined
      } while (next !== undefined)
      return all
    },
    create: (object, { dryRun } = {}) => call(() => api.create(object, undefined, dry(dryRun), MANAGER)),
    apply: (object, { dryRun, force = false } = {}) =>
      call(() => api.patch(object, undefined, dry(dryRun), MANAGER, force, PatchStrategy.ServerSideApply)),
    async remove({ apiVersion, kind, metadata }) {
      const object = { apiVersion, kind, metadata: { ...metadata } }
      const gone = await call(() => api.delete(object, undefined, undefined, undefined, undefined, 'Background'), {
        optional: true,
      })
      return gone !== undefined
    },
  }
}
