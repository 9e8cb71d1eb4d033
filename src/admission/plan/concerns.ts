import { isLoopback, type PolledCheck } from '../check/grammar.ts'
import { isNative, kindOf, restartPolicyOf } from '../pod/kind.ts'
import type { Container, Spec } from '../pod/pod.ts'
import type { Surroundings } from '../pod/surroundings.ts'
import { keys } from '../words/keys.ts'
import { mostProblems } from '../words/limits.ts'
import type { Warning } from '../words/messages.ts'
import type { Delivery } from './delivery.ts'
import type { EndParts } from './end.ts'
import { type LineUp, type Member, startsNative, waits } from './line-up.ts'
import type { Lock } from './lock.ts'
import type { Order } from './order.ts'

/** What a plan does that may hurt later, each with the way out. */
export function concerns(
  { pod, intent, tiers }: LineUp,
  order: Order,
  { delivery, lock, ends }: { readonly delivery: Delivery; readonly lock: Lock; readonly ends: EndParts },
  surroundings: Surroundings,
): readonly Warning[] {
  const { metadata, spec } = pod
  const members = tiers.flat()
  const regular = members.filter((member) => !startsNative(member, intent))
  const warnings: Warning[] = []

  if ((surroundings.job || metadata.ownedByJob) && regular.length > 0) {
    warnings.push({ kind: 'job-never-completes', names: namesOf(regular) })
  }
  for (const member of regular) {
    const early = members.slice(members.indexOf(member)).find((later) => startsNative(later, intent))
    if (early === undefined) continue
    warnings.push({ kind: 'init-container-first', name: member.sidecar.name, early: early.sidecar.name })
  }
  const gated = regular.filter(waits)
  const restarted = Map.groupBy(gated, ({ container }) => {
    const policy = restartPolicyOf(container, spec)
    return container.hasRestartRules && policy !== 'Always' ? `${policy} with rules` : policy
  })
  for (const [restartPolicy, some] of restarted) {
    if (restartPolicy === 'Always') continue
    warnings.push({ kind: 'not-restarted', names: namesOf(some), restartPolicy, locked: lock.openings.size > 0 })
  }
  for (const { sidecar, resolved } of spec.hostNetwork ? members : []) {
    if (resolved.kind === 'polled' && onLoopback(resolved.check)) {
      warnings.push({ kind: 'node-loopback', name: sidecar.name })
    }
  }
  warnings.push(...members.flatMap(aboutProbe))
  warnings.push(...movedPorts(order, spec))
  if (delivery.volume?.kind === 'emptyDir' && !spec.volumes.some(({ emptyDir }) => emptyDir)) {
    warnings.push({ kind: 'adds-empty-dir' })
  } else if ((lock.missing.volume === 'absent' || ends.volume) && !spec.volumes.some(({ emptyDir }) => emptyDir)) {
    warnings.push({ kind: 'adds-memory-dir', by: lock.missing.volume === 'absent' ? 'lock' : 'end' })
  }
  return warnings
}

/** What is lost with a startupProbe, and what has no effect beside it. */
function aboutProbe({ sidecar, container, resolved, handling }: Member): readonly Warning[] {
  const { name } = container
  if (handling?.probe === 'removed' && container.hasLivenessProbe) return [{ kind: 'liveness-unprotected', name }]
  if (resolved.kind !== 'startupProbe') return []
  const { limit } = resolved
  const key =
    sidecar.timeout !== undefined ? keys.timeout : sidecar.onTimeout === 'continue' ? keys.onTimeout : undefined
  return key === undefined ? [] : [{ kind: 'bounds-of-probe', name, key, limit }]
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

function namesOf(members: readonly Member[]): readonly string[] {
  return members.map(({ sidecar }) => sidecar.name)
}

/** A Service's named targetPort takes the first container with the name, native sidecars last (podutil.FindPort). */
function movedPorts({ containers, initContainers }: Order, spec: Spec): readonly Warning[] {
  const before = portOwners([...spec.containers, ...spec.initContainers.filter(isNative)])
  // Only a name that several have can come to mean another.
  if (!before.shared) return []
  const natives = initContainers.filter((container) => kindOf(container) !== 'init')
  const after = portOwners([...containers, ...natives])
  const moved: Warning[] = []
  for (const [port, owner] of before.owners) {
    const now = after.owners.get(port)
    if (now !== undefined && now !== owner) moved.push({ kind: 'port-moves', port, from: owner.name, to: now.name })
    if (moved.length === mostProblems) break
  }
  return moved
}

/** `shared`: whether several have a name. */
function portOwners(containers: readonly Container[]) {
  const owners = new Map<string, Container>()
  let shared = false
  for (const container of containers) {
    for (const { name } of container.ports) {
      if (name === '') continue
      if (owners.has(name)) shared = true
      else owners.set(name, container)
    }
  }
  return { owners, shared }
}
