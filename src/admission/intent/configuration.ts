import { type Check, type CheckKind, checkKinds } from '../check/grammar.ts'
import { defaultLockRestarts } from '../hook/waiter.ts'
import type {
  EndChoice,
  ExistingHookPolicy,
  FailurePolicy,
  GateChoice,
  LeaseChoice,
  LockChoice,
  LockRestarts,
  NativePosition,
  OnTimeout,
  StartupProbeChoice,
  Waiter,
} from '../words/choices.ts'
import { noRules, type RuleIndex } from './rule-index.ts'

/** The checked contents of the configuration file. */
export interface Configuration {
  /** The version of this program, for the status annotation. */
  readonly version: string
  readonly mode: 'enforce' | 'observe'
  readonly invalid: 'refuse' | 'warn'
  /** The version of the cluster's oldest node, for `auto`. */
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
    /** Undefined: by where the sidecar stands. */
    readonly startupProbe: StartupProbeChoice | undefined
    readonly lock: LockChoice
    readonly lockRestarts: LockRestarts
    readonly end: EndChoice
    /** Milliseconds. */
    readonly endAppear: number
  }
  readonly lease: LeaseChoice
  /** The runtimeClassNames whose memory volumes the kubelet can read. */
  readonly runtimeClasses: ReadonlySet<string>
  /** The kinds of check that annotations may use. */
  readonly annotations: { readonly checks: ReadonlySet<CheckKind> }
  /** Containers that an injector adds to pods: a name that no preset knows. */
  readonly injected: ReadonlySet<string>
  readonly enforced: {
    /** What an outage means for pods under enforced rules; by default, what it means for all others. */
    readonly failurePolicy: FailurePolicy | undefined
    /** The containers that may start before an enforced rule's sidecar, such as a mesh's proxy: globs, both of which have to match. */
    readonly inFront: readonly { readonly container: string; readonly image: string }[]
  }
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
      mirrors: [],
    },
    defaults: {
      check: { kind: 'probe', probe: 'either' },
      timeout: 60_000,
      onTimeout: 'fail',
      gate: 'hook',
      nativePosition: 'last',
      existingHook: 'chain',
      startupProbe: undefined,
      lock: 'auto',
      lockRestarts: defaultLockRestarts,
      end: 'together',
      endAppear: 5000,
    },
    lease: 'on',
    runtimeClasses: new Set(),
    annotations: { checks: new Set(checkKinds) },
    injected: new Set(),
    enforced: { failurePolicy: undefined, inFront: [] },
    rules: noRules,
  }
}
