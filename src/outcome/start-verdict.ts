import { isNotReady, type SeenEvent, timesOf } from '../seen/event.ts'
import { type Moment, surelyBefore } from '../seen/moment.ts'
import type { Container } from './containers.ts'
import type { Gate } from './gates.ts'
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
  /** When the node's kubelet started, if that can be known. */
  readonly kubelet: readonly Moment[] | undefined
  readonly now: number
}

/** What is looked up again and again: a pod may have hundreds of containers. */
interface Prepared extends Pick<Grounds, 'kubelet' | 'now'> {
  readonly container: ReadonlyMap<string, Container>
  /** The first one for each. */
  readonly gate: ReadonlyMap<string, Gate>
  readonly members: (gate: Gate) => readonly Container[]
  readonly told: ReadonlyMap<string | undefined, readonly SeenEvent[]> | undefined
  /** How much the kubelet has told of the pod. */
  readonly amount: number
}

/** Undefined: it was ready. */
export type Verdict = { readonly early?: Early; readonly unsure?: Unknown } | undefined

/** Whether a sidecar was ready when an app started. What nobody saw is never called ready. */
export function verdicts({ containers, gates, due, events, kubelet, now }: Grounds) {
  const awaited = new Map(due.map((each) => [each.name, each]))
  const prepared: Prepared = {
    kubelet,
    now,
    container: new Map(containers.map((each) => [each.name, each])),
    gate: new Map(gates.toReversed().flatMap((gate) => gate.for.map((name) => [name, gate] as const))),
    members: (gate) => gate.for.flatMap((name) => awaited.get(name) ?? []),
    told: events && Map.groupBy(events, ({ container }) => container),
    amount: (events ?? []).reduce((sum, { times = 1 }) => sum + times, 0),
  }
  return (sidecar: Container, start: AppStart): Verdict => verdictOn(sidecar, start, prepared)
}

function verdictOn(sidecar: Container, start: AppStart, grounds: Prepared): Verdict {
  const { name, trouble, hadTrouble, started } = sidecar
  const sidecars = [name]
  if (!started || surelyBefore(start.at, started)) {
    if (trouble?.why === 'image' || trouble?.why === 'start-failed') return { early: { why: trouble.why, sidecars } }
    if (hadTrouble) return { early: { why: hadTrouble.why, sidecars } }
    if (!started && sidecar.restarts > 0) return { unsure: { why: lostWhy(name, grounds), sidecars } }
    if (!started && sidecar.state === 'running') return { unsure: { why: 'events', sidecars } }
    return { early: { why: 'never-gated', sidecars } }
  }
  const gate = grounds.gate.get(name)
  const presence = throughGate(presenceAt(sidecar, start.at), sidecar, gate, start)
  if (start.nth === 0 && gate) {
    const failed = failedOpening(gate, presence, start, grounds)
    if (failed) return failed
  }
  switch (presence.how) {
    case 'ended':
      return {
        early: {
          why: 'ended',
          sidecars,
          ms: start.at.at - presence.ended.at,
          wasReady: wasReady(sidecar, gate, presence.ended),
        },
      }
    case 'unsure': {
      const why = presence.why === 'runs-lost' ? lostWhy(name, grounds) : presence.why
      return { unsure: { why, sidecars } }
    }
    case 'not-started':
      return { early: { why: 'never-gated', sidecars } }
    case 'ran':
      if (!presence.life.isOver && !isShown(start, grounds)) return { unsure: { why: 'status-late', sidecars } }
      return gate
        ? readyIn(presence.life, sidecar, gate, start, grounds)
        : { unsure: { why: 'not-waited-for', sidecars } }
    default:
      return presence satisfies never
  }
}

/**
 * Whether the status tells of this start: the kubelet writes what became of all containers at once, when it is through with the pod. An event is there
 * before that, and what the status then says of a sidecar is older than the start.
 */
