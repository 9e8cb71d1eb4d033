import { formatLockRestarts } from '../check/duration.ts'
import { formatCheck } from '../check/grammar.ts'
import type { Container } from '../pod/pod.ts'
import type { OnTimeout } from '../words/choices.ts'
import { type GateForm, type Later, opensOn } from '../words/openings.ts'
import { askedOf } from '../words/probe-times.ts'
import { hookGroups, type Opening, timeoutOf } from './gate.ts'
import { type LineUp, type Member, startsNative } from './line-up.ts'
import type { Lock } from './lock.ts'
import type { Obstacle, Obstacles } from './obstacles.ts'
import type { Order } from './order.ts'

/** One sidecar of a tier, as people are shown it. */
export interface PlannedSidecar {
  readonly name: string
  /** What the app waits for: a check that is polled, the sidecar's own hook, its startupProbe, which the kubelet asks, or nothing. */
  readonly kind: 'polled' | 'hook' | 'startupProbe' | 'none'
  /** The resolved check as one writes it in an annotation, or `none`. */
  readonly check: string
  /** Milliseconds; only of a polled check. */
  readonly timeout?: number
  readonly onTimeout?: OnTimeout
  /** Seconds between two attempts of a startupProbe. */
  readonly every?: number
  /** Seconds before the first, if the kubelet waits. */
  readonly delay?: number
  /** Its startupProbe holds the app without us. */
  readonly already?: boolean
  /** What holds the app back until it is ready, and what would let it start before; only if it is waited for, and anything is behind it. */
  readonly gate?: {
    readonly form: GateForm
    readonly opensOn: readonly string[]
    /** With a lease, which the hook returns with at once: how long a later start waits. */
    readonly restarts?: string
  }
  /** Why it doesn't become ready, or may not. */
  readonly obstacle?: Obstacle
  /** The rule that it is under. */
  readonly rule?: string
}
export type Tiers = readonly (readonly PlannedSidecar[])[]

export function shownTiers(
  lined: LineUp,
  order: Order,
  { bySidecar }: Obstacles,
  locked: ReadonlyMap<Member, Opening>,
): Tiers {
  const { tiers, intent } = lined
  const behind = startedBehind(lined, order)
  return tiers.map((tier) =>
    tier.map((member) => {
      const sidecar = shown(member)
      const obstacle = bySidecar.get(member.container)
      const { onTimeout = 'fail' } = sidecar
      const form = locked.has(member) ? 'lock' : formOf(member, intent)
      const restarts = restartsBehind(member, locked.get(member))
      const later = laterBehind(behind.get(member) ?? [], lined)
      const opens = opensOn(form, onTimeout, { installed: intent.delivery === 'init-container', restarts, later })
      return {
        ...sidecar,
        ...(sidecar.kind !== 'none' &&
          behind.get(member)?.length !== 0 && {
            gate: { form, opensOn: opens, ...(restarts !== undefined && { restarts }) },
          }),
        ...(obstacle && { obstacle }),
      }
    }),
  )
}

/** A `hook:` check isn't asked again, but its sidecar carries the hook, whose lease ends with it. One held by its startupProbe has nothing of it. */
function restartsBehind({ resolved }: Member, opening: Opening | undefined): string | undefined {
  if (opening?.restarts === undefined || resolved.kind === 'startupProbe') return undefined
  return formatLockRestarts(resolved.kind === 'hook' ? 0 : opening.restarts)
}

/** What each sidecar's gate holds back. */
function startedBehind(
  lined: LineUp,
  { initContainers, containers }: Order,
): ReadonlyMap<Member, readonly Container[]> {
  const sequence = [...initContainers, ...containers]
  return new Map(
    hookGroups(lined).flatMap(({ members }) => {
      const last = Math.max(...members.map(({ container }) => sequence.indexOf(container)))
      return members.map((member) => [member, sequence.slice(last + 1)] as const)
    }),
  )
}

/** A pod that never restarts may have containers that do. */
function laterBehind(behind: readonly Container[], { pod: { spec } }: LineUp): Later {
  if (spec.restartPolicy !== 'Never' || behind.some(({ restartPolicy }) => restartPolicy !== '')) return 'again'
  return behind.length > 1 ? 'another' : 'none'
}

/** The sidecars whose gates open a lock. */
export function lockedMembers({ openings }: Lock): ReadonlyMap<Member, Opening> {
  return new Map([...openings].flatMap(([{ members }, opening]) => members.map((each) => [each, opening] as const)))
}

function formOf(member: Member, intent: LineUp['intent']): GateForm {
  if (member.resolved.kind === 'startupProbe') return 'startupProbe'
  return startsNative(member, intent) ? 'native' : 'hook'
}

function shown(member: Member): PlannedSidecar {
  const { rule } = member.sidecar
  const planned = waitOf(member)
  return rule === undefined ? planned : { ...planned, rule: rule.name }
}

function waitOf({ sidecar, container, resolved, handling }: Member): PlannedSidecar {
  const { name, onTimeout } = sidecar
  const { kind } = resolved
  switch (kind) {
    case 'polled':
      return { name, kind, check: formatCheck(resolved.check), timeout: timeoutOf(sidecar, container), onTimeout }
    case 'hook':
      return { name, kind, check: formatCheck(resolved) }
    case 'startupProbe': {
      const check = formatCheck(resolved.check ?? { kind: 'probe', probe: 'startup' })
      const already = container.list === 'initContainers' && handling?.probe === 'kept'
      const isEager = handling?.probe === 'eager'
      const { delay } = container.startupProbe === undefined || isEager ? {} : askedOf(container.startupProbe)
      return { name, kind, check, every: isEager ? 1 : resolved.every, ...(delay !== undefined && { delay }), already }
    }
    case 'none':
      return { name, kind, check: 'none' }
    default:
      return kind satisfies never
  }
}
