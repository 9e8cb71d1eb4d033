import type { ClusterObject, Objects } from '../kubernetes/objects.ts'
import { startsOf } from '../seen/workload-pods.ts'
import { type Many, together } from './many.ts'
import { type Timeline, timelineOf } from './timeline.ts'

/**
 * How the pods of a workload started. What is being deleted is left out. @throws ClusterError
 * @param now by the API server's clock, in ms @param sidecars that rules name
 */
export async function readStarts(
  objects: Objects,
  { kind, object }: { readonly kind: string; readonly object: ClusterObject },
  now: () => number,
  sidecars: readonly string[],
): Promise<Many> {
  const { namespace = '', name = '' } = object.metadata ?? {}
  const timelines: Timeline[] = []
  let expired = false
  for await (const seen of startsOf(objects, { kind, object }, now, { expired: () => (expired = true) })) {
    timelines.push(timelineOf(seen, sidecars))
  }
  return together(timelines, { kind, namespace, name, expired })
}
