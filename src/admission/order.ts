import type { Member, Originals } from './members.ts'
import type { Spec } from './pod.ts'

const meshProxies: ReadonlySet<string> = new Set(['istio-proxy', 'linkerd-proxy', 'consul-dataplane', 'kuma-sidecar'])

/**
 * For each place of `spec.containers`, the index of the container that is to stand there: sidecars first, tier by tier, all others in
 * the order they have. A mesh proxy that already leads with a hook of its own stays in front.
 */
export function startOrder(tiers: readonly (readonly Member[])[], spec: Spec, originals: Originals): readonly number[] {
  const sidecars = tiers.flat().flatMap(({ container }) => (container.list === 'containers' ? [container] : []))
  const listed = new Set(sidecars)
  const leading = spec.containers.findIndex(
    (container) => listed.has(container) || !meshProxies.has(container.name) || originals.get(container) === undefined,
  )
  const proxies = leading < 0 ? spec.containers : spec.containers.slice(0, leading)
  const first = new Set([...proxies, ...sidecars])
  return [...first, ...spec.containers.filter((container) => !first.has(container))].map(({ index }) => index)
}

/** Positions (in `order`) of a longest run of containers that already stand in the right order: these needn't move. */
export function longestInOrder(order: readonly number[]): ReadonlySet<number> {
  // Patience sorting: tails[k] is the position that ends the best run of length k + 1.
  const tails: number[] = []
  const previous: number[] = []
  for (const [position, index] of order.entries()) {
    let low = 0
    let high = tails.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((order[tails[middle] ?? 0] ?? 0) < index) low = middle + 1
      else high = middle
    }
    previous[position] = low > 0 ? (tails[low - 1] ?? -1) : -1
    tails[low] = position
  }
  const run = new Set<number>()
  for (let position = tails.at(-1) ?? -1; position >= 0; position = previous[position] ?? -1) run.add(position)
  return run
}
