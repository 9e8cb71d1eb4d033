import { formatCheck, isLoopback, type PolledCheck } from '../check/grammar.ts'
import { isProxyOf, type Mesh, meshes } from '../intent/meshes.ts'
import type { Container } from '../pod/pod.ts'
import type { Warning } from '../words/messages.ts'
import { hookGroups } from './gate.ts'
import { deadlockOf, withoutQuery } from './known-deadlocks.ts'
import { type LineUp, type Member, startsNative } from './line-up.ts'
import type { Order } from './order.ts'

/** A container without which a sidecar doesn't become ready, or may not, and which starts only behind the gate. */
export interface Obstacle {
  readonly needs: string
  readonly certain: boolean
}

export interface Obstacles {
  readonly bySidecar: ReadonlyMap<Container, Obstacle>
  readonly warnings: readonly Warning[]
}

/** Finds the sidecars that hold back what they themselves need. */
export function findObstacles(lined: LineUp, order: Order, locked: boolean): Obstacles {
  const sequence = [...order.initContainers, ...order.containers]
  const places = new Map(sequence.map((container, place) => [container, place]))
  const placeOf = (container: Container) => places.get(container) ?? -1
  const owners = portOwners(sequence)
  const proxies = meshes.flatMap((mesh) =>
    sequence.filter(({ name }) => isProxyOf(mesh, name)).map((container) => ({ mesh, container })),
  )
  const bySidecar = new Map<Container, Obstacle>()
  const warnings: Warning[] = []
  const sidecars = new Set(lined.tiers.flat().map(({ container }) => container))
  const app = lined.pod.spec.containers.find((container) => !sidecars.has(container))?.name ?? 'the app'
  const early = new Map<Container, Member[]>()

  for (const { member, gate } of gated(lined)) {
    const { container, sidecar, resolved } = member
    const { name } = sidecar
    const check = 'check' in resolved ? resolved.check : undefined
    const closed = locked || startsNative(member, lined.intent)
    const known = deadlockOf(container, check)
    if (known?.waitsFor === 'app' && check !== undefined && 'path' in check) {
      bySidecar.set(container, { needs: app, certain: true })
      const endpoint = withoutQuery(check.path)
      warnings.push({ kind: 'deadlock', name, endpoint, instead: formatCheck(known.instead) })
      continue
    }
    const behind = (other: Container) => placeOf(other) > placeOf(gate)
    const rewriter = proxies.find((proxy) => rewrites(proxy.mesh, check) && proxy.container !== container)
    const owner = rewriter?.container ?? owners(check, container)
    if (owner !== undefined && behind(owner)) {
      bySidecar.set(container, { needs: owner.name, certain: true })
      const listable = rewriter !== undefined || sidecars.has(owner)
      const mesh = rewriter?.mesh.title
      warnings.push({ kind: 'never-ready', name, needs: owner.name, closed, listable, ...(mesh && { mesh }) })
      continue
    }
    const proxy = proxies.find((each) => behind(each.container))?.container
    if (proxy === undefined || proxies.some((each) => each.container === container)) continue
    bySidecar.set(container, { needs: proxy.name, certain: false })
    early.set(proxy, [...(early.get(proxy) ?? []), member])
  }
  for (const [proxy, members] of early) {
    const names = members.map(({ sidecar }) => sidecar.name)
    const native = members.some((member) => startsNative(member, lined.intent))
    const instead = !native ? 'list' : proxy.list === 'containers' ? 'hook' : 'last'
    warnings.push({ kind: 'before-mesh-proxy', names, proxy: proxy.name, instead })
  }
  return { bySidecar, warnings }
}

/** Each sidecar that is waited for, and the container behind which nothing starts before it is ready. */
function gated(lined: LineUp): readonly { readonly member: Member; readonly gate: Container }[] {
  return hookGroups(lined).flatMap(({ members, carrier }) =>
    members.flatMap((member) => {
      const { kind } = member.resolved
      if (kind === 'none') return []
      return [{ member, gate: kind === 'startupProbe' ? member.container : (carrier ?? member).container }]
    }),
  )
}

function rewrites({ rewritten }: Mesh, check: PolledCheck | undefined): boolean {
  return (check?.kind === 'http' || check?.kind === 'https') && rewritten?.(check) === true
}

/** Finds the container whose port a check asks, if that isn't the sidecar itself; the first that has it. */
function portOwners(sequence: readonly Container[]) {
  const byPort = new Map<number, Container>()
  for (const container of sequence) {
    for (const { number } of container.ports) if (!byPort.has(number)) byPort.set(number, container)
  }
  return (check: PolledCheck | undefined, own: Container): Container | undefined => {
    if (check === undefined || !('port' in check) || !isLoopback(check.host)) return undefined
    if (own.ports.some(({ number }) => number === check.port)) return undefined
    return byPort.get(check.port)
  }
}
