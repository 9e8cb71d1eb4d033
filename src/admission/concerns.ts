import { isLoopback, type PolledCheck } from './check.ts'
import type { Surroundings } from './decision.ts'
import type { DeliveryPlan } from './delivery.ts'
import type { Intent } from './intent.ts'
import { keys } from './keys.ts'
import { type Member, startsNative, waits } from './members.ts'
import { meshProxies, type Order } from './order.ts'
import type { Container, Metadata, Spec } from './pod.ts'
import type { Warning } from './warning.ts'

/** What a plan does that bites later, each with the way out. */
export function concerns(
  tiers: readonly (readonly Member[])[],
  intent: Intent,
  order: Order,
  delivery: DeliveryPlan,
  spec: Spec,
  metadata: Metadata,
  surroundings: Surroundings,
): readonly Warning[] {
  const members = tiers.flat()
  const regular = members.filter((member) => !startsNative(member, intent))
  const warnings: Warning[] = []
  const bites = (text: string) => warnings.push({ severity: 'bites-later', text })

  if ((surroundings.job || metadata.ownedByJob) && regular.length > 0) {
    bites(`${names(regular)} runs on, so the Job never completes; set ${keys.gate}: native`)
  }
  for (const { sidecar } of regular) {
    const later = members.slice(members.findIndex((member) => member.sidecar === sidecar))
    const early = later.find((member) => startsNative(member, intent))
    if (early !== undefined) {
      const that = `${early.sidecar.name} is an init container and starts before ${sidecar.name}`
      bites(`${that}, whatever the order says; set ${keys.gate}: native`)
    }
  }
  const [leader] = order.containers
  const moved = members.filter(({ container }) => container.list === 'containers' && intent.gate === 'native')
  if (leader !== undefined && moved.length > 0 && meshProxies.has(leader.name)) {
    bites(
      `${names(moved)} starts before the mesh proxy ${leader.name}, which is no native sidecar: use ${keys.gate}: hook`,
    )
  }
  const gated = regular.filter(waits)
  if (spec.restartPolicy !== 'Always' && gated.length > 0) {
    // One that exits 0 when it is killed isn't restarted under OnFailure either.
    const stays = spec.restartPolicy === 'Never' ? 'stays' : 'may stay'
    bites(
      `restartPolicy is ${spec.restartPolicy}: if ${names(gated)} isn't ready in time it ${stays} down, and the app starts without it`,
    )
  }
  for (const { sidecar, resolved } of members) {
    if (spec.hostNetwork && resolved.kind === 'polled' && onLoopback(resolved.check)) {
      bites(`hostNetwork: the check of ${sidecar.name} asks the node's loopback, where another process may answer`)
    }
  }
  warnings.push(...movedPorts(order, spec))
  if (
    delivery.volume !== undefined &&
    'emptyDir' in Object(delivery.volume) &&
    !spec.volumes.some(({ emptyDir }) => emptyDir)
  ) {
    const text =
      'the waiter adds an emptyDir: kubectl drain asks for --delete-emptydir-data, and the cluster autoscaler for cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: sidecar-first-waiter'
    warnings.push({ severity: 'costs', text })
  }
  return warnings
}

function onLoopback(check: PolledCheck): boolean {
  switch (check.kind) {
    case 'http':
    case 'https':
    case 'tcp':
    case 'grpc':
      return isLoopback(check.host)
    case 'unix':
    case 'file':
    case 'exec':
      return false
    default:
      return check satisfies never
  }
}

function names(members: readonly Member[]): string {
  return members.map(({ sidecar }) => sidecar.name).join(', ')
}

/** A Service's named targetPort takes the first container with the name, native sidecars last (podutil.FindPort). */
function movedPorts({ containers, initContainers }: Order, spec: Spec): readonly Warning[] {
  const isNative = ({ restartPolicy }: Container) => restartPolicy === 'Always'
  const before = portOwners([...spec.containers, ...spec.initContainers.filter(isNative)])
  const natives = initContainers.filter((container) => container.list === 'containers' || isNative(container))
  const after = portOwners([...containers, ...natives])
  return [...before].flatMap(([port, owner]) => {
    const now = after.get(port)
    if (now === undefined || now === owner) return []
    const text = `a Service's targetPort ${port} now means ${now.name} and no longer ${owner.name}: both have a port of that name`
    return [{ severity: 'bites-later' as const, text }]
  })
}

function portOwners(containers: readonly Container[]): ReadonlyMap<string, Container> {
  const owners = new Map<string, Container>()
  for (const container of containers) {
    for (const { name } of container.ports) if (name !== '' && !owners.has(name)) owners.set(name, container)
  }
  return owners
}
