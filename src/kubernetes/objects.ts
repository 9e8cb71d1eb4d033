import { type KubernetesObject, PatchStrategy, type V1APIResourceList } from '@kubernetes/client-node'
import { ClusterError } from './failure.ts'
import { objectNames } from './names.ts'
import { type Paging, rawCalls } from './raw.ts'

/** An object of any kind; what else it has is up to its kind. */
export type ClusterObject = KubernetesObject

/** Which object. `namespace` is absent for kinds of the whole cluster. */
export interface Reference {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

type Kind = Omit<Reference, 'metadata'>

interface Selection {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export type Objects = ReturnType<typeof objects>

/**
 * Objects of any kind, found through the API server's discovery. Each call throws ClusterError.
 * They are exactly as they go over the wire: the client's classes drop fields that they don't know, or
 * know under another name (a definition's `x-kubernetes-…`, a NetworkPolicy's `from`). So times are texts, whatever the type says.
 */
export function objects(...connected: Parameters<typeof rawCalls>) {
  const calls = rawCalls(...connected)
  const discovered = new Map<string, V1APIResourceList>()

  /** The path of a kind's objects; `/name` follows. @throws ClusterError `missing` if the cluster doesn't know the kind */
  async function collection(apiVersion: string, kind: string, namespace: string | undefined): Promise<string> {
    const root = `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}`
    const found = discovered.get(root) ?? (await calls.get<V1APIResourceList>(root))
    discovered.set(root, found)
    const resource = found.resources.find((each) => each.kind === kind && !each.name.includes('/'))
    if (resource === undefined) throw new ClusterError('missing', 'the API server answered 404')
    const where = resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
    return `${root}${where}/${resource.name}`
  }
  async function pathOf({ apiVersion, kind, metadata: { name, namespace } }: Reference): Promise<string> {
    return `${await collection(apiVersion, kind, namespace)}/${encodeURIComponent(name)}`
  }
  const queryOf = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`
  const dry = (dryRun = false): Record<string, string> => (dryRun ? { dryRun: 'All' } : {})

  return {
    read: async <T extends ClusterObject>(reference: Reference) => calls.find<T>(await pathOf(reference)),
    /** All objects of a kind. Selectors are as in kubectl; without `namespace`, all namespaces. */
    async list<T extends ClusterObject>({ apiVersion, kind }: Kind, { namespace, ...selectors }: Selection = {}) {
      const path = await collection(apiVersion, kind, namespace)
      const all: T[] = []
      for await (const item of calls.items<T>(path, selectors)) all.push(item)
      return all
    },
    /** The same one at a time: of what isn't asked for no more than a page is read. */
    async *items<T extends ClusterObject>(
      { apiVersion, kind }: Kind,
      { namespace, ...selectors }: Selection = {},
      paging: Paging = {},
    ): AsyncIterable<T> {
      const path = await collection(apiVersion, kind, namespace)
      yield* calls.items<T>(path, selectors, { expired: () => {}, ...paging })
    },
    async create<T extends ClusterObject>(object: T, { dryRun }: { dryRun?: boolean } = {}) {
      const path = await collection(object.apiVersion ?? '', object.kind ?? '', object.metadata?.namespace)
      return await calls.create<T>(path + queryOf({ fieldManager: objectNames.fieldManager, ...dry(dryRun) }), object)
    },
    /** Server-side apply as `sidecar-first`; `force` takes fields that others own. */
    async apply<T extends ClusterObject>(
      object: T,
      { dryRun, force = false }: { dryRun?: boolean; force?: boolean } = {},
    ) {
      const query = queryOf({ fieldManager: objectNames.fieldManager, force: String(force), ...dry(dryRun) })
      return await calls.patch<T>((await pathOf(object as Reference)) + query, object, PatchStrategy.ServerSideApply)
    },
    /** false if it didn't exist. Dependents are removed in the background. */
    remove: async (reference: Reference): Promise<boolean> =>
      calls.remove(await pathOf(reference), { propagationPolicy: 'Background' }),
    /** The last hundred lines of a pod's log. */
    log({ namespace, name }: { readonly namespace: string; readonly name: string }): Promise<string> {
      const pod = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
      return calls.text(`${pod}/log`, { tailLines: '100', limitBytes: `${64 * 1024}` })
    },
  }
}
