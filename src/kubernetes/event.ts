import type { V1ObjectReference } from '@kubernetes/client-node'
import type { RawCalls } from './raw.ts'

/** What a person reads in `kubectl get events`. */
export interface Report {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

/** Writes an event into the namespace of the object that it is about. @param now in ms @throws ClusterError */
export async function writeEvent(
  calls: RawCalls,
  about: V1ObjectReference & { readonly namespace: string; readonly name: string },
  report: Report,
  { component, now }: { component: string; now: number },
): Promise<void> {
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')
  await calls.create(`/api/v1/namespaces/${about.namespace}/events`, {
    metadata: { generateName: `${about.name.slice(0, 200)}-`, namespace: about.namespace },
    involvedObject: about,
    ...report,
    // The longest message that the API server takes in an event.
    message: report.message.slice(0, 1024),
    source: { component },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  })
}
