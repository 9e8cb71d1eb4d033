import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { happenings } from '../outcome/moment.ts'
import { reducedPod } from '../outcome/reduced.ts'

/** The kubelet's words say whether a container waits for a lock. */
const words = { waiting: 300, ended: 0 }

/**
 * What of a pod says how it started, as JSON: a text of two thousand characters needs a tenth of the memory of what the API server sends.
 * Annotations are left out, since anybody may write as much as they like into them.
 */
export function reduced(pod: V1Pod): string {
  const { namespace, creationTimestamp } = pod.metadata ?? {}
  return JSON.stringify({ metadata: { namespace, creationTimestamp }, ...reducedPod(pod, words) })
}

export const restored = (text: string): V1Pod => JSON.parse(text)

/** What of an event is kept. */
export interface KeptEvent {
  readonly container: string | undefined
  readonly reason: string
  /** The first words of a probe's failure: which probe it was stands nowhere else. */
  readonly probe: string
  readonly at: number
  readonly exact: boolean
  /** When it happened last, by second, if it has happened again. */
  readonly last: number | undefined
  /** The node whose kubelet says it; undefined for the scheduler's. */
  readonly host: string | undefined
}

/** The reasons that say something about a start. Each stands here once, so that what is kept points to it. */
const telling = new Map(
  [
    'Scheduled',
    'Pulling',
    'Pulled',
    'Created',
    'Started',
    'Failed',
    'ErrImageNeverPull',
    'InspectFailed',
    'FailedPostStartHook',
    'Unhealthy',
    'Starting',
  ].map((reason) => [reason, reason]),
)
const probes = ['Readiness probe ', 'Startup probe ']

/** Nothing that an event is about has a longer name. */
const mostName = 253

/** Undefined for what says nothing about a start, or doesn't come from whom it should. */
export function keptEvent(event: CoreV1Event): KeptEvent | undefined {
  const { message = '', source, reportingComponent, reportingInstance, lastTimestamp, count = 1 } = event
  const reason = telling.get(event.reason ?? '')
  const [happening] = reason === undefined ? [] : happenings([event])
  if (reason === undefined || !happening) return undefined
  const probe = probes.find((each) => message.startsWith(each)) ?? ''
  // A livenessProbe's.
  if (reason === 'Unhealthy' && probe === '') return undefined
  const fromKubelet = source?.component === 'kubelet' || reportingComponent === 'kubelet'
  const host = fromKubelet ? source?.host || reportingInstance : undefined
  if (reason !== 'Scheduled' && !host) return undefined
  const { uid = '', name = '' } = event.involvedObject
  if ([uid, name, host ?? '', happening.container ?? ''].some((each) => each.length > mostName)) return undefined
  const { moment } = happening
  if (Number.isNaN(moment.at)) return undefined
  const again = count > 1 && lastTimestamp ? new Date(lastTimestamp).getTime() : 0
  // It is cut to the second: within the same one it would come before the first time, and hide it.
  const last = again > moment.at ? again : undefined
  return { container: shared(happening.container), reason, probe, ...moment, last, host: shared(host) }
}

/** The same text once: a cluster has few names of containers and nodes, each in thousands of events. */
function shared(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const known = texts.get(text)
  if (known !== undefined) return known
  // By way of its bytes, since a text that was cut out of another keeps that one.
  const own = Buffer.from(text).toString()
  // Nodes come and go, and anybody may make up more: those of now begin again.
  if (texts.size >= mostTexts) texts.clear()
  texts.set(own, own)
  return own
}
const texts = new Map<string, string>()
const mostTexts = 10_000

/** As the judges read them; what happened again stands for the first and the last time. */
export function asEvents({ container, reason, probe, at, exact, last }: KeptEvent): CoreV1Event[] {
  const times = [{ at, exact }, ...(last === undefined ? [] : [{ at: last, exact: false }])]
  return times.map((time) => {
    const iso = new Date(time.at).toISOString()
    return {
      metadata: {},
      involvedObject: { fieldPath: container === undefined ? undefined : `spec.containers{${container}}` },
      source: { component: 'kubelet' },
      reason,
      message: probe,
      ...(time.exact ? { eventTime: iso } : { firstTimestamp: iso }),
    } as unknown as CoreV1Event
  })
}

/** What is the same of two events of one pod: of these, the first is kept, with the last time. */
export const sameAs = (one: KeptEvent, other: KeptEvent): boolean =>
  one.reason === other.reason &&
  one.container === other.container &&
  one.probe === other.probe &&
  one.host === other.host

/** One for both. */
export function merged(one: KeptEvent, other: KeptEvent): KeptEvent {
  const [first, second] = one.at <= other.at ? [one, other] : [other, one]
  const last = Math.max(first.last ?? 0, second.last ?? 0, second.at)
  return { ...first, last: last > first.at ? last : undefined }
}
