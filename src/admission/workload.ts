import type { Decision } from './decision.ts'
import type { Configuration } from './intent/configuration.ts'
import { misplacedKeys } from './intent/misplaced.ts'
import { podTemplate } from './pod/template.ts'
import { allowed, openReview, type Reviewed } from './review.ts'
import { foresee } from './verdict.ts'
import { coded, isCost, isProblem, type Warning } from './words/messages.ts'
import { shownWarnings } from './words/shown-warnings.ts'

/**
 * Answers a parsed AdmissionReview (any value) of what pods are made from: it is always allowed, with what would be said of its pods.
 * Never throws.
 */
export function reviewWorkload(body: unknown, configuration: Configuration): Reviewed {
  const opened = openReview(body)
  if (!opened.ok) return opened
  const { uid, facts, kind, pod: object } = opened
  const response = allowed({ uid }, warningsOf(kind, object, configuration).map(coded))
  return { ok: true, response, verdict: 'allowed', reasons: [], facts }
}

function warningsOf(kind: string, object: unknown, configuration: Configuration): readonly Warning[] {
  const template = podTemplate({ kind, value: object })
  // A Pod has webhooks of its own.
  if (template === undefined || template.path === '') return []
  const { pod, path, surroundings } = template
  // Where it only observes, what it would refuse is told as well.
  const verdict = foresee(pod, { configuration: { ...configuration, mode: 'enforce' }, surroundings })
  const { decision } = verdict.kind === 'depends-on-namespace' ? verdict.first : verdict
  const misplaced = misplacedKeys(kind, object, pod, path.split('/').slice(1))
  const warnings = decision.warnings.filter((each) => !isCost(each))
  return shownWarnings([...refusals(decision, configuration), ...warnings, ...misplaced])
}

function refusals(decision: Decision, { mode }: Configuration): readonly Warning[] {
  if (decision.verdict !== 'refused') return []
  if (mode === 'observe') return [{ kind: 'only-observed', would: 'refuse', reasons: decision.reasons.map(coded) }]
  return decision.reasons.filter(isProblem).map((problem) => ({ kind: 'pods-refused', problem }) as const)
}
