import type { Absent } from './examine.ts'
import type { Change } from './patch/patch.ts'
import type { Tiers } from './plan/shown-tiers.ts'
import type { Operation } from './words/json.ts'
import { isCost, type Problem, type Said, type Warning } from './words/messages.ts'
import { shownWarnings } from './words/shown-warnings.ts'

/** Why, for people; `warnings` come worst first. */
interface Explained {
  readonly reasons: readonly Said[]
  readonly warnings: readonly Warning[]
}
interface Taken extends Explained {
  /** What an injector has to add, or the final check refuses the pod. */
  readonly absent: readonly Absent[]
}
/** Nothing asked for, opted out, or not ours to touch. */
interface Skipped extends Taken {
  readonly verdict: 'skipped'
}
/** Already as it should be. */
interface Unchanged extends Taken {
  readonly verdict: 'unchanged'
  readonly tiers: Tiers
}
interface Patched extends Taken {
  readonly verdict: 'patched'
  readonly tiers: Tiers
  readonly change: Change
  /** The containers that lack a variable of the lock. */
  readonly unlocked: readonly string[]
  /** Never empty. */
  readonly patch: readonly Operation[]
}
/** `reasons` are all that is wrong, each with its annotation or field. */
interface Refused extends Explained {
  readonly reasons: readonly (Problem | Warning)[]
  readonly verdict: 'refused'
}
/** The pod may be created as it is. */
interface Allowed extends Explained {
  readonly verdict: 'allowed'
}

/** What happens to a pod, decided before any answer is written. `/preview` shows the same verdicts. */
export type Decision = Skipped | Unchanged | Patched | Refused
/** Whether a final pod may be created. */
export type Validity = Allowed | Refused

export function skipped(
  reasons: readonly Said[],
  warnings: readonly Warning[],
  absent: readonly Absent[] = [],
): Skipped {
  return { verdict: 'skipped', reasons, warnings: shownWarnings(warnings), absent }
}

export function unchanged(
  reasons: readonly Said[],
  tiers: Tiers,
  warnings: readonly Warning[],
  absent: readonly Absent[] = [],
): Unchanged {
  return { verdict: 'unchanged', reasons, warnings: shownWarnings(warnings), tiers, absent }
}

export function patched(
  reasons: readonly Said[],
  parts: Pick<Patched, 'tiers' | 'change' | 'unlocked' | 'patch' | 'warnings' | 'absent'>,
): Patched {
  return { verdict: 'patched', reasons, ...parts, warnings: shownWarnings(parts.warnings) }
}

/** Nothing is done, so nothing is paid. */
export const withoutCosts = (warnings: readonly Warning[]): readonly Warning[] =>
  warnings.filter((warning) => !isCost(warning))

export function refused(reasons: Refused['reasons'], warnings: readonly Warning[] = []): Refused {
  return { verdict: 'refused', reasons, warnings: shownWarnings(withoutCosts(warnings)) }
}

export const allowed: Allowed = { verdict: 'allowed', reasons: [], warnings: [] }
