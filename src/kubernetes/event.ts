import type { RawCalls } from './raw.ts'

/** What a person reads in `kubectl get events`. */
export interface Report {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
}

/** The object that an event is about. */
interface About {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  readonly resourceVersion?: string
}

/** Writes an event into the object's namespace. @param now in ms @throws ClusterError */
export async function writeEvent(
  calls: RawCalls,
  about: About,
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
