import type { LabelSelector } from '../src/admission/pod/selector.ts'
import { objectNames, selectorOf } from '../src/kubernetes/names.ts'

/** The SidecarRollout resource as the API server stores it (manifests/rollouts/crd.yaml); its schema has filled in the defaults. */

export const API_GROUP = 'sidecar-first.dev'
export const API_VERSION = 'v1alpha1'
export const PLURAL = 'sidecarrollouts'
export const KIND = 'SidecarRollout'

/** The controller's Lease, its Deployment, its policy, and the source of its events. */
export const CONTROLLER = objectNames.rollouts
/** The labels of the controller's objects, as kubectl takes them. */
export const CONTROLLER_LABELS = selectorOf('rollouts')

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

/** The status, once a controller has taken up the present spec. */
export const currentStatus = ({ metadata, status }: SidecarRollout): RolloutStatus | undefined =>
  status !== undefined && status.observedGeneration >= metadata.generation ? status : undefined

export interface RolloutSpec {
  /** Pods of the rollout's namespace, whatever owns them. Can't be changed, nor can `container`. */
  readonly selector: LabelSelector
  /** A regular container, or an init container that restarts always. */
  readonly container: string
  readonly image: string
  /** Images that may be replaced besides those found at first; `*` stands for anything. */
  readonly from?: readonly string[]
  readonly strategy: RolloutStrategy
  /** Deletes the rollout so long after no pod needs it any more; absent: never. */
  readonly ttlSecondsAfterUnneeded?: number
}

export interface RolloutStrategy {
  /** How many of the matched pods stay on the image they have; a percentage rounds up, but below 100 % one pod goes first. */
  readonly partition: number | string
  /** How many of the matched pods may be not ready; a percentage rounds down, but one is always allowed. */
  readonly maxUnavailable: number | string
  readonly minReadySeconds: number
  /** How long the first pods have to run with the new sidecar before others get it, and the last before it is complete. */
  readonly bakeSeconds: number
  /** How long a touched pod may take to be done. */
  readonly progressDeadlineSeconds: number
  /** How many pods may fail, or nodes may fail to pull the image, before the rollout has failed; a percentage rounds down. */
  readonly maxFailures: number | string
  readonly onFailure: OnFailure
  /** What a touched pod is judged by: its own Ready, if it was before, or its sidecar alone. */
  readonly judge: 'Pod' | 'Sidecar'
  readonly paused: boolean
  /** Where the pods stand that are not to have the image: on the last image that was complete, or on what each had at first. */
  readonly rest: 'base' | 'origin'
}

export type OnFailure = 'pause' | 'rollback'

/** Which one a rollout is in is decided by the rules in controller/phase-rules.ts. */
export const phases = ['Waiting', 'Progressing', 'Paused', 'Stopped', 'RollingBack', 'RolledBack', 'Complete'] as const
export type RolloutPhase = (typeof phases)[number]

/** What can go wrong with a pod, or with an image on a node. */
export const failures = [
  'HookFailed',
  'Crashed',
  'ImageUnavailable',
  'StartFailed',
  'DeadlineExceeded',
  'AppNotReady',
] as const
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

/** An image that the spec has, or had. */
export interface Revision {
  readonly image: string
  /** Once completed: the partition with which it was. */
  readonly partition: number | string
  readonly completed: boolean
  /** When it last was, with no pod failing: those that had been touched with it by then were done. */
  readonly completedAt?: string
  /** From when its first pods had baked: those that had been touched with it by then have. */
  readonly bakedUntil?: string
  /** What admission makes of the image. */
  readonly effective?: string
  /** What it makes of it when pods are created, where that is another. */
  readonly born?: string
}

/** The condition that says that this generation has reached its share. */
export const completedIn = ({ metadata, status }: SidecarRollout): RolloutCondition | undefined =>
  status?.conditions.find(
    ({ type, status: value, observedGeneration }) =>
      type === 'Completed' && value === 'True' && observedGeneration === metadata.generation,
  )

/** How many pods of a rollout are in which state. */
export interface Counts {
  /** Pods that the selector matches and that have the container; those that end or have ended don't count. */
  readonly matched: number
  /** How many of them are to be on the image. */
  readonly desired: number
  /** Those on the image, whether they run it already or not. */
  readonly updated: number
  /** Pods that are ready and whose sidecar isn't away. */
  readonly ready: number
  /** Pods that are done. */
  readonly updatedReady: number
  /** Pods that have been touched and aren't done. */
  readonly inProgress: number
  /** Pods whose kubelet hasn't seen the touch for a while, or hasn't shown since that it lives. */
  readonly silent: number
  /** Pods whose touch admission has undone. */
  readonly refused: number
  /** Pods with an image that isn't ours to replace. */
  readonly superseded: number
  /** What the updated pods had before, the twenty most frequent; each pod's own is in its annotation. */
  readonly previousImages: readonly { readonly image: string; readonly pods: number }[]
}

export interface RolloutStatus extends Counts {
  readonly observedGeneration: number
  /** When this generation was taken up: deadlines begin then at the earliest. */
  readonly since: string
  /** The last five images of the spec; the present one is the last. */
  readonly revisions?: readonly Revision[]
  /** The images that may be replaced. */
  readonly origins?: readonly string[]
  readonly phase: RolloutPhase
  readonly failure?: RolloutFailure
  readonly conditions: readonly RolloutCondition[]
}

export const conditionTypes = [
  /** The rollout is complete. */
  'Ready',
  /** It is on its way, or waits for what will pass. */
  'Reconciling',
  /** It needs somebody: a failure, a conflict, a pause, nothing but refused touches or kubelets that are too old, or nothing happens any more. */
  'Stalled',
  /** What it does, or what holds it. */
  'Progressing',
  /** True from when a generation has reached its share; later pods are brought along. */
  'Completed',
  /** Reason, pod and what the container said. */
  'Failed',
  /** Another rollout claims the container. */
  'Conflicting',
  /** False where a node can't fetch the image ahead, or not yet. */
  'ImageFetched',
  /** Pods with an image that isn't ours to replace, such as a newer release's. */
  'Superseded',
  /** Pods whose touch admission has undone. */
  'Refused',
  /** Pods whose kubelet doesn't answer. */
  'Silent',
  /** Touched pods that aren't ready for what is not the sidecar's doing: they have twice the time. */
  'Held',
  /** Pods of kubelets before 1.34, which are left alone. */
  'NodesTooOld',
  /** Workloads whose template still has an image that is replaced here. */
  'TemplateBehind',
  /** Complete, and no pod has an image from here any more. */
  'Unneeded',
] as const
export type ConditionType = (typeof conditionTypes)[number]

/** Reasons of the condition `Progressing`: what it does or what holds it; otherwise the phase says it, or why that is so. */
export type ProgressReason =
  | Exclude<RolloutPhase, 'Progressing'>
  | 'FetchingImage'
  | 'Updating'
  | 'TakingBack'
  | 'Baking'
  | 'HeldByUnreadyPods'
  | 'HeldByDisruptionBudget'
  | 'Refused'
  | 'NodesTooOld'
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
