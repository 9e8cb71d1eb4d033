import { waiterName } from '../admission/hook/waiter.ts'
import type { Container } from '../outcome/containers.ts'
import type { Gate, Opening } from '../outcome/gates.ts'
import type { Life } from '../outcome/lives.ts'
import { type Judged, type JudgedStart, judge, type Outcome, unjudgedOf } from '../outcome/outcome.ts'
import { type Late, lateOf, type Wait, waitsOf } from '../outcome/waits.ts'
import type { Lacking, Stuck } from '../outcome/why.ts'
import { unjudgedText } from '../outcome/words.ts'
import { coarse, type Moment } from '../seen/moment.ts'
import { mostEvents, type Seen } from '../seen/observe.ts'

/** The first start of a container, and its lives since. Unknown times are absent. */
export interface ContainerStart
  extends Pick<Container, 'name' | 'kind' | 'begun' | 'started' | 'restarts' | 'waiting' | 'lives'> {
  /** Its PostStart hook or startupProbe, which runs from its start. */
  readonly hook: StartHook | undefined
  /** At the latest; absent if nobody saw it ready. */
  readonly ready: Moment | undefined
  /** Of an init container. */
  readonly finished: Moment | undefined
  /** When its hook failed, or it crashed, for the first time. */
  readonly failed: Moment | undefined
  /** Whether the kubelet calls it ready by now. */
  readonly readyNow: boolean
  /** It runs, and nothing says when it first started. */
  readonly lost: boolean
}

interface StartHook {
  /** The containers that it waits for. */
  readonly waitsFor: readonly string[]
  readonly by: Gate['by']
  /** When the kubelet went on to the next container; absent if nothing shows it. */
  readonly ended: Moment | undefined
  readonly outcome: Opening['how']
  /** When the kubelet turned to what is behind it: it has returned by then, though its lock may be closed. */
  readonly returned: Moment | undefined
}

export interface Timeline {
  readonly namespace: string
  readonly name: string
  /** Where the axis begins. */
  readonly from: Moment
  /** Where it ends. */
  readonly until: number
  /** When all of this was so. */
  readonly now: number
  /** In the order of their start. */
  readonly starts: readonly ContainerStart[]
  /** The first container that isn't a sidecar. */
  readonly app: string | undefined
  readonly sidecars: ReadonlySet<string>
  readonly outcome: Outcome
  /** Every start of every app that something still tells of. */
  readonly appStarts: readonly JudgedStart[]
  /** So many later ones, which nobody has looked at. */
  readonly unjudged: number
  /** Why an app doesn't run now, though one has started before. */
  readonly down: Stuck | undefined
  readonly lacking: readonly Lacking[]
  /** The hooks that held the app back. */
  readonly waits: readonly Wait[]
  readonly late: readonly Late[]
  /** What can't be known about this start, one sentence each. */
  readonly unknown: readonly string[]
}

/** A pod's start, from its status and its events. @param more sidecars that the pod doesn't name itself */
export function timelineOf(seen: Seen, more: readonly string[] = []): Timeline {
  const { pod, now } = seen
  const judged = judge(seen, more)
  const starts = startsOf(judged, pod.ready)
  const { events, app, sidecars, outcome, lacking, down, starts: appStarts } = judged
  const scheduled = events.find(({ says }) => says === 'given')
  const from = earliest([
    (scheduled && { at: scheduled.at, exact: scheduled.exact }) ?? coarse(pod.taken ?? pod.created),
    ...starts.flatMap(({ begun, started }) => [begun, started]),
  ])
  const first = starts.flatMap(({ begun, started, hook, ready, finished, failed }) => [
    begun,
    started,
    hook?.ended,
    ready,
    finished,
    failed,
  ])
  // Lives go on for days: what is long after the start has a chart of its own.
  const latest = Math.max(...first.flatMap((moment) => moment?.at ?? [])) + plausible
  const lives = starts.flatMap((start) => lifeMoments(start)).filter(({ at }) => at <= latest)
  const moments = [...first, ...lives]
  const over = starts.every(({ started, lost, hook }) => (started !== undefined || lost) && hook?.outcome !== 'closed')
  const last = Math.max(from?.at ?? now, ...moments.flatMap((moment) => moment?.at ?? []))
  const until = over ? last : Math.max(now, last)
  return {
    namespace: pod.namespace,
    name: pod.name,
    from: from ?? { at: now, exact: false },
    until,
    now,
    starts,
    app,
    sidecars,
    outcome,
    appStarts,
    unjudged: judged.unjudged,
    down,
    lacking,
    waits: waitsOf(judged, until),
    late: lateOf(judged),
    unknown: unknowns(starts, judged, seen.crowded),
  }
}

/** When its lives began and ended. */
export const lifeMoments = ({ lives }: ContainerStart): readonly Moment[] =>
  lives.flatMap(({ began, ended }) => (ended ? [began, ended] : [began]))

/** A condition has only its last change: one that comes so long after the last start, in ms, is hardly the first. */
const plausible = 600_000

