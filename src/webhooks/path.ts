import type { V1MutatingWebhook } from '@kubernetes/client-node'

/**
 * The paths that the API server calls. A set is marked and validated at paths that servers of before 0.2 take for an unknown set, and answer
 * without it: they refuse nothing during a rollback.
 */
export const paths = {
  /**
   * Says that whoever judges the pod knows the lock, so that `auto` may lock it. Servers of 0.1 refuse locked pods: as long as one may be asked,
   * `mutateUnlocked` is called, as their own webhook configurations do.
   */
  mutate: '/mutate/lock',
  mutateUnlocked: '/mutate',
  validate: '/validate',
  workloads: '/validate/workloads',
  reset: '/mutate/reset',
  mark: (set: string) => `/mutate/mark-${set}`,
  validateSet: (set: string) => `/validate/set-${set}`,
} as const

type Called = { readonly webhooks?: readonly V1MutatingWebhook[] }

/** Whether webhook configurations let `auto` lock pods; undefined if there are none that plan. */
export function callsForLocks({ webhooks = [] }: Called = {}): boolean | undefined {
  const called = webhooks.map(
    ({ clientConfig: { service, url } }) => service?.path ?? url?.replace(/^https:\/\/[^/]*/, ''),
  )
  if (called.includes(paths.mutate)) return true
  return called.includes(paths.mutateUnlocked) ? false : undefined
}

/** The set that a webhook marks; also of the webhooks of before 0.2, which had `/mutate/<set>`. */
export function setOfPath(path: string): string | undefined {
  return /\/mutate\/(?:mark-)?([0-9a-f]{10})$/.exec(path)?.[1]
}
