import type { Intent } from './intent.ts'
import { type Member, type Originals, startsNative } from './members.ts'
import type { Container, Spec } from './pod.ts'
import { presets } from './presets.ts'
import { waiterName } from './waiter.ts'

/** The containers as they are to stand. */
export interface Order {
  readonly containers: readonly Container[]
  /** Without the waiter's own init container where that is still to be added. */
  readonly initContainers: readonly Container[]
}

/** By the names of their containers. */
export const meshProxies: ReadonlySet<string> = new Set(
  presets.filter(({ meshProxy }) => meshProxy).flatMap(({ containers }) => containers),
)

export function startOrder(
  tiers: readonly (readonly Member[])[],
  intent: Intent,
  spec: Spec,
  originals: Originals,
): Order {
  const members = tiers.flat()
  const natives = members.filter((member) => startsNative(member, intent)).map(({ container }) => container)
  const sidecars = members.filter((member) => !startsNative(member, intent)).map(({ container }) => container)
  return {
    containers: regularOrder(sidecars, natives, spec, originals),
    initContainers: initOrder(natives, intent, spec),
  }
}

/**
 * Sidecars first, all others in the order they have. A mesh proxy that already leads with a hook of its own stays in front: a sidecar
 * before it would talk to a proxy that isn't there.
 */
function regularOrder(
  sidecars: readonly Container[],
  natives: readonly Container[],
  spec: Spec,
  originals: Originals,
): readonly Container[] {
  const remaining = spec.containers.filter((container) => !natives.includes(container))
  const listed = new Set(sidecars)
  const behind = remaining.findIndex(
    (container) => listed.has(container) || !meshProxies.has(container.name) || !originals.has(container),
  )
  const proxies = behind < 0 ? remaining : remaining.slice(0, behind)
  return [...new Set([...proxies, ...sidecars, ...remaining])]
}

/**
 * Restartable init containers stay where they are, in the tiers' order. Those that move in go right behind the sidecar they follow, else
 * right before the one they precede, else where `native-position` says.
 */
function initOrder(natives: readonly Container[], { nativePosition }: Intent, spec: Spec): readonly Container[] {
  if (natives.length === 0) return spec.initContainers
  const there = natives.filter(({ list }) => list === 'initContainers')
  const slots = there.map(({ index }) => index).sort((a, b) => a - b)
  const order = spec.initContainers.slice()
  for (const [turn, slot] of slots.entries()) order[slot] = there[turn] ?? (order[slot] as Container)

  for (const [turn, container] of natives.entries()) {
    if (container.list === 'initContainers') continue
    const predecessor = natives[turn - 1]
    const successor = natives.slice(turn).find(({ list }) => list === 'initContainers')
    const place =
      predecessor !== undefined
        ? order.indexOf(predecessor) + 1
        : successor !== undefined
          ? order.indexOf(successor)
          : nativePosition === 'last'
            ? order.length
            : order.findIndex(({ name }) => name === waiterName) + 1
    order.splice(place, 0, container)
  }
  return waiterFirst(order, natives)
}

/** Our init container delivers what the natives' hooks run. */
function waiterFirst(order: readonly Container[], natives: readonly Container[]): readonly Container[] {
  const waiter = order.find(({ name }) => name === waiterName)
  const first = order.find((container) => natives.includes(container))
  if (waiter === undefined || first === undefined || order.indexOf(waiter) < order.indexOf(first)) return order
  const others = order.filter((container) => container !== waiter)
  others.splice(others.indexOf(first), 0, waiter)
  return others
}

/** The positions of a longest rising run: what stands there needn't move. */
export function longestRising(numbers: readonly number[]): ReadonlySet<number> {
  // Patience sorting: tails[k] is the position that ends the best run of length k + 1.
  const tails: number[] = []
  const previous: number[] = []
  for (const [position, number] of numbers.entries()) {
    let low = 0
    let high = tails.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((numbers[tails[middle] ?? 0] ?? 0) < number) low = middle + 1
      else high = middle
    }
    previous[position] = low > 0 ? (tails[low - 1] ?? -1) : -1
    tails[low] = position
  }
  const run = new Set<number>()
  for (let position = tails.at(-1) ?? -1; position >= 0; position = previous[position] ?? -1) run.add(position)
  return run
}
