import { type SeenEvent, timesOf } from '../seen/event.ts'
import { before, type Moment, mostBetween, surelyBefore } from '../seen/moment.ts'
import { type Container, inVain } from './containers.ts'
import type { Gate } from './gates.ts'
import { eventsLast, type Kubelet } from './kubelet.ts'
import { covers, type Life, type Presence, presenceAt } from './lives.ts'
import type { Early, Unknown } from './why.ts'

/** A start of an app. */
export interface AppStart {
  readonly container: string
  /** Counted from 0: the number of its restarts by then. */
  readonly nth: number
  readonly at: Moment
}

/** What the verdicts on all starts of a pod rest on. */
interface Grounds {
  readonly containers: readonly Container[]
  readonly gates: readonly Gate[]
  /** For whom an app waits. */
  readonly due: readonly Container[]
  /** In the order of their time; undefined where they can't be read. */
  readonly events: readonly SeenEvent[] | undefined
  readonly kubelet: Kubelet
  readonly now: number
}

/** What is looked up again and again: a pod may have hundreds of containers. */
interface Prepared extends Pick<Grounds, 'kubelet' | 'now'> {
  readonly container: ReadonlyMap<string, Container>
  /** The first one for each. */
  readonly gate: ReadonlyMap<string, Gate>
  /** By their lock; what was answered for a later tier's sidecar doesn't count. */
  readonly held: ReadonlyMap<string, readonly Container[]>
  readonly members: (gate: Gate) => readonly Container[]
  readonly told: ReadonlyMap<string | undefined, readonly SeenEvent[]> | undefined
  /** How much the kubelet has told of the pod. */
  readonly amount: number
}

/** Neither early nor unsure: it was ready when its gate opened, and ran on; `unwatched` if nothing could have shown that it wasn't ready any more. */
export interface Verdict {
  readonly early?: Early
  readonly unsure?: Unknown
  readonly unwatched?: string
  /** Its probe had failed before, and a lease has its checks asked just then, where the node has leases. */
  readonly asked?: string
}

/**
 * Whether a sidecar was ready when an app started. Three things prove it:
 * - A kubelet does one thing after the other in a pod, hooks included. So what starts after a container starts after its hook, unless another kubelet
 *   began in between. A hook that fails ends its container.
 * - A container with a lock is created only once its file is written, which a hook empties first.
 * - A status that has the app's start is later than it, and has of every container the last two runs.
 * What nobody saw is called neither ready nor too early.
 */
export function verdicts({ containers, gates, due, events, kubelet, now }: Grounds) {
  const awaited = new Map(due.map((each) => [each.name, each]))
  const gate = new Map(gates.toReversed().flatMap((gate) => gate.for.map((name) => [name, gate] as const)))
  const locked = containers
    .filter(({ name }) => !gate.has(name))
    .flatMap((each) => each.locks.map((lock) => ({ lock, each })))
  const prepared: Prepared = {
    kubelet,
    now,
    container: new Map(containers.map((each) => [each.name, each])),
    gate,
    held: new Map(
      [...Map.groupBy(locked, ({ lock }) => lock)].map(([lock, all]) => [lock, all.map(({ each }) => each)]),
    ),
    members: (gate) => gate.for.flatMap((name) => awaited.get(name) ?? []),
    told: events && Map.groupBy(events, ({ container }) => container),
    amount: (events ?? []).reduce((sum, { times = 1 }) => sum + times, 0),
  }
  return (sidecar: Container, start: AppStart): Verdict => verdictOn(sidecar, start, prepared)
}

function verdictOn(sidecar: Container, start: AppStart, grounds: Prepared): Verdict {
  const { name, trouble, hadTrouble, started } = sidecar
  const sidecars = [name]
  const unsure = (why: Unknown['why']): Verdict => ({ unsure: { why, sidecars } })
  // The kubelet writes what became of all containers at once, when it is through with the pod; events are there before that.
  if (!isShown(start, grounds)) return unsure('status-late')
  if (!started || surelyBefore(start.at, started)) {
    if (trouble?.why === 'image' || trouble?.why === 'start-failed') return { early: { why: trouble.why, sidecars } }
    if (hadTrouble) return { early: { why: hadTrouble.why, sidecars } }
    if (!started && sidecar.restarts > 0) return unsure(lostWhy(name, grounds))
    if (!started && sidecar.state === 'running') return unsure('events')
    return { early: { why: 'never-gated', sidecars } }
  }
  const gate = grounds.gate.get(name)
  const presence = throughGate(presenceAt(sidecar, start.at), sidecar, gate, start, grounds)
  const failed = start.nth === 0 && gate ? failedGate(gate, start, grounds) : undefined
  if (failed) return { early: failed }
  switch (presence.how) {
    case 'ended': {
      const ms = start.at.at - presence.ended.at
      return { early: { why: 'ended', sidecars, ms, wasReady: wasReady(sidecar, gate, presence.ended) } }
    }
    case 'unsure':
      return unsure(presence.why === 'runs-lost' ? lostWhy(name, grounds) : presence.why)
    case 'not-started':
      return { early: { why: 'never-gated', sidecars } }
    case 'ran':
      return gate ? readyIn(presence.life, sidecar, gate, start, grounds) : unsure('not-waited-for')
    default:
      return presence satisfies never
  }
}

