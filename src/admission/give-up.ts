import type { Configuration } from './intent/configuration.ts'
import type { Reviewed, ReviewFacts } from './review.ts'
import { keys } from './words/keys.ts'
import { coded, type Problem } from './words/messages.ts'

/** What is known of a review that is over a limit, from its beginning. */
interface Beginning {
  readonly uid: string
  readonly facts: ReviewFacts
}

/** Only what may stand before the uid where an API server has written the review, in either order. */
const start =
  /^\s*\{\s*((?:"(?:kind|apiVersion)"\s*:\s*"[^"\\]*"\s*,\s*){2})"request"\s*:\s*\{\s*"uid"\s*:\s*"([^"\\]{1,128})"/

/** Reads whom to answer from the beginning of a review's text; undefined if an API server hasn't written it. */
export function readBeginning(text: string): Beginning | undefined {
  const [, type = '', uid] = start.exec(text.slice(0, 512)) ?? []
  if (uid === undefined || !type.includes('"AdmissionReview"') || !type.includes('"admission.k8s.io/v1"')) {
    return undefined
  }
  const [, namespace = '', operation = ''] =
    /"namespace"\s*:\s*"([^"\\]{1,253})"\s*,\s*"operation"\s*:\s*"([A-Z]+)"/.exec(text.slice(0, 4096)) ?? []
  return { uid, facts: { namespace, name: '', operation, dryRun: false } }
}

/** Whether a pod asks for something: its text has our annotation, in any place. */
export const asksIn = (text: { includes(word: string): boolean }): boolean => text.includes(`"${keys.sidecars}"`)

export type Answered = Extract<Reviewed, { ok: true }>

/**
 * The answer about a pod that isn't helped, since it has a `problem`. If it asks, or a rule is enforced that may be about it, it is refused like any pod
 * that can't be helped; otherwise it is created as it is, with a warning.
 */
export function giveUp(
  webhook: 'mutate' | 'validate' | 'mark' | 'workloads',
  { uid, facts }: Beginning,
  problem: Problem,
  asks: boolean,
  { mode, invalid, rules }: Configuration,
): Answered {
  // An enforced rule binds whatever `invalid` says.
  const enforced = rules.rules.some(({ enforce }) => enforce)
  const binding = webhook !== 'workloads' && (enforced || (asks && invalid === 'refuse'))
  const base = { ok: true, facts, reasons: [coded(problem)] } as const
  if (binding && mode !== 'observe') {
    const status = { code: 400, reason: 'BadRequest', message: coded(problem) }
    return { ...base, verdict: 'refused', response: { uid, allowed: false, status } }
  }
  const verdict = webhook === 'validate' || webhook === 'workloads' ? 'allowed' : 'skipped'
  return { ...base, verdict, response: { uid, allowed: true, warnings: [coded({ kind: 'left-untouched', problem })] } }
}
