import { appsOf, isDue } from '../seen/app.ts'
import type { SeenEvent } from '../seen/event.ts'
import { coarse, type Moment } from '../seen/moment.ts'
import type { Seen } from '../seen/observe.ts'
import type { LivePod } from '../seen/pod.ts'
import type { Says } from '../seen/reasons.ts'
import { type Container, containersOf } from './containers.ts'
import { type Gate, gatesOf } from './gates.ts'
import { eventsLast, type Kubelet, kubeletOf } from './kubelet.ts'
import { type AppStart, type Verdict, verdicts } from './start-verdict.ts'
import type { Early, Lacking, Stuck, Unknown } from './why.ts'

/** How a pod really started. */
export type Outcome =
  /**
   * The app began when its gates had opened, and the sidecars that made them open had run on since. `unwatched`: those of which nothing could have
   * shown that they weren't ready any more; `asked`: those whose probe had failed before, which a lease has asked just then.
   */
  | { readonly kind: 'held'; readonly unwatched: readonly string[]; readonly asked: readonly string[] }
  | { readonly kind: 'too-early'; readonly reasons: readonly Early[] }
  | { readonly kind: 'stuck'; readonly reason: Stuck }
  | { readonly kind: 'unknown'; readonly reasons: readonly Unknown[] }

/** One start of an app, and whether it found its sidecars ready. */
export interface JudgedStart extends AppStart {
  readonly outcome: Extract<Outcome, { kind: 'held' | 'too-early' | 'unknown' }>
}

export interface Judged {
  readonly outcome: Outcome
  /** Every start of every app that something still tells of, in the order of their time; the first app's first one is the outcome. */
  readonly starts: readonly JudgedStart[]
  /** So many later ones, which nobody has looked at. */
  readonly unjudged: number
  /** Why an app doesn't run now, though one has started before. */
  readonly down: Stuck | undefined
  readonly lacking: readonly Lacking[]
  /** Empty for a pod whose start is nobody's business. */
  readonly sidecars: ReadonlySet<string>
  /** The first container that isn't a sidecar. */
  readonly app: string | undefined
  readonly containers: readonly Container[]
  readonly gates: readonly Gate[]
  /** In the order of their time. */
  readonly events: readonly SeenEvent[]
}

/** A hook that waits longer is stuck: it's the time that a check gets by default. */
const patience = 60_000

/**
 * Judges what a cluster shows of a pod. Pure.
 * @param more sidecars that rules name; the pod's own annotation and hooks are read anyway
 */
export function judge(seen: Seen, more: readonly string[] = []): Judged {
  const { pod, now } = seen
  const events = (seen.events ?? []).toSorted((a, b) => a.at - b.at)
  const kubelet = kubeletOf(seen)
  const containers = containersOf(pod, events, kubelet, now)
  const gates = gatesOf(containers, kubelet)
  const sidecars = sidecarsOf(pod, more)
  const apps = appsOf(containers, sidecars)
  const started = apps.filter((each) => each.started).sort((a, b) => (a.started?.at ?? 0) - (b.started?.at ?? 0))
  const [app = apps[0]] = started
  const judged = { app: app?.name, sidecars, containers, gates, events }
  const due = containers.filter(isDue(sidecars))
  const nothing = due.length === 0 ? 'no-sidecars' : app ? undefined : 'no-app'
  if (!app || nothing) {
    const outcome = unknown({ why: nothing ?? 'no-app', sidecars: [] })
    return { ...judged, lacking: [], starts: [], unjudged: 0, down: undefined, outcome }
  }
  const isOver = pod.phase === 'Succeeded' || pod.phase === 'Failed'
  const lacking = !isOver && apps.some(({ state }) => state === 'running') ? due.flatMap(lackingOf) : []
  const verdict = verdicts({ containers, gates, due, events: seen.events && events, kubelet, now })
  const isYoung = seen.events !== undefined && events.length > 0 && now - (pod.created ?? 0) < eventsLast
  const all = apps
    .flatMap(({ name, lives }) => lives.map(({ nth, began }) => ({ container: name, nth, at: began })))
    .toSorted((a, b) => a.at.at - b.at.at)
  const starts = all.slice(0, Math.max(1, Math.floor(mostCompared / due.length))).map((start): JudgedStart => {
    const each = due.map((sidecar) => verdict(sidecar, start))
    return { ...start, outcome: howItStarted(each, { isYoung, isOver }) }
  })
  const first = starts.find(({ container, nth }) => container === app.name && nth === 0)
  const outcome = first?.outcome ?? howItWaits(pod, apps, judged, kubelet, now)
  const down = outcome.kind === 'stuck' ? undefined : downOf(pod, apps, judged, now)
  return { ...judged, lacking, starts, unjudged: all.length - starts.length, down, outcome }
}