function isShown({ container, nth }: AppStart, { container: all }: Prepared): boolean {
  const { restarts = 0, runs = [] } = all.get(container) ?? {}
  return restarts > nth || (restarts === nth && runs.length > 0)
}

/** With events more would be known of it. */
const lostWhy = (name: string, { told }: Prepared) => (told?.get(name) ? 'runs-lost' : 'events')

/** What began in the second of an app's first start began before it, if every hook before had failed: nothing else has opened that gate. */
function throughGate(
  presence: Presence,
  { name, kind }: Container,
  gate: Gate | undefined,
  start: AppStart,
  { told }: Prepared,
) {
  if (presence.how !== 'unsure' || !presence.begun || start.nth > 0) return presence
  const { begun } = presence
  const failed = (told?.get(name) ?? []).filter((each) => each.says === 'hook-failed' && each.at <= start.at.at)
  const times = failed.reduce((sum, { times = 1, last = 0 }) => sum + (last <= start.at.at ? times : 1), 0)
  // A lock's process goes on when the hook's time is up, and may open it before its container is gone.
  const inTime = gate?.locks && begun.began.at - gate.from.at < (gate.limit ?? Infinity)
  const closed = (kind === 'native' || inTime) && times >= begun.nth
  return closed ? ({ how: 'ran', life: begun } as const) : presence
}

/** It was seen ready in the life that ended then. */
function wasReady({ lives }: Container, gate: Gate | undefined, ended: Moment): boolean {
  const opening = gate?.opening
  const life = lives.find((each) => each.ended?.at === ended.at)
  return life !== undefined && opening?.how === 'ready' && covers(life, opening.moment)
}

/**
 * A gate that opened, but not because its sidecars were ready. A kubelet goes on at once when a hook has failed, and starts nothing again before it has
 * been through with all containers: an app that follows found that sidecar dead.
 */
function failedGate(gate: Gate, { container: app, at }: AppStart, grounds: Prepared): Early | undefined {
  const { container, kubelet, told, members } = grounds
  const { opening, at: name } = gate
  const carrier = container.get(name)
  if (!carrier || !('moment' in opening) || !opening.moment || opening.how === 'ready' || opening.how === 'open')
    return undefined
  const { how, moment } = opening
  if (inVain(carrier, at)) return { why: how, sidecars: gate.for }
  if (how === 'kubelet-restarted' || carrier.kind !== 'regular' || kubelet.restarted(gate.from, at) !== false)
    return undefined
  const refused = told?.get(app)?.some((each) => each.says === 'failed' && each.at <= at.at)
  if (refused || surelyBefore(at, moment)) return undefined
  const dead = members(gate).filter((each) => diedBefore(each, gate, moment))
  if (dead.length > 0) return { why: 'crashed', sidecars: dead.map((each) => each.name) }
  return { why: how, sidecars: how === 'crashed' ? [name] : gate.for }
}

/**
 * A member of a tier whose hook another one has, which the failed hook doesn't kill: it has died by itself. (Nothing restarts it while
 * that hook waits.) One that still dies has lost its first run, and the time of its death.
 */
function diedBefore({ name, ended, restarts, trouble }: Container, gate: Gate, moment: Moment): boolean {
  if (name === gate.at || restarts === 0) return false
  return ended ? surelyBefore(ended, moment) : trouble?.why === 'crashed'
}

/** It ran. Has a gate found it ready in this life? */
function readyIn(life: Life, sidecar: Container, gate: Gate, start: AppStart, grounds: Prepared): Verdict {
  const unsure = (why: Unknown['why']): Verdict => ({ unsure: { why, sidecars: [sidecar.name] } })
  const carrier = grounds.container.get(gate.at)
  if (!carrier) return unsure('not-waited-for')
  const presence = throughGate(presenceAt(carrier, start.at), carrier, gate, start, grounds)
  if (presence.how === 'unsure') return unsure(presence.why)
  // What was restarted by itself was asked by nobody.
  const isOther = carrier !== sidecar
  if (presence.how !== 'ran' || (isOther && surelyBefore(presence.life.began, life.began)))
    return unsure('not-waited-again')
  const { nth, began } = presence.life
  if (isOther && life.nth > 0 && !surelyBefore(life.began, began)) return unsure('same-second')
  const why = nth === 0 ? unsureFirst(gate, start.at) : unsureAgain(began, gate, start, grounds)
  return why ? unsure(why) : watched(life, began, sidecar, gate, start, grounds)
}

