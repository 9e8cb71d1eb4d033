import type { CoreV1Event } from '@kubernetes/client-node'
import { type Moment, msOf } from './moment.ts'
import { type Says, whatSays } from './reasons.ts'

/** What of an event is kept and judged, about a pod or a node. Its moment is the first time that it happened. */
export interface SeenEvent extends Moment {
  readonly says: Says | undefined
  /** Absent for events of the whole pod. */
  readonly container: string | undefined
  readonly message: string
  /** When it happened last, in ms but by the second, if it has happened again. */
  readonly last: number | undefined
  /** How often it has happened, if more than once. */
  readonly times?: number
  /** The node whose kubelet says it, empty where it doesn't say which; undefined for anybody else's. */
  readonly host: string | undefined
}

/** Undefined for one without a time. @param most characters of its message: those of thousands would be most of the memory */
export function seenEvent(event: CoreV1Event, most: number): SeenEvent | undefined {
  const { source, reportingComponent, reportingInstance, lastTimestamp, count = 1, message = '', reason } = event
  const moment = momentOf(event)
  if (moment === undefined) return undefined
  const again = count > 1 ? (msOf(lastTimestamp) ?? 0) : 0
  // Without braces in it: of a text of nothing else, each would be looked at to its end.
  const container = /\{([^{}]+)\}$/.exec(event.involvedObject.fieldPath ?? '')?.[1]
  const fromKubelet = [source?.component, reportingComponent].includes('kubelet')
  return {
    says: whatSays(reason, message),
    container: shared(container),
    message: own(message.slice(0, most)),
    ...moment,
    // It is cut to the second: within the same one it would come before the first time, and hide it.
    last: again > moment.at ? again : undefined,
    ...(count > 1 && { times: count }),
    host: fromKubelet ? shared(source?.host || reportingInstance || '') : undefined,
  }
}

/**
 * An event's own times are cut to the second, but its name ends in its first time in nanoseconds (client-go, GenerateEventName): `web.18ea0b765c81969c`. It
 * is believed if both agree.
 */
function momentOf({ metadata, eventTime, firstTimestamp }: CoreV1Event): Moment | undefined {
  if (eventTime) return exactly(msOf(eventTime))
  const second = msOf(firstTimestamp)
  if (second === undefined) return undefined
  const digits = /\.([0-9a-f]{16})$/.exec(metadata.name ?? '')?.[1]
  const named = digits === undefined ? Number.NaN : Number(BigInt(`0x${digits}`) / 1_000_000n)
  return named >= second && named < second + 1000 ? exactly(named) : { at: second, exact: false }
}

const exactly = (at: number | undefined): Moment | undefined => (at === undefined ? undefined : { at, exact: true })

/** The first and the last time. */
export const timesOf = ({ at, exact, last }: SeenEvent): readonly Moment[] =>
  last === undefined
    ? [{ at, exact }]
    : [
        { at, exact },
        { at: last, exact: false },
      ]

/** A probe has failed that says whether a container is ready. */
export const isNotReady = (says: SeenEvent['says']): boolean => says === 'readiness-failed' || says === 'startup-failed'

/** When a node's kubelet started, from the node's events. */
export const kubeletStarts = (events: readonly SeenEvent[]): readonly Moment[] =>
  events.flatMap((event) => (event.says === 'starting' && event.host !== undefined ? timesOf(event) : []))

/** Nothing that an event is about has a longer name, though whoever may write events can write one. */
export const mostName = 253

/** The same name once: a cluster has few names of containers and nodes, each in thousands of events. Too long a name is nobody's. */
function shared(name: string | undefined): string | undefined {
  if (name === undefined || name.length > mostName) return undefined
  const known = names.get(name)
  if (known !== undefined) return known
  const copy = own(name)
  // Nodes come and go, and anybody may make up more: those of now begin again.
  if (names.size >= mostNames) names.clear()
  names.set(copy, copy)
  return copy
}
const names = new Map<string, string>()
const mostNames = 10_000

/** By way of its bytes, since a text that was cut out of another keeps that one in memory. */
const own = (text: string): string => Buffer.from(text).toString()
