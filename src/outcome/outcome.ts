import { isApp, isDue } from '../seen/app.ts'
import { kubeletStarts, type SeenEvent } from '../seen/event.ts'
import { coarse, type Moment, surelyBefore } from '../seen/moment.ts'
import type { Seen } from '../seen/observe.ts'
import type { LivePod, Trouble } from '../seen/pod.ts'
import { type Container, containersOf } from './containers.ts'
import { type Gate, gatesOf, type Unsure } from './gates.ts'

/** How a pod really started. */
export type Outcome =
  /** The app began after its sidecars were ready. */
  | { readonly kind: 'held' }
  | { readonly kind: 'too-early'; readonly reasons: readonly Early[] }
  | { readonly kind: 'stuck'; readonly reason: Stuck }
  | { readonly kind: 'unknown'; readonly reasons: readonly Unknown[] }

/** Why an app started without its sidecars. */
export interface Early {
  readonly why: 'crashed' | 'timed-out' | 'image' | 'start-failed' | 'kubelet-restarted' | 'never-gated'
  /** Any of them may be to blame. */
  readonly sidecars: readonly string[]
}

/** What keeps an app from starting. */
export type Stuck = {
  readonly since: Moment | undefined
  /** The container to look at. */
  readonly container: string
} & (
  | { readonly why: 'crashed' | 'image' | 'start-failed'; readonly message: string }
  /** A hook, a startupProbe or the lock waits for these, and has for longer than is usual. */
  | { readonly why: 'hook' | 'startup-probe' | 'locked'; readonly sidecars: readonly string[] }
)

/** Why nobody can say. */
export interface Unknown {
  /** `lost`: the app has started, and nothing says when it first did. */
  readonly why: Unsure | 'starting' | 'lost' | 'ended' | 'no-app' | 'no-sidecars' | 'not-waited-for'
  readonly sidecars: readonly string[]
}

/** A sidecar that a running app is without, now. */
export interface Lacking {
  readonly sidecar: string
  readonly why: Exclude<Trouble['why'], 'locked'>
  readonly message: string
}

