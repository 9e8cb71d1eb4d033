import { ExpectedError } from '../terminal/command.ts'
import type { Failure } from '../terminal/failures.ts'

/** `conflict`: somebody else wrote first; `invalid`: the request makes no sense, or a patch's `test` failed. */
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

/** Which object a failure is about, in the API server's words: in a 404, `kind` is its resource (`namespaces`). */
interface NamedObject {
  readonly kind: string
  readonly name: string
}

/** A call to the API server that failed. */
export class ClusterError extends ExpectedError {
  readonly kind: FailureKind
  /** undefined where the answer names none. */
  readonly object: NamedObject | undefined
  constructor(kind: FailureKind, message: string, object?: NamedObject, failure: Failure = `call-${kind}`) {
    super(failure, message)
    this.kind = kind
    this.object = object
  }
}

export const failureKind = (error: unknown): FailureKind => (error instanceof ClusterError ? error.kind : 'other')

/** What may not be read is undefined. @throws ClusterError for any other failure */
export async function allowed<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  }
}

/** The object that a call failed for want of. */
export const missingObject = (error: unknown): NamedObject | undefined =>
  error instanceof ClusterError && error.kind === 'missing' ? error.object : undefined

/** Whether a call failed since the cluster doesn't know the kind: a 404 that names no object. */
export const isMissingKind = (error: unknown): boolean =>
  failureKind(error) === 'missing' && missingObject(error) === undefined
