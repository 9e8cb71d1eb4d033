import type { CoreV1Event, V1Deployment, V1Pod } from '@kubernetes/client-node'
import { objectNames } from '../kubernetes/names.ts'

/** What is known beside a Deployment, its pods and their events. */
interface More {
  /** The last warning in a pod's log, by its name. */
  readonly warned?: Readonly<Record<string, string | undefined>>
  /** Why there is no certificate, where certs isn't who makes it. */
  readonly certificate?: string | undefined
}

/** Whether a Deployment is rolled out, as `kubectl rollout status` judges it; if not, how far it is and what is in the way. */
export function rollout(
  { metadata, spec, status = {} }: V1Deployment,
  pods: readonly V1Pod[],
  events: readonly CoreV1Event[],
  more: More = {},
): { readonly done: boolean; readonly state: string } {
  const wanted = spec?.replicas ?? 1
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0, conditions = [] } = status
  const current = observedGeneration >= (metadata?.generation ?? 0)
  const done = current && updatedReplicas === wanted && replicas === wanted && availableReplicas === wanted
  const old = replicas - updatedReplicas
  // Old replicas are usually ready: each goes when a new one is ready.
  const fresh = Math.min(updatedReplicas, Math.max(0, availableReplicas - old))
  const ready = `${fresh} of ${wanted} ${wanted === 1 ? 'replica' : 'replicas'} ready`
  const count = old > 0 ? `${ready}, ${old} of the last version still running` : ready
  if (done || !current) return { done, state: count }
  const refused = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')?.message
  const reason = refused ?? pods.map((pod) => reasonOf(pod, events, more)).find((each) => each !== undefined)
  return { done, state: reason === undefined ? count : `${count}: ${oneLine(reason)}` }
}

/** Why a pod isn't ready; undefined if it is, or has only just begun. */
function reasonOf({ metadata, status }: V1Pod, events: readonly CoreV1Event[], more: More): string | undefined {
  const conditions = new Map(status?.conditions?.map((condition) => [condition.type, condition]))
  if (conditions.get('Ready')?.status === 'True') return undefined
  const name = metadata?.name ?? ''
  const scheduled = conditions.get('PodScheduled')
  if (scheduled?.status === 'False') return `${name} isn't scheduled: ${scheduled.message}`
  const container = status?.containerStatuses?.find(({ ready }) => !ready)
  const { waiting } = container?.state ?? {}
  const ended = container?.lastState?.terminated ?? container?.state?.terminated
  // Only events tell of failed mounts.
  const warning = lastEvent(name, events)
  const message = waiting?.message ?? (waiting && warning?.message) ?? ended?.message
  const told =
    message && waitsForCerts.test(message) ? (more.certificate ?? certificateOf(metadata?.namespace)) : message
  const exit = ended?.exitCode === undefined ? undefined : `ended with exit code ${ended.exitCode}`
  const what = [waiting?.reason, told ?? exit].filter((part) => part !== undefined)
  if (what.length > 0) return `${name}: ${what.join(': ')}`
  const count = failedProbes(warning)
  const warned = more.warned?.[name]
  if (count > 1 && warned !== undefined) return `${name}: ${warning?.message}; its log: ${warned}`
  // It runs. Once or twice is how an ordinary start looks.
  return count > 2 ? `${name}: ${warning?.message}; its log says why` : undefined
}

/** A pod that runs and isn't ready, whose log may say why. */
export function silentPod(pods: readonly V1Pod[], events: readonly CoreV1Event[]): V1Pod | undefined {
  return pods.find(({ metadata, status }) => {
    const runs = status?.containerStatuses?.some(({ ready, state }) => !ready && state?.running !== undefined)
    return runs === true && failedProbes(lastEvent(metadata?.name ?? '', events)) > 1
  })
}

const failedProbes = (event: CoreV1Event | undefined): number =>
  event?.reason === 'Unhealthy' ? (event.count ?? 1) : 0

function lastEvent(name: string, events: readonly CoreV1Event[]): CoreV1Event | undefined {
  return events
    .filter(({ type, involvedObject }) => type === 'Warning' && involvedObject.name === name)
    .toSorted((a, b) => timeOf(a) - timeOf(b))
    .at(-1)
}

/** The client leaves times as texts, whatever its types say. */
const timeOf = ({ lastTimestamp }: CoreV1Event): number => (lastTimestamp ? new Date(lastTimestamp).getTime() : 0)

// In the kubelet's words.
const waitsForCerts = new RegExp(`secret "${objectNames.secret}" not found`)
/** For a moment it is so even if nothing is wrong. */
const certificateOf = (namespace = '') =>
  `it waits for the certificate from certs; if this doesn't change: kubectl logs -n ${namespace} deploy/${objectNames.certs}`

const oneLine = (text: string) => text.trim().replace(/\s+/g, ' ')
