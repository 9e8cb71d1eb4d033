/**
 * The paths that the API server calls. A set is marked and validated at paths that servers of before 0.2 take for an unknown set, and answer
 * without it: they refuse nothing during a rollback.
 */
export const paths = {
  mutate: '/mutate',
  validate: '/validate',
  workloads: '/validate/workloads',
  reset: '/mutate/reset',
  mark: (set: string) => `/mutate/mark-${set}`,
  validateSet: (set: string) => `/validate/set-${set}`,
} as const

/** The set that a webhook marks; also of the webhooks of before 0.2, which had `/mutate/<set>`. */
export function setOfPath(path: string): string | undefined {
  return /\/mutate\/(?:mark-)?([0-9a-f]{10})$/.exec(path)?.[1]
}
