import { ApiException } from '@kubernetes/client-node'
import { ClusterError, type FailureKind, missingObject } from './failure.ts'

/**
 * Makes a client call.
 * @param how `optional`: a missing object is undefined, not an error; `secret`: the request or the answer may hold a key, so only the
 *   API server's reason is quoted, not its message
 * @throws ClusterError
 */
export async function call<T>(request: () => Promise<T>, how?: { secret?: boolean }): Promise<T>
export async function call<T>(
  request: () => Promise<T>,
  how: { optional: true; secret?: boolean },
): Promise<T | undefined>
export async function call<T>(
  request: () => Promise<T>,
  { optional = false, secret = false }: { optional?: boolean; secret?: boolean } = {},
): Promise<T | undefined> {
  try {
    return await request()
  } catch (error) {
    const failure = clusterError(error, secret)
    // A missing kind, or a proxy's 404, says nothing about the object.
    if (optional && missingObject(failure)) return undefined
    throw failure
  }
}

interface Status {
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly kind?: string; readonly name?: string }
}

/** The API server's own words; undefined for an answer from something else, such as a proxy. */
function statusOf(body: unknown): Status | undefined {
  try {
    const status = typeof body === 'string' ? JSON.parse(body) : body
    return typeof status === 'object' && status?.kind === 'Status' ? status : undefined
  } catch {
    return undefined
  }
}

/** The client's own error repeats the whole answer, which may hold a key: it is neither quoted nor kept as a cause. */
export function clusterError(error: unknown, secret = false): ClusterError {
  if (error instanceof ApiException) {
    const status = statusOf(error.body)
    // For a secret, only a refusal's words are safe to quote: an "invalid" repeats the value.
    const words = secret && error.code !== 403 ? status?.reason : status?.message
    const { kind = '', name } = status?.details ?? {}
    const message = `the API server answered ${error.code} ${words ?? ''}`.trimEnd()
    return new ClusterError(kindOf(error.code), message, name ? { kind, name } : undefined)
  }
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error))
  if (name === 'TimeoutError' || name === 'AbortError') {
    return new ClusterError('timeout', 'the API server did not answer in time')
  }
  const reason = cause instanceof Error ? cause.message : message
  return new ClusterError('network', `the API server can't be reached: ${reason}`)
}

/** What an answer's status says. */
export function kindOf(code: number): FailureKind {
  if (code === 409) return 'conflict'
  if (code === 401 || code === 403) return 'forbidden'
  if (code === 404) return 'missing'
  if (code === 400 || code === 422) return 'invalid'
  if (code === 429) return 'throttled'
  return code >= 500 ? 'server' : 'other'
}

/** An object's resourceVersion. */
export function versionOf({ metadata }: { metadata?: { resourceVersion?: string } }): string {
  if (metadata?.resourceVersion) return metadata.resourceVersion
  throw new ClusterError('other', 'the API server answered with an object without a resourceVersion')
}
