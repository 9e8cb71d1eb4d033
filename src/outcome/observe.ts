import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { failureKind } from '../kubernetes/failure.ts'
import type { Objects } from '../kubernetes/objects.ts'
import type { Seen } from './outcome.ts'

/** Reads the events that tell how a pod started. What may not be read is undefined. @throws ClusterError */
export async function observe(objects: Objects, pod: V1Pod): Promise<Pick<Seen, 'events' | 'node'>> {
  const { uid = '', namespace = '' } = pod.metadata ?? {}
  const [events, node] = await Promise.all([
    eventsOf(objects, namespace, `involvedObject.uid=${uid}`),
    kubeletEvents(objects, pod.spec?.nodeName),
  ])
  return { events, node }
}

/** A node's events are in the namespace default, since it has none. */
async function kubeletEvents(objects: Objects, node: string | undefined) {
  if (!node) return undefined
  return eventsOf(objects, 'default', `involvedObject.kind=Node,involvedObject.name=${node},reason=Starting`)
}

async function eventsOf(objects: Objects, namespace: string, fieldSelector: string) {
  const kind = { apiVersion: 'v1', kind: 'Event' }
  return objects.list<CoreV1Event>(kind, { namespace, fieldSelector }).catch((error: Error) => {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  })
}