/** Starts are compared with each sidecar, and anybody may write hundreds of both: 181 of each take some 40 ms. */
const mostCompared = 32_768

/** Starts of pods, and how many of them nobody has looked at. */
export interface Unjudged {
  readonly all: number
  readonly more: number
}

/** undefined where every start is judged. */
export function unjudgedOf(pods: readonly Pick<Judged, 'starts' | 'unjudged'>[]): Unjudged | undefined {
  const more = pods.reduce((sum, { unjudged }) => sum + unjudged, 0)
  return more === 0 ? undefined : { all: pods.reduce((sum, { starts }) => sum + starts.length, more), more }
}

const unknown = (...reasons: readonly Unknown[]): Outcome => ({ kind: 'unknown', reasons })

/** Whether its status says anything of its containers: where a pod is evicted, it may not. */
const isShown = ({ containers }: LivePod): boolean =>
  containers.some(({ runs, waiting }) => runs.length > 0 || waiting !== undefined)

/** Whom the app shall find: by the pod's annotations, and by the hooks of ours, whatever the annotations say. */
function sidecarsOf({ named, containers }: LivePod, more: readonly string[]): ReadonlySet<string> {
  const gated = containers.flatMap(({ name, hook }) =>
    typeof hook === 'object' ? [name, ...hook.checks.map(({ container }) => container)] : [],
  )
  return new Set([...gated, ...named, ...more])
}

function lackingOf({ name, trouble }: Container): Lacking[] {
  if (!trouble || trouble.why === 'locked') return []
  return [{ sidecar: name, why: trouble.why, message: trouble.message }]
}

type Found = Pick<Judged, 'containers' | 'gates'>

/** An app has started: was each of its sidecars ready? */
function howItStarted(
  verdicts: readonly Verdict[],
  { isYoung, isOver }: { readonly isYoung: boolean; readonly isOver: boolean },
): JudgedStart['outcome'] {
  const early = verdicts.flatMap((each) => (each.early ? [each.early] : []))
  if (early.length > 0) return { kind: 'too-early', reasons: once(early) }
  const unsure = verdicts.flatMap((each) => (each.unsure ? [each.unsure] : []))
  const reasons = unsure.map((each): Unknown => {
    if (isOver && each.why === 'status-late') return { ...each, why: 'status-lost' }
    return isYoung && each.why === 'events' ? { ...each, why: 'event-missing' } : each
  })
  if (reasons.length > 0) return { kind: 'unknown', reasons: once(reasons) }
  const named = (what: 'unwatched' | 'asked') => verdicts.flatMap((each) => each[what] ?? [])
  return { kind: 'held', unwatched: named('unwatched'), asked: named('asked') }
}

/** One for each reason, with all its sidecars. */
const once = <T extends { readonly why: string; readonly sidecars: readonly string[] }>(all: readonly T[]): T[] =>
  [...Map.groupBy(all, ({ why }) => why).values()].flatMap((alike) => {
    const sidecars = [...new Set(alike.flatMap((each) => each.sidecars))]
    return alike.slice(0, 1).map((first) => ({ ...first, sidecars }))
  })

