import type { LabelSelector } from '../src/admission/selector.ts'

/** The SidecarRollout resource as the API server stores it (manifests/rollouts/crd.yaml); its schema has filled in the defaults. */

export const API_GROUP = 'sidecar-first.dev'
export const API_VERSION = 'v1alpha1'
export const PLURAL = 'sidecarrollouts'
export const KIND = 'SidecarRollout'

export interface SidecarRollout {
  readonly apiVersion: `${typeof API_GROUP}/${typeof API_VERSION}`
  readonly kind: typeof KIND
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly generation: number
    readonly resourceVersion: string
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
  }
  readonly spec: RolloutSpec
  readonly status?: RolloutStatus
}

export interface RolloutSpec {
  /** Pods of the rollout's namespace, whatever owns them. Can't be changed, nor can `container`. */
  readonly selector: LabelSelector
  /** A regular container, or an init container that restarts always. */
  readonly container: string
  readonly image: string
  readonly strategy: RolloutStrategy
}

export interface RolloutStrategy {
  /** How many of the matched pods stay on the image they have; a percentage rounds up, but below 100 % one pod goes first. */
  readonly partition: number | string
  /** How many of the matched pods may be not ready; a percentage rounds down, but one is always allowed. */
  readonly maxUnavailable: number | string
  readonly minReadySeconds: number
  /** How long a touched pod may take to be done. */
  readonly progressDeadlineSeconds: number
  readonly onFailure: OnFailure
  readonly paused: boolean
}

export type OnFailure = 'pause' | 'rollback'

/**
 * - `Waiting`: an older rollout claims the container
 * - `Progressing`: images are fetched, pods are touched, or something holds them back that will pass (the condition says what)
 * - `Paused`: by `paused: true`
 * - `Stopped`: by a failure; goes on when the spec changes
 * - `RollingBack`, `RolledBack`: after a failure under `onFailure: rollback`; starts anew when the spec changes
 * - `Complete`: as many pods as shall be are on the image and done
 */
export const phases = ['Waiting', 'Progressing', 'Paused', 'Stopped', 'RollingBack', 'RolledBack', 'Complete'] as const
export type RolloutPhase = (typeof phases)[number]

/** What can go wrong with a pod, or with an image on a node. */
export const failures = ['HookFailed', 'Crashed', 'ImageUnavailable', 'StartFailed', 'DeadlineExceeded'] as const
export type FailureReason = (typeof failures)[number]

export interface RolloutFailure {
  readonly reason: FailureReason
  /** Absent when the image couldn't be fetched: then no pod of that node has been touched. */
  readonly pod?: string
  readonly node?: string
  readonly message: string
  /** The generation that failed: a changed spec is a new attempt. */
  readonly generation: number
  readonly time: string
}

export interface RolloutStatus {
  readonly observedGeneration: number
  /** Pods that the selector matches and that have the container; those that end or have ended don't count. */
  readonly matched: number
  /** When this generation was taken up: deadlines begin then at the earliest. */
  readonly since: string
  /** How many of them shall be on the image. */
  readonly desired: number
  /** Those on the image, whether they run it already or not. */
  readonly updated: number
  /** Pods that are ready and don't have the sidecar away just now. */
  readonly ready: number
  /** Pods that are done. */
  readonly updatedReady: number
  /** Pods that have been touched and aren't done. */
  readonly inProgress: number
  /** What the updated pods had before; each pod's own is in its annotation. */
  readonly previousImages?: readonly { readonly image: string; readonly pods: number }[]
  readonly phase: RolloutPhase
  readonly failure?: RolloutFailure
  readonly conditions: readonly RolloutCondition[]
}

/**
 * - `Progressing`: False when there is nothing more to do or nothing may be done
 * - `Completed`: True from when a generation has reached its share; later pods are brought along
 * - `Failed`: reason, pod and what the container said
 * - `Conflicting`: another rollout claims the container
 * - `ImageFetched`: False where a node can't fetch the image ahead, and so pods go one by one
 * - `Diverged`: pods that somebody else has patched since; they are left alone until the spec changes
 */
export const conditionTypes = ['Progressing', 'Completed', 'Failed', 'Conflicting', 'ImageFetched', 'Diverged'] as const
export type ConditionType = (typeof conditionTypes)[number]

/** Reasons of the condition `Progressing`. */
export type ProgressReason =
  | 'FetchingImage'
  | 'Updating'
  | 'TakingBack'
  | 'RollingBack'
  | 'HeldByUnreadyPods'
  | 'HeldByDisruptionBudget'
  | 'Waiting'
  | 'Paused'
  | 'Stopped'
  | 'RolledBack'
  | 'Complete'
  | 'NoPods'
  | 'CallFailed'

export interface RolloutCondition {
  readonly type: ConditionType
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
  readonly observedGeneration: number
  readonly lastTransitionTime: string
}
