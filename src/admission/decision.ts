import type { OnTimeout } from './configuration.ts'
import type { Operation } from './operation.ts'
import type { Warning } from './warning.ts'

/** One sidecar of a tier, as people are shown it. */
export interface PlannedSidecar {
  readonly name: string
  /** The resolved check in the annotation's grammar, or `none` where there is nothing to wait for. */
  readonly check: string
  /** Milliseconds; absent where nothing is waited for or the check bounds itself. */
  readonly timeout?: number
  readonly onTimeout?: OnTimeout
}
export type Tiers = readonly (readonly PlannedSidecar[])[]

/**
 * What happens to a pod, decided before any review is written. The verdicts are the ones `/preview` shows.
 * `reasons` are for people, one sentence each. `warnings` come worst first, their texts at most 256 characters long.
 */
export type Decision =
  /** Nothing asked for, opted out, or not ours to touch. */
  | { readonly verdict: 'skipped'; readonly reasons: readonly string[]; readonly warnings: readonly Warning[] }
  /** Already as it should be. */
  | {
      readonly verdict: 'unchanged'
      readonly reasons: readonly string[]
      readonly warnings: readonly Warning[]
      readonly tiers: Tiers
    }
  | {
      readonly verdict: 'patched'
      readonly reasons: readonly string[]
      readonly warnings: readonly Warning[]
      readonly tiers: Tiers
      /** Never empty. */
      readonly patch: readonly Operation[]
    }
  /** The problems are `reasons`: all of them, each naming its annotation or field. */
  | { readonly verdict: 'refused'; readonly reasons: readonly string[]; readonly warnings: readonly Warning[] }

/** What is known of a pod beside its manifest. */
export interface Surroundings {
  /** A Job makes the pod; the pod's own ownerReferences say so too. */
  readonly job: boolean
  /** The webhook that was called, by the hash of its namespaceSelector; absent: the one for all namespaces. */
  readonly set?: string
  /** Of a Deployment, seconds. */
  readonly progressDeadlineSeconds?: number
  /** Of a Job, seconds; a pod may carry its own. */
  readonly activeDeadlineSeconds?: number
}