/** No app is known to have started. */
function howItWaits(
  pod: LivePod,
  apps: readonly Container[],
  found: Found & Pick<Judged, 'events'>,
  kubelet: Kubelet,
  now: number,
): Outcome {
  if (pod.phase === 'Succeeded' || pod.phase === 'Failed')
    return unknown({ why: isShown(pod) ? 'ended' : 'status-lost', sidecars: [] })
  // What runs, or has run, waits for nobody.
  const hasRun = ({ state, lives, runs }: Container) =>
    state === 'running' || lives.length > 0 || runs.some(({ how }) => how !== 'never-ran')
  if (apps.some(hasRun)) return unknown({ why: 'lost', sidecars: [] })
  const reason = holdUp(pod, apps, found, now)
  if (reason && isLate(pod, apps, found, kubelet, now))
    return unknown({ why: 'status-late', sidecars: apps.map(({ name }) => name) })
  if (reason) return { kind: 'stuck', reason }
  if (apps.some(({ restarts }) => restarts > 0)) return unknown({ why: 'lost', sidecars: [] })
  const locked = apps.find(({ trouble }) => trouble?.why === 'locked')
  if (locked) return unknown({ why: 'locked', ...keysOf(locked, found) })
  const [app] = apps
  return unknown({ why: 'starting', sidecars: app ? [app.name] : [] })
}

/** So long, in ms, a kubelet that has just started may take until it has looked at all its pods, on a busy node. */
const looksAtAll = 120_000

/**
 * Whether an app may have started since the status was written: the kubelet has turned to it later than anything that the status shows, and hasn't said that
 * it failed; or there has been another kubelet, and of what the one before told last, some may be lost.
 */
function isLate(
  { containers, taken = 0, ready = 0, unready = 0 }: LivePod,
  apps: readonly Container[],
  { events }: Pick<Judged, 'events'>,
  { last: kubelet = 0 }: Kubelet,
  now: number,
): boolean {
  const shown = containers.flatMap(({ runs }) => runs.flatMap(({ began = 0, ended = 0 }) => [began, ended]))
  const written = shown.reduce((latest, each) => Math.max(latest, each), Math.max(taken, ready, unready))
  const told = Map.groupBy(events, ({ container }) => container)
  const turned = apps.flatMap(({ name, leased, trouble }) => {
    // The next round of a lock that was closed is no start.
    if (leased && trouble?.why === 'locked') return []
    const own = told.get(name) ?? []
    const lastOf = (...what: readonly Says[]) =>
      Math.max(0, ...own.filter(({ says }) => says && what.includes(says)).map(({ at, last = at }) => last))
    const turn = lastOf('begun', 'pulled', 'created')
    return turn >= lastOf('failed', 'backs-off') + 1000 ? [turn] : []
  })
  return [kubelet, ...turned].some((at) => at > written && now - at < looksAtAll)
}

/** An app has started, and one doesn't run: what keeps it from it? One that is done is not meant. */
function downOf(pod: LivePod, apps: readonly Container[], found: Found, now: number): Stuck | undefined {
  if (pod.phase === 'Succeeded') return undefined
  if (pod.phase === 'Failed') return failedWith(pod, apps)
  const down = apps.filter(({ runs, trouble }) => trouble && !(trouble.why === 'ended' && runs[0]?.exitCode === 0))
  const own = down.find(({ trouble }) => trouble && trouble.why !== 'locked')
  if (!own) return down.length > 0 ? holdUp(pod, down, found, now) : undefined
  const { name: container, trouble, lives } = own
  const since = lives.at(-1)?.ended ?? sinceOf(own, pod)
  if (trouble?.why === 'ended') return { why: 'ended', container, since, message: trouble.message, apps: [] }
  // What a native sidecar or an init container lacks keeps the app from being started again.
  const before = found.containers.filter(({ kind }) => kind !== 'regular')
  const held =
    trouble?.why === 'not-restarted' ? holdUp(pod, before, { ...found, containers: before }, now, true) : undefined
  const stuck = held ?? holdUp(pod, [own], found, now, true)
  return stuck && { ...stuck, since }
}

/** An app that ended by itself has failed with its pod; anything else was ended with it, and nothing may have written that down. */
function failedWith({ failure, unready, taken, created }: LivePod, apps: readonly Container[]): Stuck | undefined {
  const app =
    apps.find(({ state }) => state === 'running') ??
    (failure === undefined ? undefined : apps.find(({ lives }) => lives.length > 0))
  if (!app) return undefined
  const since = app.lives.at(-1)?.ended ?? coarse(unready ?? taken ?? created)
  return { why: 'pod-failed', container: app.name, since, message: failure ?? 'its status has no reason' }
}

