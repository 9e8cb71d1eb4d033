import { decide } from '../../src/admission/decide.ts'
import type { Decision } from '../../src/admission/decision.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { mark, marksOf, unmark } from '../../src/admission/mark.ts'
import { validate } from '../../src/admission/validate.ts'
import { textOf } from '../../src/admission/words/messages.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import type { Pod } from './pods.ts'

export interface Admitted {
  readonly pod: Pod
  readonly decision: Decision
  /** What the validating webhooks say against it. */
  readonly refusals: readonly string[]
}

/**
 * What the API server makes of a pod in a namespace that these sets select: the webhooks in the order of their list, another injector behind
 * them, the one that plans once more, and those that validate. What matchConditions keep from them, they leave alone as well.
 */
export function admit(
  pod: Pod,
  configuration: Configuration,
  sets: readonly string[],
  inject: (pod: Pod) => Pod = (each) => each,
): Admitted {
  let now = applyPatch(pod, unmark(pod))
  for (const set of sets) now = applyPatch(now, mark(now, set))
  const plan = () => {
    const decision = decide(now, configuration, { job: false, sets: marksOf(now) })
    if (decision.verdict === 'patched') now = applyPatch(now, decision.patch)
    return decision
  }
  const first = plan()
  if (first.verdict === 'refused') return { pod: now, decision: first, refusals: [] }
  now = inject(now)
  const decision = plan()
  const refusals = [undefined, ...sets].flatMap((set) => {
    const validity = validate(now, configuration, { job: false, sets: [...marksOf(now), ...(set ? [set] : [])] })
    return validity.reasons.map(textOf)
  })
  return { pod: now, decision, refusals }
}
