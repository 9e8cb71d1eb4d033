import type { ClusterObject } from '../kubernetes/objects.ts'

/** Of a Deployment, what tells how far it is. */
export interface Deployment extends ClusterObject {
  readonly spec: { readonly replicas?: number; readonly selector: { readonly matchLabels?: Record<string, string> } }
  readonly status?: {
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly conditions?: readonly Condition[]
  }
}

/** Of a pod, what tells why it isn't ready. */
export interface Pod extends ClusterObject {
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string
}
interface ContainerStatus {
  readonly ready: boolean
  readonly state?: { readonly waiting?: State; readonly running?: object; readonly terminated?: State }
  readonly lastState?: { readonly terminated?: State }
}
interface State {
  readonly reason?: string
  readonly message?: string
  readonly exitCode?: number
}

/** Of an event, what it says; `lastTimestamp` may be absent. */
export interface Event extends ClusterObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly lastTimestamp?: string
  readonly involvedObject: { readonly name?: string }
}

/** Whether a Deployment is rolled out, as `kubectl rollout status` judges it; if not, how far it is, and what is in the way. */
export function rollout(
  { metadata, spec, status = {} }: Deployment,
  pods: readonly Pod[],
  events: readonly Event[],
): { readonly done: boolean; readonly state: string } {
  const wanted = spec.replicas ?? 1
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0, conditions = [] } = status
  const current = observedGeneration >= (metadata?.generation ?? 0)
  const done = current && updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted
  const old = replicas - updatedReplicas
  // Old ones are ready, as a rule: they go when a new one is.
  const fresh = Math.min(updatedReplicas, Math.max(0, availableReplicas - old))
  const ready = `${fresh} of ${wanted} ${wanted === 1 ? 'replica' : 'replicas'} ready`
  const count = old > 0 ? `${ready}, ${old} of the last version to end` : ready
  if (done || !current) return { done, state: count }
  const refused = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')?.message
  const reason = refused ?? pods.map((pod) => reasonOf(pod, events)).find((each) => each !== undefined)
  return { done, state: reason === undefined ? count : `${count}: ${oneLine(reason)}` }
}

/** Why a pod isn't ready, or undefined where it is, or only just begins. */
function reasonOf({ metadata, status }: Pod, events: readonly Event[]): string | undefined {
  const conditions = new Map(status?.conditions?.map((condition) => [condition.type, condition]))
  if (conditions.get('Ready')?.status === 'True') return undefined
  const name = metadata?.name ?? ''
  const scheduled = conditions.get('PodScheduled')
  if (scheduled?.status === 'False') return `${name} isn't scheduled: ${scheduled.message}`
  const container = status?.containerStatuses?.find(({ ready }) => !ready)
  const { waiting } = container?.state ?? {}
  const ended = container?.lastState?.terminated ?? container?.state?.terminated
  // Mounts that fail stand in events alone.
  const warning = events
    .filter(({ type, involvedObject }) => type === 'Warning' && involvedObject.name === name)
    .toSorted((a, b) => (a.lastTimestamp ?? '').localeCompare(b.lastTimestamp ?? ''))
    .at(-1)
  const message = waiting?.message ?? (waiting && warning?.message) ?? ended?.message
  const told = message && waitsForCerts.test(message) ? certificateOf(metadata?.namespace) : message
  const exit = ended?.exitCode === undefined ? undefined : `ended with exit code ${ended.exitCode}`
  const what = [waiting?.reason, told ?? exit].filter((part) => part !== undefined)
  return what.length === 0 ? undefined : `${name}: ${what.join(': ')}`
}

const waitsForCerts = /secret "sidecar-first" not found/
/** At first it is so for a moment, also where nothing is wrong. */
const certificateOf = (namespace = '') =>
  `it waits for the certificate that certs makes; if this stays so: kubectl logs -n ${namespace} deploy/sidecar-first-certs`

const oneLine = (text: string) => text.trim().replace(/\s+/g, ' ')