/** In the order of the start: what holds up what is behind it? @param alone only the app itself is to blame */
function holdUp(
  pod: LivePod,
  apps: readonly Container[],
  { containers, gates }: Found,
  now: number,
  alone = false,
): Stuck | undefined {
  const locked =
    apps.find(({ trouble }) => trouble?.why === 'locked') ?? containers.find(({ trouble }) => trouble?.why === 'locked')
  const closed = new Map(gates.filter(({ opening }) => opening.how === 'closed').map((each) => [each.at, each]))
  const awaited = new Set(gates.flatMap((each) => each.for))
  // Nothing writes a lock any more whose hook has ended with its container.
  const keys = new Set(locked ? gates.flatMap((each) => (each.locks ? each.for : [])) : [])
  const turned = new Set(containers.flatMap(({ begun, locks }) => (begun ? locks : [])))
  for (const container of alone ? apps : containers) {
    const { name, kind, lives, restarts } = container
    const gate = closed.get(name)
    const last = lives.at(-1)
    // It has been started again since its trouble was written down.
    const trouble = !alone && last && last.nth > restarts ? undefined : container.trouble
    // The hook of its last run is the one that waits.
    const waitsSince = gate && last && last.began.at > gate.from.at ? last.began : gate?.from
    const since = sinceOf(container, pod)
    if (trouble?.why === 'ended' && keys.has(name) && kind === 'regular') {
      const waiting = apps.filter((each) => each.trouble?.why === 'locked').map((each) => each.name)
      return { why: 'ended', container: name, since, message: trouble.message, apps: waiting }
    }
    if (trouble && trouble.why !== 'locked' && trouble.why !== 'ended') {
      // A regular sidecar holds nobody up by that; its hook may be another's.
      const holds = kind !== 'regular' || apps.includes(container) || awaited.has(name)
      if (holds) return { why: trouble.why, container: name, since, message: trouble.message }
    }
    if (!gate || !waitsSince || now - waitsSince.at < patience) continue
    if (gate.by === 'startup-probe' || !locked) {
      // With a lease a hook ends before anything behind it begins, and is not what the rest waits for.
      if (gate.lease && turned.has(gate.lease.lock)) continue
      const why = gate.by === 'startup-probe' ? gate.by : 'hook'
      return { why, container: name, since: waitsSince, sidecars: gate.for }
    }
    return { why: 'locked', container: locked.name, since: waitsSince, sidecars: gate.for, ask: gate.lease && name }
  }
  const since = locked && (locked.lives.at(-1)?.ended ?? locked.lastStarted ?? gates[0]?.from ?? coarse(pod.taken))
  if (!locked || !since || now - since.at < patience) return undefined
  return { why: 'locked', container: locked.name, since, ...keysOf(locked, { containers, gates }) }
}

/** For whom a locked container waits, and which of them knows more. */
function keysOf(locked: Container, { containers, gates }: Found) {
  const own = gates.filter(({ lease }) => lease && locked.locks.includes(lease.lock))
  const names = new Set(own.flatMap((each) => each.for))
  const front = containers.slice(0, containers.indexOf(locked)).filter(({ kind }) => kind !== 'init')
  const behind = own.length > 0 ? containers.filter(({ name }) => names.has(name)) : front
  const unready = behind.filter(({ ready }) => !ready)
  const sidecars = new Set((unready.length > 0 ? unready : behind).map(({ name }) => name))
  return { sidecars: [...sidecars], ask: own.find((each) => each.for.some((name) => sidecars.has(name)))?.at }
}

/** Without events nobody knows more than since when the pod isn't ready, at the latest. */
const sinceOf = (
  { hookFailed, hadTrouble, ended, started }: Container,
  { unready, taken, created }: LivePod,
): Moment | undefined => hookFailed ?? hadTrouble?.moment ?? ended ?? started ?? coarse(unready ?? taken ?? created)
