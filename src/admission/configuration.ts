import { type Check, type CheckKind, checkKinds } from './check.ts'
import { noRules, type RuleIndex } from './rules.ts'

/** What a sidecar does when its check takes too long: the hook fails, or the start goes on. */
export type OnTimeout = 'fail' | 'continue'
/** How the app is held back, as a pod asks for it; `auto` is resolved by the cluster's version. */
export type GateChoice = 'hook' | 'native' | 'auto'
export type NativePosition = 'last' | 'first'
export type ExistingHookPolicy = 'chain' | 'keep' | 'refuse'
/** How the waiter gets into the pod. */
export type Delivery = 'init-container' | 'image-volume' | 'shell'

export interface Waiter {
  readonly image: string
  readonly imagePullPolicy: 'Always' | 'IfNotPresent' | 'Never'
  readonly delivery: Delivery
}

/** The checked contents of the configuration file. */
export interface Configuration {
  /** Version of this program; it stands in the status annotation. */
  readonly version: string
  readonly mode: 'enforce' | 'observe'
  readonly invalid: 'refuse' | 'warn'
  /** The cluster's version, for `gate: auto`. */
  readonly kubernetesVersion: { readonly major: number; readonly minor: number } | undefined
  readonly waiter: Waiter
  readonly defaults: {
    readonly check: Check
    /** Milliseconds. */
    readonly timeout: number
    readonly onTimeout: OnTimeout
    readonly gate: GateChoice
    readonly nativePosition: NativePosition
    readonly existingHook: ExistingHookPolicy
  }
  /** The kinds of check that annotations may use. */
  readonly annotations: { readonly checks: ReadonlySet<CheckKind> }
  readonly rules: RuleIndex
}

/** The configuration of an empty file. `version`: the program's. */
export function defaultConfiguration(version: string): Configuration {
  return {
    version,
    mode: 'enforce',
    invalid: 'refuse',
    kubernetesVersion: undefined,
    waiter: {
      image: `sidecar-first/waiter:${version}`,
      imagePullPolicy: 'IfNotPresent',
      delivery: 'init-container',
    },
    defaults: {
      check: { kind: 'probe', probe: 'either' },
      timeout: 60_000,
      onTimeout: 'fail',
      gate: 'hook',
      nativePosition: 'last',
      existingHook: 'chain',
    },
    annotations: { checks: new Set(checkKinds) },
    rules: noRules,
  }
}
