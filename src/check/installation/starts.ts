import type { V1Pod } from '@kubernetes/client-node'
import type { Objects } from '../../kubernetes/objects.ts'
import { likeLacking, likeReason, likeStuck } from '../../outcome/likeness.ts'
import { type Judged, judge } from '../../outcome/outcome.ts'
import type { Early } from '../../outcome/why.ts'
import { observe, type Seen, seenByStatus } from '../../seen/observe.ts'
import { type Owner, ownerOf, ownerText } from '../../seen/owner.ts'
import type { Finding } from '../findings.ts'
import { secondsSince } from '../pod/start.ts'

/** A pod that has sidecars, whoever created it, and how it started. */
export interface StartedPod extends Pick<Judged, 'outcome' | 'lacking' | 'starts' | 'down' | 'app'> {
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
const startIn = ({ outcome, lacking, starts, down, app }: Judged) => ({ outcome, lacking, starts, down, app })

/**
 * Whether events could show more than the status does: an app that hasn't started after a while may be held up by a hook; what befell a sidecar may
 * have befallen it before its app, and an app that was restarted has started again.
 */
function mayShowMore({ outcome, containers, sidecars }: Judged, { pod, now }: Seen): boolean {
  const age = now - (pod.created ?? now)
  const waits = outcome.kind === 'unknown' && outcome.reasons.some(({ why }) => why === 'starting')
  const odd = containers.some(
    ({ name, restarts, ready, kind }) => kind !== 'init' && (restarts > 0 || (sidecars.has(name) && !ready)),
  )
  return sidecars.size > 0 && age < eventsLast && (waits ? age > patience : odd)
}

/** Alike ones of an owner are one finding. */
export function judgeStarts(all: readonly StartedPod[], now: number): readonly Finding[] {
  const owners = Map.groupBy(all, ({ owner }) => ownerText(owner))
  return [...owners].flatMap(([owner, group]): Finding[] => {
    const alike = Map.groupBy(
      group.flatMap((one) => troubles(one, now).map((finding) => ({ one, finding }))),
      ({ finding }) => likeness(finding),
    )
    return [...alike.values()].flatMap((some): Finding[] => {
      const [first] = some
      if (!first) return []
      const { one, finding } = first
      const affected = one.owner.kind === 'Pod' ? undefined : { some: some.length, all: group.length }
      return [{ ...finding, owner, affected, namespace: one.owner.namespace, pod: one.name }]
    })
  })
}

type Trouble = Extract<
  Finding,
  { kind: 'pods-lacking' | 'pods-stuck' | 'pods-down' | 'pods-too-early' | 'pods-again-early' }
>
type WithoutPods<T> = T extends unknown ? Omit<T, 'owner' | 'affected' | 'namespace' | 'pod'> : never

/** A start that nothing held back is left to those who judge whether something should have. */
function troubles({ outcome, lacking, starts, down, app }: StartedPod, now: number): WithoutPods<Trouble>[] {
  const without: WithoutPods<Trouble>[] = [
    ...(down ? [{ kind: 'pods-down', down, seconds: secondsSince(down.since?.at, now) } as const] : []),
    ...lacking.map((each) => ({ kind: 'pods-lacking', lacking: each }) as const),
  ]
  if (outcome.kind === 'stuck') {
    const { reason } = outcome
    return [{ kind: 'pods-stuck', stuck: reason, seconds: secondsSince(reason.since?.at, now) }]
  }
  if (without.length > 0) return without
  const first = outcome.kind === 'too-early' ? gated(outcome.reasons) : []
  if (first.length > 0) return [{ kind: 'pods-too-early', early: first }]
  const later = starts.filter(({ container, nth }) => container !== app || nth > 0)
  const last = later.findLast((start) => start.outcome.kind === 'too-early')?.outcome
  const early = last?.kind === 'too-early' ? gated(last.reasons) : []
  return early.length > 0 ? [{ kind: 'pods-again-early', early }] : []
}

const gated = (reasons: readonly Early[]) => reasons.filter(({ why }) => why !== 'never-gated')

/** What the containers say differs from pod to pod. */
function likeness(finding: WithoutPods<Trouble>): string {
  const { kind } = finding
  switch (kind) {
    case 'pods-lacking':
      return `${kind} ${likeLacking(finding.lacking)}`
    case 'pods-stuck':
      return `${kind} ${likeStuck(finding.stuck)}`
    case 'pods-down':
      return `${kind} ${likeStuck(finding.down)}`
    case 'pods-too-early':
    case 'pods-again-early':
      return `${kind} ${finding.early.map(likeReason).join()}`
    default:
      return kind satisfies never
  }
}
