import type { V1Pod } from '@kubernetes/client-node'
import type { Objects } from '../../kubernetes/objects.ts'
import { type Judged, judge, unjudgedOf } from '../../outcome/outcome.ts'
import { isToStart } from '../../outcome/why.ts'
import { observe, type Seen, seenByStatus } from '../../seen/observe.ts'
import { type Owner, ownerOf, ownerText } from '../../seen/owner.ts'
import { likeness, type Part, type Trouble, troublesOf } from '../../timeline/troubles.ts'
import type { Finding } from '../findings.ts'
import { secondsSince } from './start.ts'

/** A pod that has sidecars, whoever created it, and how it started. */
export interface StartedPod extends Pick<Judged, 'outcome' | 'lacking' | 'starts' | 'unjudged' | 'down' | 'app'> {
  readonly name: string
  readonly owner: Owner
}

/** A cluster keeps events for an hour. */
const eventsLast = 3_600_000
/** Before that nobody waits too long. */
const patience = 60_000

/** So many pods of one owner are looked at more closely: the others are alike. */
const mostLooked = 3

/** Judges pods by their status; a few of each owner also with their events, where these could show more. */
export function closely(objects: Objects, now: () => number) {
  const looked = new Map<string, number>()
  return async (pod: V1Pod, sidecars: readonly string[]): Promise<StartedPod> => {
    const owner = ownerOf(pod)
    const byStatus = seenByStatus(pod, now())
    const judged = judge(byStatus, sidecars)
    const key = ownerText(owner)
    const before = looked.get(key) ?? 0
    const started = { name: byStatus.pod.name, owner }
    if (before >= mostLooked || !mayShowMore(judged, byStatus)) return { ...started, ...startIn(judged) }
    looked.set(key, before + 1)
    return { ...started, ...startIn(judge(await observe(objects, pod, now), sidecars)) }
  }
}

/** Of thousands no more is kept. */
const startIn = ({ outcome, lacking, starts, unjudged, down, app }: Judged) => ({
  outcome,
  lacking,
  starts,
  unjudged,
  down,
  app,
})

/**
 * Whether events could show more than the status does: an app that hasn't started after a while may be held up by a hook; what befell a sidecar may
 * have befallen it before its app, and an app that was restarted has started again.
 */
function mayShowMore({ outcome, containers, sidecars }: Judged, { pod, now }: Seen): boolean {
  const age = now - (pod.created ?? now)
  const waits = outcome.kind === 'unknown' && outcome.reasons.some(isToStart)
  const odd = containers.some(
    ({ name, restarts, ready, kind }) => kind !== 'init' && (restarts > 0 || (sidecars.has(name) && !ready)),
  )
  return sidecars.size > 0 && age < eventsLast && (waits ? age > patience : odd)
}

/** Alike ones of an owner are one finding. @param dropped what is left to somebody else */
export function judgeStarts(
  all: readonly StartedPod[],
  now: number,
  dropped: (trouble: Trouble) => boolean = () => false,
): readonly Finding[] {
  const owners = Map.groupBy(all, ({ owner }) => ownerText(owner))
  return [...owners].flatMap(([owner, group]): Finding[] => {
    const troubles = group.flatMap((one) => worst(one, dropped).map((trouble) => ({ one, trouble })))
    const alike = Map.groupBy(troubles, ({ trouble }) => likeness(trouble))
    const found = [...alike.values()].flatMap((some): Finding[] => {
      const [first] = some
      if (!first) return []
      const { one, trouble } = first
      const affected = one.owner.kind === 'Pod' ? undefined : { some: some.length, all: group.length }
      const about = { owner, affected, namespace: one.owner.namespace, pod: one.name, trouble }
      if (trouble.part === 'stuck' || trouble.part === 'down') {
        return [{ kind: 'pods-wrong', ...about, seconds: secondsSince(trouble.what.since?.at, now) }]
      }
      return [{ kind: trouble.part === 'lacking' ? 'pods-wrong' : 'pods-doubtful', ...about, seconds: undefined }]
    })
    const cut = unjudgedOf(group)
    return cut ? [...found, { kind: 'starts-unjudged', owner, ...cut }] : found
  })
}

/** What hides what. */
const ranks: readonly (readonly Part[])[] = [['stuck'], ['down', 'lacking'], ['too-early'], ['again']]

/** Of a pod that has failed, another has the place. */
function worst(pod: StartedPod, dropped: (trouble: Trouble) => boolean): readonly Trouble[] {
  const all = troublesOf(pod).filter((trouble) => trouble.what.why !== 'pod-failed' && !dropped(trouble))
  return ranks.map((parts) => all.filter(({ part }) => parts.includes(part))).find(({ length }) => length > 0) ?? []
}