function isShown({ container, nth }: AppStart, grounds: Prepared): boolean {
  const { restarts = 0, runs = [] } = grounds.container.get(container) ?? {}
  return restarts > nth || (restarts === nth && runs.length > 0)
}

/** With events more would be known of it. */
const lostWhy = (name: string, { told }: Prepared) => (told?.get(name) ? 'runs-lost' : 'events')

/**
 * What began in the same second as the app was there before it if the gate was closed until then: a native one at the first start, or a lock
 * that no run before had opened.
 */
function throughGate(
  presence: Presence,
  { kind, lives, hookFailed }: Container,
  gate: Gate | undefined,
  { nth }: AppStart,
): Presence {
  if (presence.how !== 'unsure' || !presence.begun) return presence
  const { begun } = presence
  const before = lives.find((each) => each.nth === begun.nth - 1)
  const neverOpened = hookFailed && before && covers(before, hookFailed)
  const closed = (kind === 'native' && nth === 0) || (gate?.locks && neverOpened)
  return closed ? { how: 'ran', life: begun } : presence
}

/** It was seen ready in the life that ended then. */
function wasReady({ lives }: Container, gate: Gate | undefined, ended: Moment): boolean {
  const opening = gate?.opening
  const life = lives.find((each) => each.ended?.at === ended.at)
  return life !== undefined && opening?.how === 'ready' && covers(life, opening.moment)
}

/** A gate that opened, but not because its sidecars were ready. @param presence the sidecar's, at the start */
function failedOpening(gate: Gate, presence: Presence, { at }: AppStart, { members, container }: Prepared): Verdict {
  const { opening } = gate
  if (opening.how !== 'timed-out' && opening.how !== 'crashed' && opening.how !== 'kubelet-restarted') return undefined
  const carrier = container.get(gate.at)
  const again = carrier && presenceAt(carrier, at)
  // A later run of the hook is another gate: the app's image was pulled meanwhile, say.
  if (again?.how === 'ran' && again.life.nth > 0 && surelyBefore(opening.moment, again.life.began)) return undefined
  // Whoever may have run then had time to get ready.
  const meanwhile = at.at - opening.moment.at > atOnce
  if (meanwhile && presence.how !== 'ended') return { unsure: { why: 'meanwhile', sidecars: gate.for } }
  if (opening.how === 'kubelet-restarted') return { early: { why: opening.how, sidecars: gate.for } }
  const dead = members(gate).filter((each) => diedBefore(each, gate, opening.moment))
  if (dead.length > 0) return { early: { why: 'crashed', sidecars: dead.map((each) => each.name) } }
  return { early: { why: opening.how, sidecars: opening.how === 'crashed' ? [gate.at] : gate.for } }
}

/**
 * A member of a tier whose hook another one has, which the failed hook doesn't kill: it has died by itself. (Nothing restarts it while
 * that hook waits.) One that still dies has lost its first run, and the time of its death.
 */
function diedBefore({ name, ended, restarts, trouble }: Container, gate: Gate, moment: Moment): boolean {
  if (name === gate.at || restarts === 0) return false
  return ended ? surelyBefore(ended, moment) : trouble?.why === 'crashed'
}

/** It ran. Has it been seen ready in this life, and is that recent enough? */
function readyIn(life: Life, sidecar: Container, gate: Gate, start: AppStart, grounds: Prepared): Verdict {
  const sidecars = [sidecar.name]
  const { opening } = gate
  const proofs: Moment[] = []
  const first = opening.how === 'ready' ? provenBy(gate, opening.moment, start, grounds) : undefined
  if (first && covers(life, first)) proofs.push(first)
  const again = hookAgain(life, sidecar, gate, start, grounds)
  if (again && 'why' in again) {
    if (proofs.length === 0) return { unsure: { why: again.why, sidecars } }
  } else if (again) proofs.push(again)
  const latest = proofs.toSorted((a, b) => b.at - a.at)[0]
  if (latest) return unsureSince(latest, sidecar, start, grounds)
  if (life.nth > 0 && (opening.how === 'ready' || start.nth > 0))
    return { unsure: { why: 'not-waited-again', sidecars } }
  if (opening.how === 'open') return { unsure: { why: opening.why, sidecars } }
  // Something that its hook doesn't hold back: a hook on the last container, say.
  return { unsure: { why: 'not-waited-for', sidecars } }
}

