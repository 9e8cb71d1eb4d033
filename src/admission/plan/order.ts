import { isInstaller } from '../hook/waiter.ts'
import { presets } from '../intent/presets.ts'
import type { Container } from '../pod/pod.ts'
import { type LineUp, type Member, startsNative } from './line-up.ts'

/** The containers in the order in which they have to be listed. */
export interface Order {
  readonly containers: readonly Container[]
  /** Without the waiter's own init container if that is still to be added. */
  readonly initContainers: readonly Container[]
}

/** By the names of their containers. */
export const meshProxies: ReadonlySet<string> = new Set(
  presets.filter(({ meshProxy }) => meshProxy).flatMap(({ containers }) => containers),
)

export function startOrder(lined: LineUp): Order {
  const members = lined.tiers.flat()
  const nativeMembers = members.filter((member) => startsNative(member, lined.intent))
  const natives = nativeMembers.map(({ container }) => container)
  const sidecars = members.filter((member) => !startsNative(member, lined.intent)).map(({ container }) => container)
  return {
    containers: regularOrder(sidecars, natives, lined),
    initContainers: initOrder(natives, lined, leaders(nativeMembers, lined)),
  }
}

/**
 * Sidecars first, all others in the order they have. In front of them stay mesh proxies that have a hook: a sidecar before one would talk to
 * a proxy that isn't there yet. Those come to the front, too, that another injector has put its container before.
 */
function regularOrder(
  sidecars: readonly Container[],
  natives: readonly Container[],
  { pod: { spec }, originals }: LineUp,
): readonly Container[] {
  const remaining = spec.containers.filter((container) => !natives.includes(container))
  if (sidecars.length === 0) return remaining
  const waiting = remaining.filter((container) => meshProxies.has(container.name) && originals.has(container))
  return [...new Set([...waiting.filter((proxy) => !sidecars.includes(proxy)), ...sidecars, ...remaining])]
}

/** The native sidecars that come before all other init containers, wherever the author has put them: the enforced ones with `native-position: first`. */
function leaders(natives: readonly Member[], { intent }: LineUp): readonly Container[] {
  if (intent.gate !== 'native' || intent.nativePosition !== 'first') return []
  const last = natives.findLastIndex(({ sidecar }) => sidecar.rule?.enforce)
  return natives.slice(0, last + 1).map(({ container }) => container)
}

/**
 * Restartable init containers keep their places, or move forward to be in the tiers' order: none moves behind an init container that may need it. Those that move in go right behind the sidecar they follow, else
 * right before the one they precede, else where `native-position` says.
 */
function initOrder(
  natives: readonly Container[],
  { pod: { spec }, intent: { nativePosition } }: LineUp,
  leaders: readonly Container[],
): readonly Container[] {
  if (natives.length === 0) return spec.initContainers
  const there = natives.filter(({ list }) => list === 'initContainers')
  const turns = new Map(there.map((container, turn) => [container, turn]))
  const order: Container[] = []
  let placed = 0
  for (const container of spec.initContainers) {
    const turn = turns.get(container)
    if (turn === undefined) order.push(container)
    else if (turn >= placed) {
      order.push(...there.slice(placed, turn + 1))
      placed = turn + 1
    }
  }

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
            : order.findIndex(isInstaller) + 1
    order.splice(place, 0, container)
  }
  return waiterFirst([...new Set([...leaders, ...order])], natives)
}

/** Our init container delivers what the natives' hooks run. */
function waiterFirst(order: readonly Container[], natives: readonly Container[]): readonly Container[] {
  const waiter = order.find(isInstaller)
  const first = order.find((container) => natives.includes(container))
  if (waiter === undefined || first === undefined || order.indexOf(waiter) < order.indexOf(first)) return order
  const others = order.filter((container) => container !== waiter)
  others.splice(others.indexOf(first), 0, waiter)
  return others
}
