import type { Decision } from '../../admission/decision.ts'
import { type Judged, type JudgedStart, unjudgedOf } from '../../outcome/outcome.ts'
import type { Seen } from '../../seen/observe.ts'
import type { Where } from '../findings/pods.ts'
import type { Finding } from '../findings.ts'

/** The sidecars that annotations and rules name. */
export const sidecarsOf = (decision: Decision): readonly string[] =>
  'tiers' in decision ? decision.tiers.flat().map(({ name }) => name) : []

/** How one pod really started, at each start of its apps, and what is wrong by now. */
export function startFindings({ pod, now }: Seen, judged: Judged): Finding[] {
  const { outcome, lacking, sidecars, starts, down, app } = judged
  const cut = unjudgedOf([judged])
  if (sidecars.size === 0) return []
  const where = { namespace: pod.namespace, pod: pod.name }
  const later = starts.filter(({ container, nth }) => container !== app || nth > 0)
  const after: Finding[] = [
    ...later.flatMap((start) => laterFinding(start, where)),
    ...(cut ? [{ kind: 'starts-unjudged', owner: undefined, ...cut } as const] : []),
    ...(down ? [{ kind: 'down', ...where, down, seconds: secondsSince(down.since?.at, now) } as const] : []),
    ...lacking.map((each) => ({ kind: 'lacking', ...where, lacking: each }) as const),
  ]
  const { kind } = outcome
  switch (kind) {
    case 'held':
      return [outcome, ...after]
    case 'too-early':
      return [{ kind, ...where, early: outcome.reasons }, ...after]
    case 'stuck': {
      const seconds = secondsSince(outcome.reason.since?.at, now)
      return [{ kind, ...where, stuck: outcome.reason, seconds }]
    }
    case 'unknown':
      return [{ kind: 'start-unknown', unsure: outcome.reasons }, ...after]
    default:
      return kind satisfies never
  }
}

function laterFinding({ container, nth, outcome }: JudgedStart, where: Where): Finding[] {
  const start = { container, nth }
  if (outcome.kind === 'too-early') return [{ kind: 'later-early', ...where, start, early: outcome.reasons }]
  return outcome.kind === 'unknown' ? [{ kind: 'later-unknown', start, unsure: outcome.reasons }] : []
}

export const secondsSince = (since: number | undefined, now: number): number =>
  Math.max(0, Math.round((now - (since ?? now)) / 1000))
