import { sameName } from '../image.ts'
import type { Memory } from '../memory.ts'
import type { SidecarRollout } from '../types.ts'
import type { Cluster } from './cluster.ts'
import type { Shown } from './decision.ts'

/** How long an answer holds, in ms: templates change with releases. */
const FRESH = 600_000
/** Of how many owners the templates are read. */
const OWNERS = 10

interface Known {
  readonly at: number
  readonly generation: number
  /** Whose templates were read: a release has new owners. */
  readonly owners: string
  readonly behind: readonly string[]
}

/** Which workloads would still create pods with an image that the rollout replaces; asked for once it is complete. */
export class Templates {
  #known: Known | undefined

  /** What is known of it. */
  behind({ metadata }: SidecarRollout): readonly string[] {
    return this.#known?.generation === metadata.generation ? this.#known.behind : []
  }

  /** @returns whether something new is known */
  async look(
    { rollout: { metadata, spec }, pods }: Pick<Shown, 'rollout' | 'pods'>,
    { origins = [] }: Memory,
    { cluster, steady }: { cluster: Cluster; steady: number },
  ): Promise<boolean> {
    const { generation, namespace } = metadata
    const known = this.#known
    const same = known?.generation === generation
    const found = new Map(pods.flatMap(({ owner }) => (owner ? [[`${owner.kind}/${owner.name}`, owner] as const] : [])))
    const owners = [...found.keys()].sort().join()
    if (same && known.owners === owners && steady - known.at < FRESH) return false
    const behind = new Set<string>()
    for (const owner of [...found.values()].slice(0, OWNERS)) {
      const holder = await holderOf(cluster, namespace, owner.kind, owner.name)
      const containers = [...(holder?.template?.initContainers ?? []), ...(holder?.template?.containers ?? [])]
      const image = containers.find(({ name }) => name === spec.container)?.image
      if (image && origins.some((origin) => sameName(origin, image))) behind.add(holder?.name ?? '')
    }
    this.#known = { at: steady, generation, owners, behind: [...behind].sort() }
    return !same || known.behind.join() !== this.#known.behind.join()
  }
}

/** A ReplicaSet stands for its Deployment: where a release has changed that one, these pods go, and others come with their own owner. */
async function holderOf(cluster: Cluster, namespace: string, kind: string, name: string) {
  const found = await cluster.readWorkload(namespace, kind, name)
  const above =
    kind === 'ReplicaSet' ? found?.metadata?.ownerReferences?.find(({ controller }) => controller) : undefined
  const template = found?.spec?.template?.spec
  return template && { name: above ? `${above.kind} ${above.name}` : `${kind} ${name}`, template }
}
