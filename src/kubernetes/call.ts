import { ApiException, type V1Status } from '@kubernetes/client-node'
import { ClusterError, type FailureKind } from './failure.ts'

/**
 * Makes a client call.
 * @param secret the request or the answer may hold a key, so only the API server's reason is quoted, not its message
 * @throws ClusterError
 */
export async function call<T>(request: () => Promise<T>, secret = false): Promise<T> {
  try {
    return await request()
  } catch (error) {
    throw clusterError(error, secret)
  }
}

/** The API server's own words; undefined for an answer from something else, such as a proxy. */
function statusOf(body: unknown): V1Status | undefined {
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
