import { formatCheck } from './check.ts'
import { concerns } from './concerns.ts'
import type { Configuration } from './configuration.ts'
import type { PlannedSidecar, Surroundings, Tiers } from './decision.ts'
import { type DeliveryPlan, planDelivery } from './delivery.ts'
import { gateHooks, timeoutOf } from './gate.ts'
import { sameHook } from './hook.ts'
import type { Gate, Intent } from './intent.ts'
import { defaultContainerKey, keys } from './keys.ts'
import { lint } from './lint.ts'
import { findMembers, type Member, type Originals, readOriginals } from './members.ts'
import { type Order, startOrder } from './order.ts'
import type { Container, Hook, Metadata, Spec } from './pod.ts'
import { waiterPath } from './waiter.ts'
import type { Warning } from './warning.ts'

/** What is to be true of the pod afterwards, as far as it isn't yet. */
export interface Plan {
  readonly tiers: Tiers
  readonly order: Order
  /** The PostStart hooks that have to change; undefined: none is to be there. */
  readonly hooks: ReadonlyMap<Container, Hook | undefined>
  /** The startupProbes to be asked every second, each with the failureThreshold that keeps its total time. */
  readonly failureThresholds: ReadonlyMap<Container, number>
  readonly delivery: DeliveryPlan
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

export type PlanResult =
  | { readonly ok: true; readonly plan: Plan; readonly warnings: readonly Warning[] }
  | { readonly ok: false; readonly problems: readonly string[]; readonly warnings: readonly Warning[] }

/** Plans a pod that asks for something, or finds everything that is wrong with what it asks. */
export function plan(
  intent: Intent,
  metadata: Metadata,
  spec: Spec,
  configuration: Configuration,
  surroundings: Surroundings,
): PlanResult {
  const problems: string[] = []
  const warnings: Warning[] = []
  const originals = readOriginals(spec, problems)
  const members = findMembers(intent, spec, originals, problems, warnings)
  const gates = gateHooks(members, intent, problems)
  const carriers = [...gates].filter(([, hook]) => runsWaiter(hook)).map(([container]) => container)
  const delivery = planDelivery(carriers, members[0]?.[0]?.container, intent, spec, configuration, problems)
  const order = startOrder(members, intent, spec, originals)
  warnings.push(...concerns(members, intent, order, delivery, spec, metadata, surroundings))
  warnings.push(...lint(members, spec, surroundings))
  if (problems.length > 0) return { ok: false, problems, warnings }

  const tiers = members.map((tier) => tier.map(show))
  const annotations =
    members.length === 0 ? [] : annotate(tiers, intent.gate, order, members, spec, metadata, configuration)
  const hooks = changedHooks(gates, spec, originals)
  return {
    ok: true,
    warnings,
    plan: { tiers, order, hooks, failureThresholds: eagerProbes(order), delivery, annotations },
  }
}

function runsWaiter(hook: Hook): boolean {
  return hook.kind === 'exec' && hook.command[0] === waiterPath
}

/** A container without a gate gets back the hook it had, where a tier's end has moved. */
function changedHooks(
  gates: ReadonlyMap<Container, Hook>,
  spec: Spec,
  originals: Originals,
): ReadonlyMap<Container, Hook | undefined> {
  const changed = new Map<Container, Hook | undefined>()
  for (const container of [...spec.containers, ...spec.initContainers]) {
    const wanted = gates.get(container) ?? originals.get(container)
    if (!sameHook(container.postStart, wanted)) changed.set(container, wanted)
  }
  return changed
}

/** The app behind a native sidecar starts at its startupProbe's next tick, so those that move in are asked every second. */
function eagerProbes({ initContainers }: Order): ReadonlyMap<Container, number> {
  const thresholds = new Map<Container, number>()
  for (const container of initContainers) {
    const probe = container.list === 'containers' ? container.startupProbe : undefined
    if (probe !== undefined && probe.periodSeconds > 1)
      thresholds.set(container, probe.failureThreshold * probe.periodSeconds)
  }
  return thresholds
}

function show({ sidecar, container, resolved }: Member): PlannedSidecar {
  const { name, onTimeout } = sidecar
  switch (resolved.kind) {
    case 'polled':
      return { name, check: formatCheck(resolved.check), timeout: timeoutOf(sidecar, container), onTimeout }
    case 'hook':
      return { name, check: formatCheck(resolved) }
    case 'none':
      return { name, check: 'none' }
    default:
      return resolved satisfies never
  }
}

function annotate(
  tiers: Tiers,
  gate: Gate,
  order: Order,
  members: readonly (readonly Member[])[],
  spec: Spec,
  metadata: Metadata,
  { version }: Configuration,
): readonly (readonly [string, string])[] {
  const status = JSON.stringify({
    version,
    gate,
    tiers: tiers.map((tier) => tier.map(({ name }) => name)),
    checks: Object.fromEntries(tiers.flat().map(({ name, check }) => [name, check])),
  })
  const wanted: [string, string][] = []
  const first = spec.containers[0]
  // kubectl logs and exec mean the first container, unless this says otherwise. After our first pass another injector may have put
  // its own in front, and that is nobody's app.
  if (
    first !== undefined &&
    first !== order.containers[0] &&
    !metadata.annotations.has(defaultContainerKey) &&
    !metadata.annotations.has(keys.status) &&
    !members.flat().some(({ container }) => container === first)
  ) {
    wanted.push([defaultContainerKey, first.name])
  }
  if (metadata.annotations.get(keys.status) !== status) wanted.push([keys.status, status])
  return wanted
}
