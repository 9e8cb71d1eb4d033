import type { Configuration } from './configuration.ts'
import type { Decision } from './decision.ts'

/** The AdmissionReview that answers one, without the patch's encoding: `patch` is JSON text, which the wire wants as base64. */
export interface ReviewResponse {
  readonly uid: string
  readonly allowed: boolean
  readonly patch?: string
  readonly warnings?: readonly string[]
  readonly auditAnnotations?: Readonly<Record<string, string>>
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
}

/** What a log line and a metric say of a review. */
export interface ReviewFacts {
  readonly namespace: string
  /** The pod's name, or its generateName with `*`. */
  readonly name: string
  readonly operation: string
  readonly dryRun: boolean
}

export type Reviewed =
  | { readonly ok: true; readonly response: ReviewResponse; readonly decision: Decision; readonly facts: ReviewFacts }
  /** Not an AdmissionReview v1 with a request: a client's error, answered 400. */
  | { readonly ok: false; readonly error: string; readonly problems: readonly string[] }

/** A parsed AdmissionReview (any value) to its answer. Never throws. */
export function review(body: unknown, configuration: Configuration): Reviewed {
  void body
  void configuration
  return { ok: false, error: 'not written yet', problems: [] }
}
