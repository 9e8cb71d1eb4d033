import { ClusterError } from './failure.ts'

/** Whether a call failed since the cluster doesn't know the kind at all: nothing was found where its API would be, or nothing of its name. */
export function isMissingKind(error: unknown): boolean {
  if (!(error instanceof ClusterError)) return false
  return /answered 404$|Unrecognized API version and kind/.test(error.message)
}
