import { sameHook } from '../hook/hook.ts'
import { runsWaiter } from '../hook/waiter.ts'
import { bytesOf, charactersOf, mostAnnotations } from '../intent/annotations.ts'
import type { Context } from '../intent/context.ts'
import type { Intent } from '../intent/intent.ts'
import type { Container, Hook, Metadata, Pod } from '../pod/pod.ts'
import { defaultContainerKey, keys } from '../words/keys.ts'
import type { Problem, Warning } from '../words/messages.ts'
import { printable } from '../words/printable.ts'
import { concerns } from './concerns.ts'
import { type Delivery, planDelivery } from './delivery.ts'
import { type EndParts, planEnds } from './end.ts'
import { planHold } from './hold.ts'
import type { LineUp, Member } from './line-up.ts'
import { lint } from './lint.ts'
import type { LockParts } from './lock.ts'
import { loopholes } from './loopholes.ts'
import { findObstacles } from './obstacles.ts'
import { hooksForItsWaiter, hooksOfOlder, olderWaiter, tooOldWaiter } from './older.ts'
import type { Order } from './order.ts'
import { lockedMembers, shownTiers, type Tiers } from './shown-tiers.ts'
import { type ProbeChange, probeChange } from './startup-probe.ts'

/** What is to be true of the pod afterwards, as far as it isn't yet. */
export interface Plan {
  readonly tiers: Tiers
  readonly order: Order
  /** The PostStart hooks that have to change; undefined: there has to be none. */
  readonly hooks: ReadonlyMap<Container, Hook | undefined>
  readonly startupProbes: ReadonlyMap<Container, ProbeChange>
  readonly delivery: Delivery
  readonly lock: LockParts
  readonly ends: EndParts
  readonly annotations: readonly (readonly [key: string, value: string])[]
}

type Planned =
  | { readonly ok: true; readonly plan: Plan; readonly warnings: readonly Warning[] }
  | { readonly ok: false; readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] }

/** Of a check in the status annotation, which is for people: a command may be long. */
const mostShown = 256

/** Plans a pod that asks for something, or finds everything that is wrong with what it asks. */
export function plan(pod: Pod, intent: Intent, context: Context): Planned {
  const { lined, order, lock, ...held } = planHold(pod, intent, context)
  const older = olderWaiter(pod, intent, context.configuration)
  const told = hooksForItsWaiter(pod, intent, held.hooks, context.configuration)
  const gates = older === undefined ? told : hooksOfOlder(told)
  const locked = lock.openings.size > 0
  const ends = planEnds(lined, order, context)
  const gated = [...gates].filter(([, hook]) => runsWaiter(hook)).map(([container]) => container)
  const carriers = [...new Set([...gated, ...ends.carriers])]
  const { delivery, ...delivered } = planDelivery(lined, carriers, context.configuration, locked)
  const obstacles = findObstacles(lined, order, locked)

  const problems = [
    ...held.problems,
    ...delivered.problems,
    ...ends.problems,
    ...loopholes({ lined, order, lock, carriers }, context.configuration),
    ...tooOldWaiter(pod, intent, held.hooks, ends.carriers.length > 0, context.configuration),
  ]
  const warnings = [
    ...held.warnings,
    ...concerns(lined, order, { delivery, lock, ends: ends.missing }, context.surroundings),
    ...obstacles.warnings,
    ...ends.warnings,
    ...lint(lined, context.surroundings),
  ]
  if (problems.length > 0) return { ok: false, problems, warnings }

  const tiers = shownTiers(lined, order, obstacles, lockedMembers(lock))
  const hooks = changedHooks(lined, gates)
  const startupProbes = probeChanges(lined)
  const leftAlone =
    lined.tiers.flat().every(isLeftAlone) && hooks.size === 0 && carriers.length === 0 && isAsGiven(order, pod)
  const annotations = leftAlone
    ? []
    : annotate(lined, { tiers, order, locked, version: older ?? context.configuration.version })
  return {
    ok: true,
    warnings,
    plan: { tiers, order, hooks, startupProbes, delivery, lock: lock.missing, ends: ends.missing, annotations },
  }
}

/** A container that no longer ends a tier gets back the hook it had. */
function changedHooks({ pod: { spec }, originals }: LineUp, gates: ReadonlyMap<Container, Hook>): Plan['hooks'] {
  const changed = new Map<Container, Hook | undefined>()
  for (const container of [...spec.containers, ...spec.initContainers]) {
    const wanted = gates.get(container) ?? originals.get(container)
    if (!sameHook(container.postStart, wanted)) changed.set(container, wanted)
  }
  return changed
}

/** A sidecar that the pod already waits for: there is nothing to do, so nothing is noted either. */
function isLeftAlone({ container, resolved, handling }: Member): boolean {
  return container.list === 'initContainers' && resolved.kind === 'startupProbe' && handling?.probe === 'kept'
}

function isAsGiven({ containers, initContainers }: Order, { spec }: Pod): boolean {
  return (
    containers.every((container, place) => container === spec.containers[place]) &&
    initContainers.every((container, place) => container === spec.initContainers[place])
  )
}

function probeChanges({ tiers }: LineUp): Plan['startupProbes'] {
  return new Map(
    tiers.flat().flatMap(({ container, handling }): [Container, ProbeChange][] => {
      const change = handling && container.startupProbe && probeChange(handling, container.startupProbe)
      return change ? [[container, change]] : []
    }),
  )
}

function annotate(
  { pod, intent, tiers: members }: LineUp,
  { tiers, order, locked, version }: { tiers: Tiers; order: Order; locked: boolean; version: string },
) {
  const { metadata, spec } = pod
  const status = JSON.stringify({
    // Whose hooks these are.
    version,
    gate: intent.gate,
    ...(locked ? { lock: 'on' } : {}),
    tiers: tiers.map((tier) => tier.map(({ name }) => name)),
    checks: Object.fromEntries(tiers.flat().map(({ name, check }) => [name, printable(check, mostShown)])),
    ...rulesIn(tiers),
  })
  const wanted: [string, string][] = []
  const first = spec.containers[0]
  // kubectl logs and exec use the first container, unless this annotation names another. After our first pass another injector may have
  // put its container in front, which isn't the app.
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
  return fitting(wanted, metadata.annotations)
}

/** The rule of each sidecar that has one. */
function rulesIn(tiers: Tiers): { readonly rules?: Readonly<Record<string, string>> } {
  const rules = tiers.flat().flatMap(({ name, rule }) => (rule === undefined ? [] : [[name, rule] as const]))
  return rules.length === 0 ? {} : { rules: Object.fromEntries(rules) }
}

/** Those that the pod has room for. They help people, and the API server refuses a pod with more. */
function fitting(wanted: readonly [string, string][], there: Metadata['annotations']) {
  // Nearly always; in UTF-8 a character has up to three bytes.
  if ((charactersOf(there) + charactersOf(wanted)) * 3 <= mostAnnotations) return wanted
  let room = mostAnnotations
  for (const annotation of there) {
    if (!wanted.some(([key]) => key === annotation[0])) room -= bytesOf(annotation)
  }
  return wanted.filter((annotation) => {
    const fits = bytesOf(annotation) <= room
    if (fits) room -= bytesOf(annotation)
    return fits
  })
}
