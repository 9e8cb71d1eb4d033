import { failureKind } from '../../src/kubernetes/failure.ts'
import type { WirePod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'
import type { Cluster } from './cluster.ts'
import type { Decision, Shown, Step } from './decision.ts'
import { type Fetch, type FetchPod, fetchName, fetchPod } from './fetch.ts'
import type { Space } from './store.ts'

/** For so long a fetched image counts as there, in ms: kubelets remove unused ones, though no sooner than after some minutes. */
const THERE = 300_000
/** For so long another rollout's fetch is waited for, in ms. */
const UNDERWAY = 60_000
/** How often a pod that fetches may be refused before the namespace counts as one that can't have it. */
const REFUSALS = 3
/** After this time it is tried again, in ms. */
const REFUSED = 600_000

const NO_VOLUMES = 'the API server does not store image volumes'

type FetchStep = Extract<Step, { do: 'fetch' }>

/**
 * Has nodes pull images, for all rollouts: what one of them has fetched without secrets needs no pod of another. What is known here besides the
 * pods that fetch is forgotten with the process.
 */
export class Fetches {
  readonly #cluster: Cluster
  readonly #steady: () => number
  readonly #waiter: string
  /** By node and image: until when. */
  readonly #there = new Map<string, number>()
  readonly #underway = new Map<string, number>()
  /** When an API server last stored a pod without its image volume: before 1.35 none stores them, whatever rollout and node. */
  #dropped = Number.NEGATIVE_INFINITY
  /** By the name of the pod. */
  readonly #refusals = new Map<string, { times: number; why: string; at: number }>()

  /** @param waiter the image of the pods that fetch */
  constructor(cluster: Cluster, steady: () => number, waiter: string) {
    this.#cluster = cluster
    this.#steady = steady
    this.#waiter = waiter
  }

  /** What is known for a rollout. @param pods those that fetch in its namespace */
  of(rollout: SidecarRollout, pods: readonly FetchPod[]): Shown['fetchOf'] {
    const own = new Map<string, Fetch>()
    for (const { rollout: uid, node, image, isPublic, fetch } of pods) {
      const key = keyOf(node, image)
      if (uid === rollout.metadata.uid) own.set(key, fetch)
      if (fetch.is !== 'fetching') this.#underway.delete(key)
      if (fetch.is === 'there' && isPublic) this.#there.set(key, this.#steady() + THERE)
    }
    return (node, image, isPublic) => {
      const key = keyOf(node, image)
      const shared = isPublic ? this.#shared(key) : undefined
      return this.#refused(fetchName(rollout, node, image)) ?? own.get(key) ?? shared
    }
  }

  /** @returns false where another rollout has begun it since this was decided */
  async take(step: FetchStep, rollout: SidecarRollout, space: Space): Promise<boolean> {
    const key = keyOf(step.node, step.image)
    if (step.like.pullSecrets.length === 0) {
      if (this.#lasts(this.#underway, key)) return false
      this.#underway.set(key, this.#steady() + UNDERWAY)
    }
    let stored: WirePod | undefined
    try {
      stored = await this.#create(step, rollout)
    } finally {
      // Nobody else waits for what has failed or was refused.
      if (!stored) this.#underway.delete(key)
    }
    if (stored) space.learn(stored)
    return true
  }

  /** Removes the pods whose image is no longer needed. @param now by the API server's clock, in ms */
  async clear({ metadata }: SidecarRollout, space: Space, wanted: Decision['wanted'], now: number): Promise<void> {
    const needed = new Set(wanted.map(({ node, image }) => keyOf(node, image)))
    for (const { name, rollout, node, image, fetch } of space.fetches(now)) {
      const isNeeded = needed.has(keyOf(node, image)) && fetch.is !== 'expired'
      if (rollout !== metadata.uid || isNeeded) continue
      await this.#cluster.removePod(metadata.namespace, name)
      space.forget(name)
    }
  }

  /** @returns undefined if it was refused */
  async #create({ node, image, pullPolicy, like }: FetchStep, rollout: SidecarRollout): Promise<WirePod | undefined> {
    const { namespace } = rollout.metadata
    const made = { node, image, pullPolicy, pullSecrets: like.pullSecrets, waiter: this.#waiter }
    const pod = fetchPod(rollout, made)
    const { name } = pod.metadata
    const stored = await this.#cluster.createPod(namespace, pod).catch(async (error) => {
      const kind = failureKind(error)
      const found = kind === 'conflict' ? await this.#cluster.readPod(namespace, name) : undefined
      if (found) return found
      if (kind !== 'invalid' && kind !== 'forbidden') throw error
      // Something guards the namespace; a refusal by itself may pass.
      const times = kind === 'invalid' ? REFUSALS : (this.#refusals.get(name)?.times ?? 0) + 1
      const why = error instanceof Error ? error.message : String(error)
      this.#refusals.set(name, { times, why, at: this.#steady() })
      if (times < REFUSALS) throw error
      return undefined
    })
    if (stored === undefined || stored.spec.volumes?.some((volume) => volume.image)) return stored
    // An API server before 1.35 stores the pod without the volume: it would end at once, and fetch nothing. That is so whether it can be removed
    // or not; one that can't goes with its rollout.
    this.#dropped = this.#steady()
    await this.#cluster.removePod(namespace, name)
    return undefined
  }

  #refused(name: string): Fetch | undefined {
    if (this.#steady() - this.#dropped <= REFUSED) return { is: 'unable', why: NO_VOLUMES }
    const refused = this.#refusals.get(name)
    if (!refused || refused.times < REFUSALS || this.#steady() - refused.at > REFUSED) return undefined
    return { is: 'unable', why: refused.why }
  }

  /** What is known of an image that no pod of the rollout itself fetches to this node. */
  #shared(key: string): Fetch | undefined {
    if (this.#lasts(this.#there, key)) return { is: 'there' }
    return this.#lasts(this.#underway, key) ? { is: 'fetching' } : undefined
  }

  #lasts(some: Map<string, number>, key: string): boolean {
    const until = some.get(key)
    if (until === undefined) return false
    if (until > this.#steady()) return true
    some.delete(key)
    return false
  }
}

const keyOf = (node: string, image: string) => `${node} ${image}`
