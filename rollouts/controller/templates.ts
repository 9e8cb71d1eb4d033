import { failureKind } from '../../src/kubernetes/failure.ts'
import { sameName } from '../image.ts'
import { withContainer } from '../members.ts'
import { type Memory, maybeBorn } from '../memory.ts'
import type { WirePod } from '../seen-pod.ts'
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

/** Which workloads would still create pods with an image that the rollout replaces, asked for once it is complete; and which have its image. */
export class Templates {
  #known: Known | undefined
  /** What admission makes of an image when pods are created, and whose templates have been read for that. */
  #births: { readonly image: string; readonly asked: Set<string>; bornAs: string | undefined } | undefined

  /** What is known of it. */
  behind({ metadata }: SidecarRollout): readonly string[] {
    return this.#known?.generation === metadata.generation ? this.#known.behind : []
  }

  /** What a template has shown of the rollout's image. */
  bornAs = ({ spec }: SidecarRollout): string | undefined =>
    this.#births?.image === spec.image ? this.#births.bornAs : undefined

  /** Asks each owner once, and only of pods whose image looks like the rollout's. @returns whether something new is known */
  async lookAtBirths({ rollout, pods }: Pick<Shown, 'rollout' | 'pods'>, cluster: Cluster): Promise<boolean> {
    const { spec, metadata } = rollout
    if (this.#births?.image !== spec.image) this.#births = { image: spec.image, asked: new Set(), bornAs: undefined }
    const { asked, bornAs } = this.#births
    if (bornAs !== undefined) return false
    for (const { pod, container } of maybeBorn(rollout, withContainer(rollout, pods))) {
      const { kind = '', name = '' } = pod.owner ?? {}
      if (asked.has(`${kind}/${name}`) || asked.size >= OWNERS) continue
      asked.add(`${kind}/${name}`)
      const holder = await holderOf(cluster, metadata.namespace, kind, name).catch((error) => {
        if (failureKind(error) === 'forbidden') return undefined
        asked.delete(`${kind}/${name}`)
        throw error
      })
      const image = holder && imageIn(holder.template, spec.container)
      if (image === undefined || !sameName(image, spec.image)) continue
      this.#births.bornAs = container.image
      return true
    }
    return false
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
      const image = holder && imageIn(holder.template, spec.container)
      if (image && origins.some((origin) => sameName(origin, image))) behind.add(holder?.name ?? '')
    }
    this.#known = { at: steady, generation, owners, behind: [...behind].sort() }
    return !same || known.behind.join() !== this.#known.behind.join()
  }
}

const imageIn = ({ initContainers = [], containers = [] }: WirePod['spec'], container: string): string | undefined =>
  [...initContainers, ...containers].find(({ name }) => name === container)?.image

/** A ReplicaSet stands for its Deployment: where a release has changed that one, these pods go, and others come with their own owner. */
async function holderOf(cluster: Cluster, namespace: string, kind: string, name: string) {
  const found = await cluster.readWorkload(namespace, kind, name)
  const above =
    kind === 'ReplicaSet' ? found?.metadata?.ownerReferences?.find(({ controller }) => controller) : undefined
  const template = found?.spec?.template?.spec
  return template && { name: above ? `${above.kind} ${above.name}` : `${kind} ${name}`, template }
}
