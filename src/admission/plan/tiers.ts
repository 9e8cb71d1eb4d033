import { formatCheck } from '../check/grammar.ts'
import type { OnTimeout } from '../words/choices.ts'
import { timeoutOf } from './gate.ts'
import type { LineUp, Member } from './line-up.ts'
import type { Obstacle, Obstacles } from './obstacles.ts'

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
  /** Its startupProbe holds the app without us. */
  readonly already?: boolean
  /** Why it doesn't become ready, or may not. */
  readonly obstacle?: Obstacle
  /** The rule that it is under. */
  readonly rule?: string
}
export type Tiers = readonly (readonly PlannedSidecar[])[]

export function shownTiers({ tiers }: LineUp, { bySidecar }: Obstacles): Tiers {
  return tiers.map((tier) =>
    tier.map((member) => {
      const obstacle = bySidecar.get(member.container)
      return obstacle === undefined ? shown(member) : { ...shown(member), obstacle }
    }),
  )
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
      return { name, kind, check, every: handling?.probe === 'eager' ? 1 : resolved.every, already }
    }
    case 'none':
      return { name, kind, check: 'none' }
    default:
      return kind satisfies never
  }
}