export interface Judged {
  readonly outcome: Outcome
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
export function judge({ pod, events: unordered = [], node, now }: Seen, more: readonly string[] = []): Judged {
  const events = unordered.toSorted((a, b) => a.at - b.at)
  const containers = containersOf(pod, events)
  const gates = gatesOf(containers, node && kubeletStarts(node))
  const sidecars = sidecarsOf(pod, more)
  const apps = containers.filter(isApp(sidecars))
  const started = apps.filter((each) => each.started).sort((a, b) => (a.started?.at ?? 0) - (b.started?.at ?? 0))
  const [app = apps[0]] = started
  const judged = { app: app?.name, sidecars, containers, gates, events }
  const due = containers.filter(isDue(sidecars))
  const nothing = due.length === 0 ? 'no-sidecars' : app ? undefined : 'no-app'
  if (!app || nothing) return { ...judged, lacking: [], outcome: unknown({ why: nothing ?? 'no-app', sidecars: [] }) }
  const lacking = apps.some(({ state }) => state === 'running') ? due.flatMap(lackingOf) : []
  const outcome = app.started ? howItStarted(app.started, due, judged) : howItWaits(pod, apps, judged, now)
  return { ...judged, lacking, outcome }
}

const unknown = (...reasons: readonly Unknown[]): Outcome => ({ kind: 'unknown', reasons })

/** Whom the app shall find: by the pod's annotations, and by the hooks of ours, whatever the annotations say. */
function sidecarsOf({ named, containers }: LivePod, more: readonly string[]): ReadonlySet<string> {
  const gated = containers.flatMap(({ name, hook }) =>
    hook && hook !== 'foreign' ? [name, ...hook.checks.map(({ container }) => container)] : [],
  )
  return new Set([...gated, ...named, ...more])
}

function lackingOf({ name, trouble }: Container): Lacking[] {
  if (!trouble || trouble.why === 'locked') return []
  return [{ sidecar: name, why: trouble.why, message: trouble.message }]
}

type Found = Pick<Judged, 'containers' | 'gates'>

/** The app has started: was each of its sidecars seen ready before? */
function howItStarted(at: Moment, due: readonly Container[], { gates }: Found): Outcome {
  const verdicts = due.map((sidecar) => verdictOn(sidecar, at, gates, due))
  const early = verdicts.flatMap((each) => (each?.early ? [each.early] : []))
  if (early.length > 0) return { kind: 'too-early', reasons: once(early) }
  const unsure = verdicts.flatMap((each) => (each?.unsure ? [each.unsure] : []))
  if (unsure.length > 0) return unknown(...once(unsure))
  return { kind: 'held' }
}

/** Undefined: it was ready. */
type Verdict = { readonly early?: Early; readonly unsure?: Unknown } | undefined

function verdictOn(sidecar: Container, app: Moment, gates: readonly Gate[], due: readonly Container[]): Verdict {
  const { name, trouble, hadTrouble, started } = sidecar
  const gate = gates.find((each) => each.for.includes(name))
  const sidecars = [name]
  if (!started || surelyBefore(app, started)) {
    if (trouble?.why === 'image' || trouble?.why === 'start-failed') return { early: { why: trouble.why, sidecars } }
    if (hadTrouble) return { early: { why: hadTrouble.why, sidecars } }
    if (!started && sidecar.restarts > 0) return { unsure: { why: 'events', sidecars } }
    return { early: { why: 'never-gated', sidecars } }
  }
  if (!gate) return { unsure: { why: 'not-waited-for', sidecars } }
  const { opening } = gate
  switch (opening.how) {
    case 'ready':
      return undefined
    case 'open':
      return { unsure: { why: opening.why, sidecars } }
    // Something that its hook doesn't hold back: a hook on the last container, say.
    case 'closed':
      return { unsure: { why: 'not-waited-for', sidecars } }
    case 'timed-out':
    case 'crashed': {
      const dead = due.filter((each) => gate.for.includes(each.name) && diedBefore(each, gate, opening.moment))
      if (dead.length > 0) return { early: { why: 'crashed', sidecars: dead.map((each) => each.name) } }
      return { early: { why: opening.how, sidecars: opening.how === 'crashed' ? [gate.at] : gate.for } }
    }
    case 'kubelet-restarted':
      return { early: { why: 'kubelet-restarted', sidecars: gate.for } }
    default:
      return opening satisfies never
  }
}

/**
 * A member of a tier whose hook another one has, which the failed hook doesn't kill: it has died by itself. (Nothing restarts it while
 * that hook waits.) One that still dies has lost its first run, and the time of its death.
 */
function diedBefore({ name, ended, restarts, trouble }: Container, gate: Gate, moment: Moment): boolean {
  if (name === gate.at || restarts === 0) return false
  return ended ? surelyBefore(ended, moment) : trouble?.why === 'crashed'
}

/** One for each reason, with all its sidecars. */
const once = <T extends { readonly why: string; readonly sidecars: readonly string[] }>(all: readonly T[]): T[] =>
  [...Map.groupBy(all, ({ why }) => why).values()].flatMap((alike) => {
    const sidecars = [...new Set(alike.flatMap((each) => each.sidecars))]
    return alike.slice(0, 1).map((first) => ({ ...first, sidecars }))
  })

/** No app is known to have started. In the order of the start: what holds up what is behind it? */
function howItWaits(
  { phase, taken }: LivePod,
  apps: readonly Container[],
  { containers, gates }: Found,
  now: number,
): Outcome {
  if (phase === 'Succeeded' || phase === 'Failed') return unknown({ why: 'ended', sidecars: [] })
  // What runs waits for nobody.
  if (apps.some(({ state }) => state === 'running')) return unknown({ why: 'lost', sidecars: [] })
  const [app] = apps
  const locked = containers.find(({ trouble }) => trouble?.why === 'locked')
  for (const container of containers) {
    const { name, trouble, kind } = container
    const gate = gates.find((each) => each.at === name && each.opening.how === 'closed')
    const since = sinceOf(container)
    if (trouble && trouble.why !== 'locked' && trouble.why !== 'ended') {
      // A regular sidecar holds nobody up by that; its hook may be another's.
      const holds = kind !== 'regular' || apps.includes(container) || gates.some((each) => each.for.includes(name))
      if (holds)
        return { kind: 'stuck', reason: { why: trouble.why, container: name, since, message: trouble.message } }
    }
    const waits = gate && now - gate.from.at >= patience
    if (waits && gate.by === 'startup-probe') return stuckOn('startup-probe', name, gate)
    if (waits) return stuckOn(locked ? 'locked' : 'hook', locked?.name ?? name, gate)
  }
  const since = locked && (gates[0]?.from ?? coarse(taken))
  if (locked && since && now - since.at >= patience) {
    const behind = containers.slice(0, containers.indexOf(locked)).filter(({ kind }) => kind !== 'init')
    const sidecars = behind.map(({ name }) => name)
    return { kind: 'stuck', reason: { why: 'locked', container: locked.name, since, sidecars } }
  }
  if (apps.some(({ restarts }) => restarts > 0)) return unknown({ why: 'lost', sidecars: [] })
  return unknown({ why: 'starting', sidecars: app ? [app.name] : [] })
}

const stuckOn = (why: 'hook' | 'startup-probe' | 'locked', container: string, gate: Gate): Outcome => ({
  kind: 'stuck',
  reason: { why, container, since: gate.from, sidecars: gate.for },
})

const sinceOf = ({ hookFailed, hadTrouble, ended, started }: Container): Moment | undefined =>
  hookFailed ?? hadTrouble?.moment ?? ended ?? started
