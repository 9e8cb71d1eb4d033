import type { Life, LifeOf } from '../sidecar-state.ts'

/** A kubelet renews its Lease every 10 s; a longer gap, by its own clock, is a silence, in ms. */
const SILENCE = 20_000
/** What nobody has asked for so long is forgotten, in ms. */
const FORGOTTEN = 600_000

const SIGNS = 20

interface Known {
  readonly renewed: string
  readonly looked: number
  /** The signs of life: each renewal that was seen to follow another. */
  readonly signs: readonly Life[]
}

/** Signs of life of kubelets, by the renewals of their nodes' Leases. Clocks of nodes are only ever compared with themselves. */
export class Lives {
  readonly #nodes = new Map<string, Known>()

  /** @param renewed the Lease's `renewTime`; undefined where a node has none, or it may not be read: such a node is taken to live */
  saw(node: string, renewed: string | undefined, now: number) {
    for (const [name, { looked }] of this.#nodes) if (now - looked > FORGOTTEN) this.#nodes.delete(name)
    const known = this.#nodes.get(node)
    const isSign = renewed === undefined || (known !== undefined && known.renewed !== renewed)
    const gap = Date.parse(renewed ?? '') - Date.parse(known?.renewed ?? '')
    const sign = isSign ? [{ at: now, afterSilence: gap > SILENCE }] : []
    const signs = [...(known?.signs ?? []), ...sign].slice(-SIGNS)
    this.#nodes.set(node, { renewed: renewed ?? '', looked: now, signs })
  }

  readonly of: LifeOf = (node, since) => {
    const signs = this.#nodes.get(node)?.signs.filter(({ at }) => at > since) ?? []
    // After a silence the time begins anew.
    return signs.findLast(({ afterSilence }) => afterSilence) ?? signs[0]
  }
}