/** Why the gate of a carrier's first life proves nothing of a start; undefined if it does. */
function unsureFirst({ opening }: Gate, at: Moment): Unknown['why'] | undefined {
  if (opening.how === 'open') return opening.why
  if (opening.how === 'ready') return before(opening.moment, at) ? undefined : 'not-waited-for'
  return opening.how === 'closed' ? 'not-waited-for' : 'runs-lost'
}

/** The same of a later one, which began then. */
function unsureAgain(
  began: Moment,
  { by, opening, patience, handsOver, locks }: Gate,
  { container: app, at }: AppStart,
  { container, kubelet }: Prepared,
): Unknown['why'] | undefined {
  if (by === 'startup-probe') return 'not-waited-again'
  if (by === 'foreign-hook' && opening.how === 'open') return 'foreign-hook'
  if (patience !== undefined && mostBetween(began, at) >= patience) return 'continued'
  if (handsOver) return 'handed-over'
  // A lock's hook goes on without its kubelet, once it has begun.
  const isLocked = locks && (container.get(app)?.locks.length ?? 0) > 0
  const cut = kubelet.restarted(began, isLocked ? { at: Math.min(at.at, began.at + begins), exact: true } : at)
  return cut === undefined ? 'node-events' : cut ? 'hook-lost' : undefined
}

/** Between a container's start and the begin of its hook another kubelet may come, and takes no more than this, in ms, until it says so. */
const begins = 30_000
/** What a probe sees it tells within this time. */
const settles = 60_000
/** The kubelet tells no more than 25 things of a pod at once. */
const mostTold = 20

/** It was ready, and ran on. Does anything show that it wasn't any more, or could that be seen at all? @param began the run whose hook waited */
function watched(
  life: Life,
  began: Moment,
  { name, kind, failures, hasReadinessProbe, lives, ready }: Container,
  gate: Gate,
  start: AppStart,
  grounds: Prepared,
): Verdict {
  const { told, amount, now } = grounds
  const { locks, lease } = gate
  const { container: app, at } = start
  // No probe runs during a hook, but while a lock waits on: what failed before the last refusal failed before it was ready.
  const refused = locks ? (told?.get(app) ?? []).filter(({ says }) => says === 'failed').flatMap(timesOf) : []
  const since = Math.max(began.at, ...refused.flatMap((each) => (each.at <= at.at ? each.at : [])))
  const until = Math.min(at.at + settles, life.ended?.at ?? Number.POSITIVE_INFINITY)
  const failed = (from: number, to: number) =>
    failures.some((each) => {
      // A native one has passed its startupProbe before anything starts behind it.
      if (kind === 'native' && each.says === 'startup-failed') return false
      // Of three or more failures only the first and the last have a time.
      const between = (each.times ?? 1) > 2 && each.at < to && (each.last ?? each.at) > from
      return between || timesOf(each).some((time) => time.at > from && time.at < to)
    })
  if (failed(since, until)) {
    const made = lease ? byLease(start, began, lease, grounds, refused) : 'unready-since'
    if (made === 'asked' && !failed(at.at, until)) return { asked: name }
    return { unsure: { why: made === 'asked' ? 'unready-since' : made, sidecars: [name] } }
  }
  const isOn = hasReadinessProbe && (ready || life !== lives.at(-1))
  const isWatched = isOn && told !== undefined && amount < mostTold && now - at.at < eventsLast
  return isWatched ? {} : { unwatched: name }
}

/**
 * What a lease made of that start, whose sidecar's probe had failed before. `asked`: held back until the checks held, as the first one since the carrier
 * began. Of two locks one may have been answered and the other not: then the next start is a later one to the first. And a start that is lost may have
 * been the first one.
 */
function byLease(
  { container: app, at }: AppStart,
  began: Moment,
  { lock, restarts }: NonNullable<Gate['lease']>,
  { container: all, held }: Prepared,
  refused: readonly Moment[],
): 'asked' | 'lock-restarts' | 'unready-since' {
  if (restarts === 'always') return 'asked'
  const behind = held.get(lock) ?? []
  const earlier = behind.some(({ lives }) => lives.some((each) => each.began.at >= began.at && each.began.at < at.at))
  if (earlier) return 'lock-restarts'
  const isKnown = behind.every(({ lives, runs, restarts }) => {
    const last = lives.findLast((each) => each.began.at < began.at)?.nth ?? -1
    const next = lives.find((each) => each.began.at >= began.at)
    return next ? next.nth === last + 1 : runs.length === 0 || last === restarts
  })
  const again = refused.some((each) => each.at > began.at && each.at <= at.at)
  return isKnown && !(again && (all.get(app)?.locks.length ?? 0) > 1) ? 'asked' : 'unready-since'
}
