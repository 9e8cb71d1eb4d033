import type { Decision } from '../../admission/decision.ts'
import type { Judged } from '../../outcome/outcome.ts'
import type { Seen } from '../../seen/observe.ts'
import type { Finding } from '../findings.ts'

/** The sidecars that annotations and rules name. */
export const sidecarsOf = (decision: Decision): readonly string[] =>
  'tiers' in decision ? decision.tiers.flat().map(({ name }) => name) : []

/** How one pod really started, and what its app is without by now. */
export function startFindings({ pod, now }: Seen, { outcome, lacking, sidecars }: Judged): Finding[] {
  if (sidecars.size === 0) return []
  const where = { namespace: pod.namespace, pod: pod.name }
  const without = lacking.map((each): Finding => ({ kind: 'lacking', ...where, lacking: each }))
  const { kind } = outcome
  switch (kind) {
    case 'held':
      return [{ kind }, ...without]
    case 'too-early':
      return [{ kind, ...where, early: outcome.reasons }, ...without]
    case 'stuck':
      return [{ kind, ...where, stuck: outcome.reason, seconds: secondsSince(outcome.reason.since?.at, now) }]
    case 'unknown':
      return [{ kind: 'start-unknown', unsure: outcome.reasons }, ...without]
    default:
      return kind satisfies never
  }
}

export const secondsSince = (since: number | undefined, now: number): number =>
  Math.max(0, Math.round((now - (since ?? now)) / 1000))
