import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { failureKind } from '../kubernetes/failure.ts'
import type { Objects } from '../kubernetes/objects.ts'
import { type SeenEvent, seenEvent } from './event.ts'
import { type LivePod, livePod } from './pod.ts'

/** What a cluster shows of a pod: what is kept of it, and judged. */
export interface Seen {
  readonly pod: LivePod
  /** The pod's; undefined where they can't be read or nobody has asked. */
  readonly events: readonly SeenEvent[] | undefined
  /** Its node's. */
  readonly node: readonly SeenEvent[] | undefined
  /** The pod has more events than are looked at; `events` is undefined. */
  readonly crowded?: true
  /** ms */
  readonly now: number
}

/** Characters that are kept of an event's message, and of a container's words. */
export const mostText = 1024
/** Events of one pod, or of its node, that are looked at: twelve containers that all fail have 120, and repeated ones are one. */
export const mostEvents = 500

/** What the status alone shows. */
export const seenByStatus = (pod: V1Pod, now: number): Seen => ({
  pod: livePod(pod, mostText),
  events: undefined,
  node: undefined,
  now,
})

/** Reads the events that tell how a pod started, too. What may not be read, or is too much, is undefined. @throws ClusterError */
export async function observe(objects: Objects, pod: V1Pod, now: () => number): Promise<Seen> {
  const { uid = '', namespace = '' } = pod.metadata ?? {}
  const name = pod.spec?.nodeName
  const list = (namespace: string, fieldSelector: string) =>
    eventsOf(objects.items<CoreV1Event>({ apiVersion: 'v1', kind: 'Event' }, { namespace, fieldSelector }))
  const [events, node] = await Promise.all([
    list(namespace, `involvedObject.uid=${uid}`),
    // A node's events are in the namespace default, since it has none.
    name ? list('default', `involvedObject.kind=Node,involvedObject.name=${name},reason=Starting`) : undefined,
  ])
  return seenWith(livePod(pod, mostText), events, node, now())
}

async function eventsOf(listed: AsyncIterable<CoreV1Event>): Promise<SeenEvents | undefined> {
  const found = await readEvents(listed, 1, () => 'it')
  return found && (found.get('it') ?? [])
}

/** Anyone who may create events can make more than there is memory for, and have theirs listed first: then none counts. */
type SeenEvents = readonly SeenEvent[] | 'crowded'

export function seenWith(
  pod: LivePod,
  events: SeenEvents | undefined,
  node: SeenEvents | undefined,
  now: number,
): Seen {
  const seen = { pod, node: node === 'crowded' ? undefined : node, now }
  return events === 'crowded' ? { ...seen, events: undefined, crowded: true } : { ...seen, events }
}

/**
 * Reads events by a key of the object that they are about, until there are too many about all of so many objects. Undefined where they may not be
 * listed.
 */
export async function readEvents(
  listed: AsyncIterable<CoreV1Event>,
  objects: number,
  keyOf: (object: CoreV1Event['involvedObject']) => string | undefined,
): Promise<ReadonlyMap<string, SeenEvents> | undefined> {
  const found = new Map<string, SeenEvent[] | 'crowded'>()
  const read = new Map<string, number>()
  let crowded = 0
  try {
    for await (const event of listed) {
      const key = keyOf(event.involvedObject)
      const own = key === undefined ? 'crowded' : (found.get(key) ?? [])
      if (key === undefined || own === 'crowded') continue
      const count = (read.get(key) ?? 0) + 1
      read.set(key, count)
      if (count > mostEvents && ++crowded === objects) return found.set(key, 'crowded')
      found.set(key, count > mostEvents ? 'crowded' : own)
      const seen = seenEvent(event, mostText)
      if (seen) own.push(seen)
    }
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  }
  return found
}
