/** `conflict`: somebody else wrote first; `invalid`: what was sent makes no sense, or a patch's `test` failed. */
export const failureKinds = [
  'conflict',
  'forbidden',
  'missing',
  'invalid',
  'timeout',
  'throttled',
  'server',
  'network',
  'other',
] as const
export type FailureKind = (typeof failureKinds)[number]

/** A call to the API server that failed. */
export class ClusterError extends Error {
  readonly kind: FailureKind
  constructor(kind: FailureKind, message: string) {
    super(message)
    this.kind = kind
  }
}

export const failureKind = (error: unknown): FailureKind => (error instanceof ClusterError ? error.kind : 'other')
