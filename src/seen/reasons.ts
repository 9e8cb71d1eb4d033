// What the kubelet's reasons mean, each once. A reason that isn't here passes by itself, or says nothing about a start.

/** What keeps a waiting container from starting: its image isn't there, its environment can't be made, or it can't be created or started. */
type WaitsFor = 'image' | 'configuration' | 'start'

/** Of `state.waiting` (pkg/kubelet/images/types.go, pkg/kubelet/kuberuntime). */
const waits: ReadonlyMap<string, WaitsFor> = new Map([
  ['ErrImagePull', 'image'],
  ['ImagePullBackOff', 'image'],
  ['ErrImageNeverPull', 'image'],
  ['InvalidImageName', 'image'],
  ['ImageInspectError', 'image'],
  ['RegistryUnavailable', 'image'],
  ['SignatureValidationFailed', 'image'],
  ['CreateContainerConfigError', 'configuration'],
  ['CreateContainerError', 'start'],
  ['RunContainerError', 'start'],
  ['PreCreateHookError', 'start'],
  ['PreStartHookError', 'start'],
])

/** undefined for all that passes by itself: a container that is being created, a back-off. */
export const waitsFor = (reason: string): WaitsFor | undefined => waits.get(reason)

/** Of the reasons for an image that isn't there, those that a retry can't fix. */
export const finalImageReasons: ReadonlySet<string> = new Set(['ErrImageNeverPull', 'InvalidImageName'])

/** Nothing is wrong so far. */
export const isStarting = (reason: string): boolean => ['', 'ContainerCreating', 'PodInitializing'].includes(reason)

/** It has ended and is started again after a while. */
export const isCrashLoop = (reason: string): boolean => reason === 'CrashLoopBackOff'

/** The kubelet's own name for a hook that failed, which stands in a status only for a moment. */
export const isHookError = (reason: string): boolean => reason === 'PostStartHookError'

/** How a container has ended: `error` by itself, `memory`; `never-ran`; `lost`: nobody knows, which also counts as not having run. */
type End = 'error' | 'memory' | 'never-ran' | 'lost'

/** Of `state.terminated`. One that couldn't be started has a "run" as well, which began in 1970 or never. */
const ends: ReadonlyMap<string, End> = new Map([
  ['Error', 'error'],
  ['OOMKilled', 'memory'],
  ['StartError', 'never-ran'],
  ['ContainerCannotRun', 'never-ran'],
  ['ContainerStatusUnknown', 'lost'],
])

/** undefined for an end in peace, or by what nobody knows. */
export const endedBy = (reason = ''): End | undefined => ends.get(reason)

/** What an event says about a pod's start. */
export type Says =
  /** The pod was given to its node. */
  | 'given'
  /** The kubelet has turned to the container; `pulled`: its image is there, and what fails after that is the start. */
  | 'begun'
  | 'pulled'
  | 'created'
  | 'started'
  /** Its image can't be had, or it can't be created or started; `backs-off`: and is tried again later. */
  | 'failed'
  | 'backs-off'
  | 'hook-failed'
  | 'readiness-failed'
  | 'startup-failed'
  /** Of a node; others on it say so as well. */
  | 'starting'

const events: ReadonlyMap<string, Says> = new Map([
  ['Scheduled', 'given'],
  ['Pulling', 'begun'],
  ['Created', 'created'],
  ['Pulled', 'pulled'],
  ['Started', 'started'],
  ['Failed', 'failed'],
  ['ErrImageNeverPull', 'failed'],
  ['InspectFailed', 'failed'],
  ['BackOff', 'backs-off'],
  ['FailedPostStartHook', 'hook-failed'],
  ['Starting', 'starting'],
])

/** Which probe has failed stands only in the kubelet's words (pkg/kubelet/prober). A livenessProbe says nothing about being ready. */
export function whatSays(reason = '', message = ''): Says | undefined {
  if (reason !== 'Unhealthy') return events.get(reason)
  if (message.startsWith('Readiness probe ')) return 'readiness-failed'
  return message.startsWith('Startup probe ') ? 'startup-failed' : undefined
}
