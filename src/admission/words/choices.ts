/** The values that annotations, rules and the configuration file choose from: each set once, its type derived from it. */

/** What a sidecar does when its check takes too long: its hook fails, or the start goes on. */
export const timeoutActions = ['fail', 'continue'] as const
export type OnTimeout = (typeof timeoutActions)[number]

/** How the app is held back, as a pod asks for it; `auto` is resolved by the cluster's version. */
export const gates = ['hook', 'native', 'auto'] as const
export type GateChoice = (typeof gates)[number]

export const nativePositions = ['last', 'first'] as const
export type NativePosition = (typeof nativePositions)[number]

export const existingHooks = ['chain', 'keep', 'refuse'] as const
export type ExistingHookPolicy = (typeof existingHooks)[number]

/** What the API server does with a pod while no replica answers: refuse it, or create it as it is. */
export const failurePolicies = ['Fail', 'Ignore'] as const
export type FailurePolicy = (typeof failurePolicies)[number]

/** What becomes of a native sidecar's startupProbe: left alone, asked every second, or replaced by our hook. */
export const startupProbeChoices = ['keep', 'eager', 'hook'] as const
export type StartupProbeChoice = (typeof startupProbeChoices)[number]

/** Whether the app is locked, too; `auto` is resolved by the cluster's version and the pod. */
export const locks = ['on', 'off', 'auto'] as const
export type LockChoice = (typeof locks)[number]

/** Whether the waiter keeps a lease on the lock's file, so that the kubelet has it ask at the moment that a container is created. */
export const leases = ['on', 'off'] as const
export type LeaseChoice = (typeof leases)[number]

/** How long a later start waits for a sidecar that isn't ready: milliseconds, or until it is. */
export type LockRestarts = number | 'always'

/** How a sidecar ends: with everything else, or when what is behind it has ended. */
export const ends = ['together', 'last'] as const
export type EndChoice = (typeof ends)[number]

/** How the waiter gets into the pod. */
export const deliveries = ['init-container', 'image-volume', 'shell'] as const
export type Delivery = (typeof deliveries)[number]

export const pullPolicies = ['Always', 'IfNotPresent', 'Never'] as const

export interface Waiter {
  readonly image: string
  readonly imagePullPolicy: (typeof pullPolicies)[number]
  readonly delivery: Delivery
  /** Globs of images that stand for it where a rule is enforced. */
  readonly mirrors: readonly string[]
}
