import { decide } from './decide.ts'
import { type Decision, refused, skipped } from './decision.ts'
import type { Absent } from './examine.ts'
import type { Configuration } from './intent/configuration.ts'
import type { Surroundings } from './pod/surroundings.ts'
import { missing } from './validate.ts'

type Of<V extends Decision['verdict']> = Extract<Decision, { verdict: V }>

/**
 * What will become of a pod, by all that is called for it. `decision` is what the first call does; for a pod that the final check refuses it says why
 * in its place.
 */
export type Verdict =
  /** In the order of the decision's reasons. */
  | { readonly kind: 'starts'; readonly decision: Of<'patched' | 'unchanged'> }
  | { readonly kind: 'left'; readonly decision: Of<'skipped'> }
  | { readonly kind: 'refused'; readonly decision: Of<'refused'> }
  /** Refused, unless an injector adds what is absent. */
  | {
      readonly kind: 'unless-injected'
      readonly absent: readonly [Absent, ...Absent[]]
      readonly decision: Of<'patched' | 'unchanged' | 'skipped'>
    }

interface Circumstances {
  readonly configuration: Configuration
  readonly surroundings?: Surroundings
}

/** What will become of a pod, or of the pods of a template. Never throws; anyone may have written it. */
export function foresee(pod: unknown, { configuration, surroundings = { job: false } }: Circumstances): Verdict {
  const decision = decide(pod, configuration, surroundings)
  if (configuration.mode === 'observe') return left(skipped([{ kind: 'only-looked-at' }], decision.warnings))
  return concluded(decision)
}

const left = (decision: Of<'skipped'>): Verdict => ({ kind: 'left', decision })

/** The containers that no injector is known to add, and without which the pod is refused. */
export const unexpected = (verdict: Verdict): readonly string[] =>
  verdict.kind === 'unless-injected'
    ? [...new Set(verdict.absent.flatMap(({ name, expected }) => (expected ? [] : [name])))]
    : []

/** What the final check makes of what the first call decided. */
export function concluded(decision: Decision): Verdict {
  if (decision.verdict === 'refused') return { kind: 'refused', decision }
  const { absent, warnings } = decision
  // An injector could still add a container of nearly the same name; nobody writes that without saying so, and the calls refuse it only in the end.
  const misspelt = absent.filter(({ near }) => near !== undefined)
  if (misspelt.length > 0) {
    const others = warnings.filter((each) => each.kind !== 'container-awaited' || each.near === undefined)
    return { kind: 'refused', decision: refused(missing(misspelt), others) }
  }
  const [first, ...more] = absent
  if (first !== undefined) return { kind: 'unless-injected', absent: [first, ...more], decision }
  return decision.verdict === 'skipped' ? left(decision) : { kind: 'starts', decision }
}
