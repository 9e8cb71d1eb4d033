import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'

/** When something happened. */
export interface Moment {
  /** Milliseconds since 1970, by the observer's clock. */
  readonly at: number
  /** Known to the millisecond; otherwise it may be up to a second later. */
  readonly exact: boolean
}

/** What one kind of event says about one container, the first time it happened. */
export interface Happening {
  /** Absent for events of the whole pod. */
  readonly container: string | undefined
  readonly reason: string
  readonly message: string
  readonly moment: Moment
}

/** A pod's events in the order of their time. */
export function happenings(events: readonly CoreV1Event[]): Happening[] {
  const found = events.flatMap((event): Happening[] => {
    const moment = momentOf(event)
    if (moment === undefined) return []
    // Without braces in it: of a text of nothing else, each would be looked at to its end.
    const container = /\{([^{}]+)\}$/.exec(event.involvedObject.fieldPath ?? '')?.[1]
    return [{ container, reason: event.reason ?? '', message: event.message ?? '', moment }]
  })
  return found.sort((a, b) => a.moment.at - b.moment.at)
}

/**
 * An event's own times are cut to the second, but its name ends in its first time in nanoseconds (client-go, GenerateEventName): `web.18ea0b765c81969c`. It
 * is believed if both agree.
 */
function momentOf({ metadata, eventTime, firstTimestamp }: CoreV1Event): Moment | undefined {
  const precise = eventTime ?? undefined
  if (precise) return { at: new Date(precise).getTime(), exact: true }
  if (!firstTimestamp) return undefined
  const second = new Date(firstTimestamp).getTime()
  const digits = /\.([0-9a-f]{16})$/.exec(metadata.name ?? '')?.[1]
  const named = digits === undefined ? Number.NaN : Number(BigInt(`0x${digits}`) / 1_000_000n)
  return named >= second && named < second + 1000 ? { at: named, exact: true } : { at: second, exact: false }
}

/** A time in a status. Some who write one leave it null: nobody knows it. */
export function coarse(time: Date | string | null | undefined): Moment | undefined {
  return time === undefined || time === null ? undefined : { at: new Date(time).getTime(), exact: false }
}

/** When a condition became true; undefined while it isn't. */
export function since(pod: V1Pod, type: string): Moment | undefined {
  const found = pod.status?.conditions?.find((each) => each.type === type && each.status === 'True')
  return coarse(found?.lastTransitionTime)
}

/** When a node's kubelet started, from the node's events; others on the node say `Starting` as well. */
export function kubeletStarts(events: readonly CoreV1Event[]): Moment[] {
  return events.flatMap((event) => {
    const ours = [event.source?.component, event.reportingComponent].includes('kubelet')
    const moment = momentOf(event)
    return ours && event.reason === 'Starting' && moment ? [moment] : []
  })
}

/** What of an event is judged: the rest of thousands would be most of the memory. @param most characters of its message */
export function essence({ metadata, involvedObject, message, ...event }: CoreV1Event, most: number): CoreV1Event {
  const { reason, eventTime, firstTimestamp, source, reportingComponent } = event
  return {
    metadata: { name: metadata.name },
    involvedObject: { fieldPath: begin(involvedObject.fieldPath, mostName) },
    reason: begin(reason, mostName),
    message: begin(message, most),
    eventTime,
    firstTimestamp,
    source: source && { component: begin(source.component, mostName), host: begin(source.host, mostName) },
    reportingComponent: begin(reportingComponent, mostName),
  } as CoreV1Event
}

/** An object's name and a bit; whoever may write events can make each of these as long as an object may be. */
const mostName = 300

/** Of a text; by way of its bytes, since a part of a text keeps the whole of it in memory. */
function begin(text: string | undefined, most: number): string | undefined {
  return text === undefined || text.length <= most ? text : Buffer.from(text.slice(0, most)).toString()
}
