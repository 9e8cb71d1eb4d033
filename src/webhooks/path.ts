import type { V1MutatingWebhook } from '@kubernetes/client-node'

/**
 * The paths that the API server calls. A set is marked and validated at paths that servers of before 0.2 take for an unknown set, and answer
 * without it: they refuse nothing during a rollback.
 */
export const paths = {
  /**
   * Says that whoever judges the pod knows locks that name a sidecar. Servers of before refuse them, and those of 0.1 all locks: as long as one may be
   * asked, `mutateUnnamed` or `mutateUnlocked` is called, as their own webhook configurations do.
   */
  mutate: '/mutate/lock-by-name',
  mutateUnnamed: '/mutate/lock',
  mutateUnlocked: '/mutate',
  validate: '/validate',
  workloads: '/validate/workloads',
  reset: '/mutate/reset',
  mark: (set: string) => `/mutate/mark-${set}`,
  validateSet: (set: string) => `/validate/set-${set}`,
} as const

type Called = { readonly webhooks?: readonly V1MutatingWebhook[] }

const planning = [paths.mutate, paths.mutateUnnamed, paths.mutateUnlocked] as const

/** Where webhook configurations have pods planned; undefined if they don't. */
export function plansAt({ webhooks = [] }: Called = {}): (typeof planning)[number] | undefined {
  const called = webhooks.map(
    ({ clientConfig: { service, url } }) => service?.path ?? url?.replace(/^https:\/\/[^/]*/, ''),
  )
  return planning.find((path) => called.includes(path))
}

/** Whether webhook configurations let `auto` lock pods; undefined if there are none that plan. */
export function callsForLocks(configuration: Called | undefined): boolean | undefined {
  const path = plansAt(configuration)
  return path && path !== paths.mutateUnlocked
}

/** The set that a webhook marks; also of the webhooks of before 0.2, which had `/mutate/<set>`. */
export function setOfPath(path: string): string | undefined {
  return /\/mutate\/(?:mark-)?([0-9a-f]{10})$/.exec(path)?.[1]
}