/** A lock's file was written after the last refusal, or before the kubelet turned to the app: when it pulled its image. */
function provenBy({ locks }: Gate, moment: Moment, { container, nth, at }: AppStart, grounds: Prepared): Moment {
  if (!locks || nth > 0) return moment
  const app = grounds.container.get(container)
  const refused = (grounds.told?.get(container) ?? [])
    .filter(({ says }) => says === 'failed')
    .flatMap(timesOf)
    .filter((each) => each.at <= at.at)
  return [...refused, ...(app?.begun ? [app.begun] : [])].toSorted((a, b) => b.at - a.at)[0] ?? moment
}

/** After a restart of its container a hook runs again, and the kubelet starts nothing in that pod until it has returned. */
function hookAgain(
  life: Life,
  sidecar: Container,
  gate: Gate,
  { at }: AppStart,
  { container, kubelet }: Prepared,
): Moment | { readonly why: Unknown['why'] } | undefined {
  const carrier = container.get(gate.at)
  const presence = carrier && presenceAt(carrier, at)
  if (gate.by === 'startup-probe' || presence?.how !== 'ran' || presence.life.nth === 0) return undefined
  const { began } = presence.life
  // A member that was restarted by itself was asked by nobody.
  if (carrier !== sidecar && !covers(life, began)) return undefined
  if (gate.by === 'foreign-hook' && gate.opening.how === 'open') return { why: 'foreign-hook' }
  if (gate.patience !== undefined && at.at - began.at >= gate.patience) return { why: 'continued' }
  if (gate.handsOver) return { why: 'handed-over' }
  if (kubelet === undefined) return { why: 'node-events' }
  const cut = !gate.locks && kubelet.some((each) => !surelyBefore(each, began) && !surelyBefore(at, each))
  return cut ? { why: 'hook-lost' } : began
}

/** So soon nothing changes, in ms, not even what comes and goes. */
const fresh = 500
/** So much later than its gate opened an app that wasn't held up begins at most, in ms, on a busy node. */
const atOnce = 1500
/** So long, in ms, a kubelet may take to go on when a hook has returned: what was seen in that time came after the proof. */
const noticed = 500
/** Without a probe, what was ready is believed to be for so long. */
const believed = 2000
/** What a probe sees it tells within this time. */
const settles = 60_000
/** The kubelet tells no more than 25 things of a pod at once. */
const mostTold = 20
/** A cluster keeps events for an hour. */
const eventsLast = 3_600_000

/** It was ready once, and ran on. Does anything show that it wasn't any more, or could that be seen at all? */
function unsureSince(since: Moment, sidecar: Container, { at }: AppStart, { told, amount, now }: Prepared): Verdict {
  const sidecars = [sidecar.name]
  const gap = at.at - since.at + (at.exact && since.exact ? 0 : 1000)
  const failures = (told?.get(sidecar.name) ?? [])
    .filter(({ says }) => isNotReady(says))
    .flatMap(timesOf)
    .filter((each) => !surelyBefore(each, { ...since, at: since.at - noticed }))
  if (gap <= fresh && !failures.some((each) => each.at <= at.at)) return undefined
  if (failures.some((each) => each.at <= at.at + settles)) return { unsure: { why: 'unready-since', sidecars } }
  const isWatched = sidecar.hasReadinessProbe && told !== undefined && amount < mostTold && now - at.at < eventsLast
  return isWatched || gap <= believed ? undefined : { unsure: { why: 'stale', sidecars } }
}
