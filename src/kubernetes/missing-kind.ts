import { ClusterError } from './failure.ts'

/** Whether a call of objects.ts failed since the cluster doesn't know the kind: a 404 that names no object. */
export function isMissingKind(error: unknown): boolean {
  return error instanceof ClusterError && error.kind === 'missing' && /answered 404$/.test(error.message)
}
