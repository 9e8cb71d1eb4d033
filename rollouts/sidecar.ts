import type { SeenContainer, SeenPod, SeenStatus } from './pod.ts'
import type { Touch } from './record.ts'
import type { FailureReason } from './types.ts'

/** How a pod's sidecar is doing with the image that its spec has. */
export type SidecarState =
  /** Not scheduled, or held back by what starts before it: nothing of it has run, and nothing can be said yet. */
  | { readonly is: 'pending' }
  /** The old container may still run or already be away; or the new one isn't ready. */
  | { readonly is: 'starting' }
  /** Ready, but not for long enough. */
  | { readonly is: 'settling'; readonly until: number }
  | { readonly is: 'done' }
  | { readonly is: 'failed'; readonly reason: FailureReason; readonly message: string }

export interface Patience {
  /** In ms, as all of these. */
  readonly minReady: number
  readonly deadline: number
  /** When the spec was last changed: a new attempt, for which deadlines begin then at the earliest. */
  readonly since: number
  /** What had failed before `since` may still come right within the deadline, so that a stopped rollout can be resumed. */
  readonly forgiving: boolean
  readonly now: number
}

/** The note that goes with the image that the container has now; one about another image is out of date. */
export function touchOf(pod: SeenPod, container: SeenContainer): Touch | undefined {
  const touch = pod.touches.get(container.name)
  return touch?.to === container.image ? touch : undefined
}

/**
 * Whether the status is about a container of the image in the spec. While a hook runs the kubelet reports nothing: for its whole
 * duration the status is the old container's, ready and all, though the kubelet has seen the spec (1.36). So it must be another container
 * than the one that ran when the pod was touched, and of another image: the old one may have been restarted at that very moment.
 */
export function isCurrent(pod: SeenPod, container: SeenContainer): boolean {
  const { status } = container
  if (!status?.id) return false
  const touch = touchOf(pod, container)
  // Born so, or patched by somebody else.
  if (!touch) return pod.generation <= 1 || sameImage(status.image, container.image)
  if (status.id === touch.container || (pod.observed ?? pod.generation) < pod.generation) return false
  // Names are no proof that an image differs (containerd reports any tag of it), ids are none that it's the same: two tags may be one image.
  if (touch.imageId && touch.imageId === status.imageId) return status.started >= Math.floor(touch.at / 1000) * 1000
  // A kubelet that was pulling other images then starts the old one all the same, however much later.
  return sameImage(status.image, touch.to) || !sameImage(status.image, touch.from)
}

/** Whether the pod has a sidecar that was touched, by any rollout, and isn't back. Its Ready condition may not say so. */
export const isAway = (pod: SeenPod): boolean =>
  pod.containers.some(
    (one) =>
      touchOf(pod, one) !== undefined && !(isCurrent(pod, one) && one.status?.state === 'running' && one.status.ready),
  )

export function sidecarState(pod: SeenPod, container: SeenContainer, patience: Patience): SidecarState {
  const { status } = container
  const { now, minReady } = patience
  const touch = touchOf(pod, container)
  const failure = touch && failureOf(pod, container, touch, now)
  if (failure) {
    const forgiven = patience.forgiving && touch.at < patience.since && now - patience.since <= patience.deadline
    return forgiven ? { is: 'starting' } : { is: 'failed', ...failure }
  }
  if (!status?.id && !touch?.container) return { is: 'pending' }
  if (status?.state === 'running' && status.ready && isCurrent(pod, container)) {
    const until = Math.max(status.readySince, pod.ready ? pod.readyChanged : 0) + minReady
    return touch && until > now ? { is: 'settling', until } : { is: 'done' }
  }
  return touch ? startedBy(pod, container, touch, patience) : { is: 'starting' }
}

/** Starting, or failed once its time is over. */
export function startedBy(
  pod: SeenPod,
  { name }: SeenContainer,
  touch: Touch,
  { now, since, deadline }: Patience,
): SidecarState {
  // A pod that was done and isn't ready for a moment gets the whole time again.
  const from = Math.max(touch.at, since, pod.ready ? 0 : pod.readyChanged)
  if (now - from <= deadline) return { is: 'starting' }
  const message = `${name} was not ready within ${Math.round(deadline / 1000)} s`
  return { is: 'failed', reason: 'DeadlineExceeded', message }
}

/** When a touched sidecar's deadline passes, at the earliest. */
export const deadlineOf = (touch: Touch, { since, deadline }: Patience): number => Math.max(touch.at, since) + deadline

/** The kubelet's reasons for an image that isn't there. */
export const imageReasons: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])
const startReasons: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'StartError',
])
/** How long an old container's trouble may still be shown, in ms. */
const STALE = 30_000

function failureOf(
  pod: SeenPod,
  container: SeenContainer,
  touch: Touch,
  now: number,
): { reason: FailureReason; message: string } | undefined {
  const { image, status } = container
  if (!status || (pod.observed ?? pod.generation) < pod.generation) return undefined
  const { state, reason } = status
  const current = isCurrent(pod, container)
  const waiting = state === 'waiting'
  const fresh = !current && now - touch.at <= STALE
  // What was wrong with the old image may be shown for a moment more, so the message must name the new one.
  if (waiting && imageReasons.has(reason) && (status.message.includes(image) || !fresh)) {
    return { reason: 'ImageUnavailable', message: worded(status) }
  }
  if (waiting && startReasons.has(reason) && !fresh) return { reason: 'StartFailed', message: worded(status) }
  // Once it's ready an earlier end is forgotten: it must be ready for the whole time again.
  if (!current || (state === 'running' && status.ready)) return undefined
  const ended = endOf(status, touch)
  if (!ended && reason !== 'PostStartHookError' && reason !== 'CrashLoopBackOff') return undefined
  // The waiter's words are the termination message; the kubelet's own name for it is there only for a moment.
  if (reason === 'PostStartHookError' || / was not ready after /.test(ended?.message ?? '')) {
    return { reason: 'HookFailed', message: ended?.message.trim() || worded(status) }
  }
  return { reason: 'Crashed', message: worded(ended ?? status) }
}

/** How a container of the new image has ended. */
function endOf({ id, state, reason, message, last }: SeenStatus, touch: Touch) {
  if (state === 'terminated') return { reason, message }
  if (state === 'waiting') return last?.id === id ? last : undefined
  // A broken image is started once more just before the kubelet sees that it's put back: its end says nothing of the one that runs.
  return !touch.back && touch.container !== '' && last && last.id !== touch.container ? last : undefined
}

const worded = ({ reason, message }: Pick<SeenStatus, 'reason' | 'message'>) =>
  message.trim() === '' ? reason || 'it ended' : `${reason}: ${message.trim()}`

/** Whether two references are the same in full. A status without a name (`sha256:…`) may be any. */
export function sameImage(reported: string, wanted: string): boolean {
  return reported.startsWith('sha256:') || full(reported) === full(wanted)
}

function full(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  const registry = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  const path = registry ? reference : `docker.io/${rest.length > 0 ? '' : 'library/'}${reference}`
  if (path.includes('@')) return path.replace(/:[^:/@]+@/, '@')
  return /:[^/]+$/.test(path) ? path : `${path}:latest`
}
