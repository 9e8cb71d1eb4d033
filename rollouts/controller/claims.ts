import { isDeepStrictEqual } from 'node:util'
import { selecting } from '../../src/admission/pod/selector.ts'
import { withContainer } from '../members.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'

interface Claimant {
  rollout: SidecarRollout
  readonly selects: ReturnType<typeof selecting>
  /** The names of those that it matches. */
  readonly pods: Set<string>
}

/**
 * Which pods the rollouts of a namespace match, and which of the rollouts has a container of a pod. It is kept, since searching it at each look
 * would cost the product of rollouts, pods and selectors, which a person can make large.
 */
export class Claims {
  readonly #pods = new Map<string, SeenPod>()
  /** By uid. */
  readonly #claimants = new Map<string, Claimant>()
  /** The oldest rollout for a container, by that and the pod's name. */
  readonly #owners = new Map<string, Map<string, Claimant>>()

  /** A rollout, new or changed. Its selector and its container never change. */
  put(rollout: SidecarRollout) {
    const { uid } = rollout.metadata
    const known = this.#claimants.get(uid)
    if (!known) {
      const one = { rollout, selects: selecting(rollout.spec.selector), pods: new Set<string>() }
      this.#claimants.set(uid, one)
      for (const pod of this.#pods.values()) this.#match(one, pod)
      return
    }
    const wasAlive = isAlive(known)
    known.rollout = rollout
    if (wasAlive && !isAlive(known)) this.#release(known)
  }

  drop({ metadata: { uid } }: SidecarRollout) {
    const one = this.#claimants.get(uid)
    if (!one) return
    this.#claimants.delete(uid)
    this.#release(one)
  }

  /** A pod, as it was and as it is. @returns the rollouts that match or matched it */
  pod(was: SeenPod | undefined, is: SeenPod | undefined): readonly SidecarRollout[] {
    const name = (is ?? was)?.name ?? ''
    if (is) this.#pods.set(name, is)
    else this.#pods.delete(name)
    const isSame = is !== undefined && isDeepStrictEqual(was?.labels, is.labels)
    if (!isSame) for (const owners of this.#owners.values()) owners.delete(name)
    const concerned: SidecarRollout[] = []
    for (const one of this.#claimants.values()) {
      const matched = one.pods.has(name)
      if (!isSame) {
        one.pods.delete(name)
        if (is) this.#match(one, is)
      }
      if (matched || one.pods.has(name)) concerned.push(one.rollout)
    }
    return concerned
  }

  /** Those that a rollout matches. */
  podsOf({ metadata: { uid } }: SidecarRollout): readonly SeenPod[] {
    const names = this.#claimants.get(uid)?.pods ?? []
    return [...names].flatMap((name) => this.#pods.get(name) ?? [])
  }

  /** The name of an older rollout that claims the container of one of its pods. */
  claimedBy(rollout: SidecarRollout): string | undefined {
    const owners = this.#owners.get(rollout.spec.container)
    for (const { pod } of withContainer(rollout, this.podsOf(rollout))) {
      const owner = owners?.get(pod.name)?.rollout
      if (owner && isOlder(owner, rollout)) return owner.metadata.name
    }
    return undefined
  }

  #match(one: Claimant, { name, labels }: SeenPod) {
    if (!one.selects(labels)) return
    one.pods.add(name)
    const { container } = one.rollout.spec
    const owners = this.#owners.get(container) ?? new Map<string, Claimant>()
    this.#owners.set(container, owners)
    const owner = owners.get(name)
    if (isAlive(one) && (!owner || isOlder(one.rollout, owner.rollout))) owners.set(name, one)
  }

  /** What was its own is now the next one's. */
  #release(one: Claimant) {
    const { container } = one.rollout.spec
    const owners = this.#owners.get(container)
    const rivals = [...this.#claimants.values()]
      .filter((other) => other.rollout.spec.container === container && isAlive(other))
      .sort((a, b) => (isOlder(a.rollout, b.rollout) ? -1 : 1))
    for (const name of one.pods) {
      if (owners?.get(name) !== one) continue
      const heir = rivals.find(({ pods }) => pods.has(name))
      if (heir) owners.set(name, heir)
      else owners.delete(name)
    }
    if (owners?.size === 0) this.#owners.delete(container)
  }
}

/** One that is being deleted claims nothing. */
const isAlive = ({ rollout }: Claimant) => rollout.metadata.deletionTimestamp === undefined

/** Of two that are equally old, one must be: by name. */
function isOlder({ metadata: a }: SidecarRollout, { metadata: b }: SidecarRollout): boolean {
  const [first, second] = [Date.parse(a.creationTimestamp), Date.parse(b.creationTimestamp)]
  return first < second || (first === second && a.name < b.name)
}