function startsOf({ containers, gates, sidecars }: Judged, readySince: number | undefined): readonly ContainerStart[] {
  const last = Math.max(...containers.map(({ started }) => started?.at ?? 0))
  const condition = coarse(readySince)
  const first = containers.every(({ restarts }) => restarts === 0) && condition && condition.at < last + plausible
  const all = first ? condition : undefined
  // Whoever writes a pod can give it 15,000 containers: looking through all of them for each takes seconds.
  const byCarrier = firsts(gates.map((gate) => [gate.at, gate]))
  const bySidecar = firsts(gates.flatMap((gate) => gate.for.map((name) => [name, gate] as const)))
  const nexts = begunNext(containers)
  return containers.map((container, index): ContainerStart => {
    const { name, kind, begun, started, restarts, waiting, ready: readyNow, state, ended, hookFailed } = container
    const gate = byCarrier.get(name)
    const { how, ...opened } = gate?.opening ?? { how: 'closed' }
    const opening = 'moment' in opened ? opened.moment : undefined
    const next = nexts[index]
    return {
      name,
      kind,
      begun,
      started,
      restarts,
      waiting,
      lives: container.lives,
      hook: gate && {
        waitsFor: gate.by === 'our-hook' ? gate.for : [],
        by: gate.by,
        ended: opening,
        outcome: how,
        returned: next ?? opening,
      },
      ready: kind === 'init' ? undefined : readyOf(container, bySidecar.get(name), sidecars, all),
      finished: kind === 'init' ? within(ended, started, next) : undefined,
      failed: kind === 'init' ? undefined : (hookFailed ?? failedAt(container, sidecars)),
      readyNow,
      lost: started === undefined && state === 'running',
    }
  })
}

/** Its first life has failed. */
function failedAt({ name, lives }: Container, sidecars: ReadonlySet<string>): Moment | undefined {
  const [first] = lives
  return first?.nth === 0 && hasFailed(first, sidecars.has(name)) ? first.ended : undefined
}

/** A sidecar fails by ending, whatever it says. */
export const hasFailed = ({ isOver, exitCode }: Life, isSidecar: boolean): boolean =>
  isOver && (isSidecar || exitCode !== 0)

/** Of each key the first. */
const firsts = <T>(entries: readonly (readonly [string, T])[]) => new Map(entries.toReversed())

/** For each container when the next one that has begun did. */
function begunNext(containers: readonly Container[]): readonly (Moment | undefined)[] {
  let next: Moment | undefined
  const nexts = containers.toReversed().map(({ begun }) => {
    const found = next
    next = begun ?? next
    return found
  })
  return nexts.reverse()
}

/**
 * When somebody saw a container ready: a gate that opened because of it proves that, or the pod's condition where that asks its
 * readinessProbe. An app without one is what the kubelet calls ready as soon as it runs; of a sidecar that would prove nothing.
 */
function readyOf(
  container: Container,
  gate: Gate | undefined,
  sidecars: ReadonlySet<string>,
  all: Moment | undefined,
): Moment | undefined {
  const { name, started, hook, hasReadinessProbe, hasStartupProbe } = container
  if (gate?.opening.how === 'ready') return gate.opening.moment
  if (hasReadinessProbe) return within(all, started, undefined)
  if (sidecars.has(name)) return undefined
  return hook || hasStartupProbe ? within(all, started, undefined) : started
}

/** A time cut to the second can't be before what came before it. */
function within(moment: Moment | undefined, after: Moment | undefined, before: Moment | undefined): Moment | undefined {
  if (moment === undefined || moment.exact) return moment
  const at = Math.min(Math.max(moment.at, after?.at ?? moment.at), before?.at ?? Number.POSITIVE_INFINITY)
  return { ...moment, at }
}

function earliest(moments: readonly (Moment | undefined)[]): Moment | undefined {
  return moments.reduce((least, moment) => (moment && (!least || moment.at < least.at) ? moment : least), undefined)
}

function unknowns(starts: readonly ContainerStart[], judged: Judged, crowded = false): string[] {
  const { events } = judged
  const cut = unjudgedOf([judged])
  const restarted = starts.filter(({ restarts }) => restarts > 0).map(({ name }) => name)
  const gated = starts.some(({ hook }) => (hook?.waitsFor.length ?? 0) > 1)
  const lacking = starts.some(({ started, begun }) => (started ?? begun)?.exact === false)
  const silent = starts
    .filter(({ kind, ready, readyNow }) => kind !== 'init' && readyNow && !ready)
    .map(({ name }) => name)
  const open = starts.filter(
    ({ hook }, index) =>
      hook &&
      hook.by !== 'startup-probe' &&
      hook.outcome === 'open' &&
      !hook.ended &&
      !starts.slice(index).some(({ lost }) => lost),
  )
  return [
    ...(crowded
      ? [`there are more than ${mostEvents} events about this pod, so none of them counts: times are to the second`]
      : lacking && !events.some(({ container }) => container)
        ? [
            'there are no events (a cluster keeps them for an hour, and you must be allowed to list them): times are to the second',
          ]
        : lacking
          ? ['some events are gone: what the status alone tells is to the second']
          : []),
    ...(gated ? ['which of the sidecars that a hook waits for was the last is not recorded'] : []),
    ...(starts.some(({ kind, name }) => kind === 'init' && name !== waiterName)
      ? ['the end of an init container is known to the second']
      : []),
    ...(cut ? [unjudgedText(cut)] : []),
    ...open.map(({ name }) => `the end of the hook of ${name} leaves no trace: nothing starts after it`),
    ...(silent.length > 0 ? [`whether and when ${silent.join(', ')} was ready`] : []),
    ...(restarted.length > 0
      ? [`${restarted.join(', ')} restarted: of all its runs, no more than the first and the last two are known`]
      : []),
  ]
}
