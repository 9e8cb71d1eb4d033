import type { Check } from '../check/grammar.ts'
import type { LabelSelector } from '../pod/selector.ts'
import type {
  EndChoice,
  ExistingHookPolicy,
  GateChoice,
  LockChoice,
  LockRestarts,
  NativePosition,
  OnTimeout,
  StartupProbeChoice,
} from '../words/choices.ts'
import type { Preset } from './presets.ts'

/** Gives intent to pods that carry no annotation: the containers that match are sidecars. */
export interface Rule {
  readonly name: string
  readonly match: {
    /** A glob; the preset's names where the rule says only that. */
    readonly containers: readonly string[] | undefined
    /** Globs of the image reference; any of them. */
    readonly images: readonly string[] | undefined
    readonly podSelector: LabelSelector | undefined
    readonly namespaceSelector: LabelSelector | undefined
  }
  /** The hash of its namespaceSelector; undefined: it is for all namespaces. */
  readonly set: string | undefined
  readonly tier: number
  readonly check: Check | undefined
  /** Milliseconds. */
  readonly timeout: number | undefined
  readonly onTimeout: OnTimeout | undefined
  readonly gate: GateChoice | undefined
  readonly nativePosition: NativePosition | undefined
  readonly existingHook: ExistingHookPolicy | undefined
  readonly startupProbe: StartupProbeChoice | undefined
  readonly lock: LockChoice | undefined
  readonly lockRestarts: LockRestarts | undefined
  readonly end: EndChoice | undefined
  /** Milliseconds. */
  readonly endAppear: number | undefined
  /** A pod's own keys and its opt-out can't change what the rule says. */
  readonly enforce: boolean
  /** `enforce: audit`: it isn't enforced yet, and a pod that it would refuse is told of. */
  readonly audit: boolean
  /** Globs of `NAMESPACE/NAME`: pods for which it isn't enforced. */
  readonly exempt: readonly string[]
  /** Restartable init containers that may start before its sidecar. */
  readonly allowNatives: readonly string[]
  readonly preset: Preset | undefined
}
