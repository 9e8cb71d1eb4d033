import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { failureKind } from '../kubernetes/failure.ts'
import type { RawCalls } from '../kubernetes/raw.ts'
import { type SeenEvent, seenEvent } from '../seen/event.ts'
import type { Says } from '../seen/reasons.ts'
import { ExpectedError } from '../terminal/command.ts'
import type { Own } from './subject.ts'
import { createSurveyor, type Survey } from './survey.ts'
import type { Limit } from './words.ts'

/** Which pods, and of which presets' sidecars. */
interface Selection {
  /** All of them if undefined. */
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly presets: readonly string[]
  readonly own?: Own
}

interface Surroundings {
  readonly calls: RawCalls
  readonly version: string
  /** By the API server's clock, in ms. */
  readonly now: () => number
  readonly progress: (what: string) => void
}

/** 10,000 pods are 20 calls, of some 6 MB each where an injector has filled up the pods. */
const podsAtOnce = 500
/** An event is a tenth of that. */
const warningsAtOnce = 1000
/** Repeated ones are one event. So many are kept, in some 10 MB. */
const mostWarnings = 20_000

/** Lists the warnings and then the pods, and reduces each page to what is judged. @throws ExpectedError */
export async function scanCluster(selection: Selection, surroundings: Surroundings): Promise<Survey> {
  const { calls, version, now, progress } = surroundings
  const { namespace, labelSelector, presets, own } = selection
  const root = namespace === undefined ? '/api/v1' : `/api/v1/namespaces/${encodeURIComponent(namespace)}`
  progress('Listing warnings…')
  const { warnings, limits } = await readWarnings(calls, `${root}/events`)
  const surveyor = createSurveyor({ presets, ...(own && { own }), version, now })
  let expired = false
  const pods = calls.items<V1Pod>(
    `${root}/pods`,
    { labelSelector },
    { size: podsAtOnce, expired: () => (expired = true) },
  )
  let read = 0
  try {
    for await (const pod of pods) {
      // Its times are texts, whatever the type says.
      surveyor.add(pod, warnings && (warnings.get(placeOf(pod.metadata, pod.metadata?.uid)) ?? []))
      if (++read % podsAtOnce === 0) progress(`Looked at ${read} pods…`)
    }
  } catch (error) {
    if (namespace !== undefined || failureKind(error) !== 'forbidden') throw error
    throw new ExpectedError(
      'call-forbidden',
      `${(error as Error).message}\n  If you may list the pods of some namespaces only, name one with -n`,
    )
  }
  const found = surveyor.result()
  const known: Limit[] = found.workloads.length > 0 ? [] : [{ kind: 'nothing-known', workloads: found.all.workloads }]
  return {
    ...found,
    limits: [...known, ...limits, ...(expired ? [{ kind: 'list-expired' } as const] : []), ...found.limits],
  }
}

type Warnings = ReadonlyMap<string, readonly SeenEvent[]>

/** Who may write events in one namespace has no say in others. */
const placeOf = (of: { namespace?: string } | undefined, uid: string | undefined) => `${of?.namespace}/${uid}`

/** By the pod's place. Undefined where they may not be listed. */
async function readWarnings(
  calls: RawCalls,
  path: string,
): Promise<{ readonly warnings: Warnings | undefined; readonly limits: readonly Limit[] }> {
  const warnings = new Map<string, SeenEvent[]>()
  const query = { fieldSelector: 'involvedObject.kind=Pod,type=Warning' }
  let read = 0
  try {
    for await (const event of calls.items<CoreV1Event>(path, query, { size: warningsAtOnce, expired: () => {} })) {
      if (++read > mostWarnings) return { warnings, limits: [{ kind: 'warnings-cut', most: mostWarnings }] }
      const { uid } = event.involvedObject
      const seen = uid && uid.length <= mostUid ? seenEvent(event, mostText) : undefined
      if (!uid || !seen?.says || !telling.has(seen.says)) continue
      const place = placeOf(event.metadata, uid)
      const own = warnings.get(place) ?? []
      own.push(seen)
      warnings.set(place, own)
    }
  } catch (error) {
    if (failureKind(error) !== 'forbidden') throw error
    return { warnings: undefined, limits: [{ kind: 'no-events' }] }
  }
  return { warnings, limits: [] }
}

/** What says something about a start. */
const telling: ReadonlySet<Says> = new Set(['readiness-failed', 'startup-failed', 'hook-failed', 'failed'])

/** Characters of a message that are kept. */
const mostText = 256
/** No pod's is longer. */
const mostUid = 64
