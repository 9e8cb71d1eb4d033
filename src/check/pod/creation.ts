import type { CoreV1Event, KubernetesObject } from '@kubernetes/client-node'
import { failureKind } from '../../kubernetes/failure.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { msOf } from '../../seen/moment.ts'
import { mostEvents, mostText } from '../../seen/observe.ts'
import type { Finding } from '../findings.ts'
import type { SubjectKind } from './subject.ts'

type Workload = KubernetesObject & { readonly status?: unknown }

/** What keeps a workload from having pods, as its controller last noted it: in a condition, or by its events where its kind has none. @throws ClusterError */
export async function creationFindings(
  objects: Objects,
  { kind }: SubjectKind,
  { metadata, status }: Workload,
): Promise<readonly Finding[]> {
  const { name = '', namespace = '', uid = '' } = metadata ?? {}
  const job = kind === 'CronJob' ? newestJob(name, status) : undefined
  const failure = (about: string) => lastFailure(objects, { namespace, fieldSelector: about })
  const message = hasCondition.has(kind)
    ? replicaFailure(status)
    : ((await failure(`involvedObject.uid=${uid}`)) ??
      (job && (await failure(`involvedObject.kind=Job,involvedObject.name=${job}`))))
  return message === undefined ? [] : [{ kind: 'not-created', message: message.slice(0, mostText) }]
}

/** A Deployment has its ReplicaSets' condition. */
const hasCondition: ReadonlySet<string> = new Set(['Deployment', 'ReplicaSet'])

/** Of what a server sends anything may be missing. */
function replicaFailure(status: unknown): string | undefined {
  const { conditions } = (status ?? {}) as { readonly conditions?: unknown }
  const all: readonly { type?: unknown; status?: unknown; message?: unknown }[] = Array.isArray(conditions)
    ? conditions.filter((each) => typeof each === 'object' && each !== null)
    : []
  const failure = all.find((each) => each.type === 'ReplicaFailure' && each.status === 'True')
  return typeof failure?.message === 'string' ? failure.message : undefined
}

/** A CronJob names its Jobs after the minute they are due; an older one may be from before its template was corrected. */
function newestJob(name: string, status: unknown): string | undefined {
  const { lastScheduleTime } = (status ?? {}) as { readonly lastScheduleTime?: string }
  const due = msOf(lastScheduleTime)
  return due === undefined ? undefined : `${name}-${Math.floor(due / 60_000)}`
}

/** Why the last one could not be created; undefined where one was created since, or events may not be read. */
async function lastFailure(
  objects: Objects,
  selection: { readonly namespace: string; readonly fieldSelector: string },
): Promise<string | undefined> {
  let last: { readonly at: number; readonly event: CoreV1Event } | undefined
  let left = mostEvents
  try {
    for await (const event of objects.items<CoreV1Event>({ apiVersion: 'v1', kind: 'Event' }, selection)) {
      if (left-- === 0) break
      if (event.reason !== 'FailedCreate' && event.reason !== 'SuccessfulCreate') continue
      const { lastTimestamp, eventTime, firstTimestamp, metadata } = event
      // The API asks for none of these times but the last.
      const [at = 0] = [lastTimestamp, eventTime, firstTimestamp, metadata.creationTimestamp].flatMap(
        (time) => msOf(time) ?? [],
      )
      if (last === undefined || at >= last.at) last = { at, event }
    }
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return undefined
  }
  return last?.event.reason === 'FailedCreate' ? (last.event.message ?? '') : undefined
}
