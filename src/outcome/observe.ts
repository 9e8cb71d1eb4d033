import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { failureKind } from '../kubernetes/failure.ts'
import type { Objects } from '../kubernetes/objects.ts'
import { essence } from './moment.ts'
import { mostEvents, type Seen } from './outcome.ts'

/** Characters of an event's message that are kept. */
const mostText = 1024

/** Reads the events that tell how a pod started. What may not be read, or is too much, is undefined. @throws ClusterError */
export async function observe(objects: Objects, pod: V1Pod): Promise<Pick<Seen, 'events' | 'node' | 'crowded'>> {
  const { uid = '', namespace = '' } = pod.metadata ?? {}
  const [events, node] = await Promise.all([
    eventsOf(objects, namespace, `involvedObject.uid=${uid}`),
    kubeletEvents(objects, pod.spec?.nodeName),
  ])
  const all = { events: readable(events), node: readable(node) }
  return events === 'crowded' ? { ...all, crowded: true } : all
}

const readable = (events: Awaited<ReturnType<typeof eventsOf>>) => (events === 'crowded' ? undefined : events)

/** A node's events are in the namespace default, since it has none. */
async function kubeletEvents(objects: Objects, node: string | undefined) {
  if (!node) return undefined
  return eventsOf(objects, 'default', `involvedObject.kind=Node,involvedObject.name=${node},reason=Starting`)
}

/** Anyone who may create events can make more than there is memory for, and have theirs listed first: then none counts. */
async function eventsOf(objects: Objects, namespace: string, fieldSelector: string) {
  const kind = { apiVersion: 'v1', kind: 'Event' }
  const found: CoreV1Event[] = []
  try {
    for await (const event of objects.items<CoreV1Event>(kind, { namespace, fieldSelector })) {
      if (found.length === mostEvents) return 'crowded'
      found.push(essence(event, mostText))
    }
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  }
  return found
}
