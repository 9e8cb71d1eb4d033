import type { Configuration } from './configuration.ts'
import type { Decision, Surroundings } from './decision.ts'

/**
 * The one function behind `/mutate`, `/preview`, `inject` and the page: a pod manifest (any value; it may come from anybody) to
 * what is done to it. Never throws.
 */
export function decide(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Decision {
  void pod
  void configuration
  void surroundings
  return { verdict: 'skipped', reasons: ['not written yet'], warnings: [] }
}
