import type { Step } from './decision.ts'
import type { Fetch, FetchPod } from './fetch.ts'

/** For so long a fetched image counts as there, in ms: kubelets remove unused ones, though no sooner than after some minutes. */
const THERE = 300_000
/** For so long another rollout's fetch is waited for, in ms. */
const UNDERWAY = 60_000

/**
 * The images that were fetched to nodes, for all rollouts: what one of them has fetched without secrets needs no pod of another. Forgotten with
 * the process.
 */
export class Images {
  readonly #steady: () => number
  /** By node and image: until when. */
  readonly #there = new Map<string, number>()
  readonly #underway = new Map<string, number>()

  constructor(steady: () => number) {
    this.#steady = steady
  }

  seen({ node, image, isPublic, fetch }: FetchPod) {
    const key = keyOf(node, image)
    if (fetch.is === 'fetching') return
    this.#underway.delete(key)
    if (fetch.is === 'there' && isPublic) this.#there.set(key, this.#steady() + THERE)
  }

  began({ node, image, like }: Extract<Step, { do: 'fetch' }>) {
    if (like.pullSecrets.length === 0) this.#underway.set(keyOf(node, image), this.#steady() + UNDERWAY)
  }

  isUnderway({ node, image, like }: Extract<Step, { do: 'fetch' }>): boolean {
    return like.pullSecrets.length === 0 && this.#lasts(this.#underway, keyOf(node, image))
  }

  /** Nothing came of it. */
  ended({ node, image }: Extract<Step, { do: 'fetch' }>) {
    this.#underway.delete(keyOf(node, image))
  }

  /** What is known of an image that no pod of the rollout itself fetches to this node. */
  of(node: string, image: string): Fetch | undefined {
    const key = keyOf(node, image)
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
