import type { V1Pod } from '@kubernetes/client-node'
import { mirrorKey } from '../admission/words/keys.ts'
import type { Container } from '../outcome/containers.ts'
import type { Opening } from '../outcome/gates.ts'
import { type Judged, judge } from '../outcome/outcome.ts'
import { waitsOf } from '../outcome/waits.ts'
import { probesOf } from '../scan/evidence.ts'
import { liveSubjectOf } from '../scan/subject.ts'
import { appsOf as appsAmong, isDue } from '../seen/app.ts'
import type { Seen } from '../seen/observe.ts'
import { type LivePod, livePod } from '../seen/pod.ts'
import { isWell } from '../seen/runs.ts'
import {
  type GateLabel,
  type OutcomeLabel,
  type SidecarLabel,
  several,
  sidecarLabel,
  type WaitOutcomeLabel,
} from './labels.ts'

/** Whose start is counted: a pod with sidecars that somebody knows, and an app beside them. */
export interface StartSubject {
  /** Container names. */
  readonly sidecars: readonly string[]
  readonly apps: readonly string[]
  readonly guarded: readonly Guarded[]
  /** What may hold its apps back, and for whom. */
  readonly waits: readonly WaitLabels[]
  /** What holds its apps back. */
  readonly gate: GateLabel
}

/** A sidecar, and what holds the apps back until it's ready. */
interface Guarded {
  readonly gate: GateLabel
  readonly sidecar: SidecarLabel
}

/** What one start counts for. */
export interface CountedStart {
  readonly gate: GateLabel
  readonly outcome: OutcomeLabel
  /** From the pod's being given to its node to the app's start; undefined where that isn't known to the millisecond, or by one clock. */
  readonly seconds: number | undefined
  readonly waits: readonly CountedWait[]
  /** The sidecars before which the app has surely started. */
  readonly early: readonly Guarded[]
  /** An app's first run ended with an error within a minute, and the app then ran. */
  readonly crashed: boolean
}

interface WaitLabels {
  readonly gate: Exclude<GateLabel, 'none'>
  readonly sidecar: SidecarLabel
}

interface CountedWait extends WaitLabels {
  readonly outcome: WaitOutcomeLabel
  readonly seconds: number
  /** Known to the millisecond. */
  readonly exact: boolean
}

/** By presets, by the pod's annotations and by hooks of ours. Undefined: its start is nobody's business. */
export function startSubjectOf(pod: V1Pod): StartSubject | undefined {
  // The kubelet makes a new copy of a static pod at each of its restarts, which starts nothing.
  if (pod.metadata?.annotations?.[mirrorKey] !== undefined) return undefined
  const known = liveSubjectOf(pod)?.sidecars.map(({ name }) => name) ?? []
  const live = livePod(pod, 0)
  const judged = judge({ pod: live, events: undefined, node: undefined, now: 0 }, known)
  const sidecars = dueOf(judged).map(({ name }) => name)
  const apps = appsOf(judged).map(({ name }) => name)
  if (sidecars.length === 0 || apps.length === 0) return undefined
  const label = labeller(live)
  return {
    sidecars,
    apps,
    guarded: guardedOf(judged, sidecars, label),
    waits: waitingOf(judged, label),
    gate: gateOf(judged),
  }
}

/**
 * Judges the start of a pod whose app has started, or which is gone. Pure.
 * @param failed the apps whose first run was seen to end soon and with an error: later the status forgets
 * @param sidecars by `subjectOf`: the annotations aren't kept
 */
export function countedStart(
  { failed, ...seen }: Seen & { readonly failed: ReadonlySet<string> },
  sidecars: readonly string[],
): CountedStart {
  const { pod } = seen
  const judged = judge(seen, sidecars)
  const label = labeller(pod)
  const early = earlyOf(judged, pod, sidecars)
  return {
    gate: gateOf(judged),
    outcome: outcomeOf(judged, early),
    seconds: secondsOf(judged, seen),
    waits: waitsOf(judged, seen.now).flatMap((wait): CountedWait[] => {
      const at = judged.containers.find(({ name }) => name === wait.hook)
      const gate = at && gateAt(at)
      const outcome = waitOutcome(wait.outcome)
      if (!gate || !outcome) return []
      return [{ gate, outcome, sidecar: label(wait.for), seconds: wait.took / 1000, exact: wait.exact }]
    }),
    early: guardedOf(judged, early, label),
    // What fails again and again has another cause than a sidecar that was late.
    crashed: appsOf(judged).some((app) => failed.has(app.name) && (isWell(app) || app.trouble?.why === 'ended')),
  }
}

const dueOf = ({ containers, sidecars }: Judged) => containers.filter(isDue(sidecars))

const appsOf = ({ containers, sidecars }: Judged) => appsAmong(containers, sidecars)

/** What is strongest of all that stands before the first app, and waits for one of these. */
function gateOf(judged: Judged, names: readonly string[] = dueOf(judged).map(({ name }) => name)): GateLabel {
  const gates = beforeApps(judged)
    .filter((each) => waitedForBy(each).some((name) => names.includes(name)))
    .map(gateAt)
  return (['lock', 'hook', 'startup-probe', 'own-hook'] as const).find((gate) => gates.includes(gate)) ?? 'none'
}

function beforeApps(judged: Judged): readonly Container[] {
  const [app] = appsOf(judged)
  return judged.containers.slice(0, app ? judged.containers.indexOf(app) : 0)
}

const waitedForBy = ({ name, hook }: Container): readonly string[] =>
  typeof hook === 'object' ? hook.checks.map(({ container }) => container) : [name]

/** Each once. */
function guardedOf(judged: Judged, names: readonly string[], label: Labeller): Guarded[] {
  return eachOnce(names.map((name) => ({ gate: gateOf(judged, [name]), sidecar: label([name]) })))
}

/** Each once. */
function waitingOf(judged: Judged, label: Labeller): WaitLabels[] {
  const holding = beforeApps(judged).filter(({ name }) => judged.sidecars.has(name))
  return eachOnce(
    holding.flatMap((each) => {
      const gate = gateAt(each)
      return gate ? [{ gate, sidecar: label(waitedForBy(each)) }] : []
    }),
  )
}

const eachOnce = <T extends Guarded>(all: readonly T[]): T[] =>
  all.filter(
    ({ gate, sidecar }, index) => all.findIndex((each) => each.gate === gate && each.sidecar === sidecar) === index,
  )

function gateAt({ hook, kind, hasStartupProbe }: Container): Exclude<GateLabel, 'none'> | undefined {
  if (typeof hook === 'string') return 'own-hook'
  if (hook) return hook.lock === undefined ? 'hook' : 'lock'
  return kind === 'native' && hasStartupProbe ? 'startup-probe' : undefined
}

/** By name, those before which the app has started: by the order of things, or since a probe failed after it. */
function earlyOf(judged: Judged, pod: LivePod, sidecars: readonly string[]): readonly string[] {
  const { outcome } = judged
  // What was ready when the app began may become unready later.
  if (outcome.kind === 'held') return []
  const reasons = outcome.kind === 'too-early' ? outcome.reasons.flatMap((each) => each.sidecars) : []
  return [...new Set([...reasons, ...probesOf(judged, pod, sidecars).map(({ sidecar }) => sidecar)])]
}

function outcomeOf(judged: Judged, early: readonly string[]): OutcomeLabel {
  const { kind } = judged.outcome
  if (early.length > 0) return 'too-early'
  // One that restarted has started, even if the status has lost when.
  if (!appsOf(judged).some(({ started, restarts }) => started || restarts > 0)) return 'not-started'
  return kind === 'stuck' ? 'unknown' : kind
}

/** Undefined for a wait that never ended. */
function waitOutcome(how: Opening['how']): WaitOutcomeLabel | undefined {
  return how === 'closed' ? undefined : how === 'open' ? 'unknown' : how
}

type Labeller = (names: readonly string[]) => SidecarLabel

/** By the name or the image of the container. Which of several a hook waited for last is recorded nowhere. */
function labeller({ containers }: LivePod): Labeller {
  return (names) => {
    const labels = names.map((name) => sidecarLabel(containers.find((each) => each.name === name) ?? { name }))
    const [first = several] = labels
    return labels.every((each) => each === first) ? first : several
  }
}

/** From the scheduler's event to the kubelet's; undefined where one is missing, or their clocks differ for sure. */
function secondsOf({ events, containers, app }: Judged, { pod, now }: Pick<Seen, 'pod' | 'now'>): number | undefined {
  const given = events.find(({ says }) => says === 'given')
  const started = containers.find(({ name }) => name === app)?.started
  const { taken } = pod
  if (!given?.exact || !started?.exact || taken === undefined) return undefined
  // The kubelet saw the pod before it was given to it, or the app starts in the future.
  const differ = taken + 1000 <= given.at || started.at < given.at || started.at > now
  return differ ? undefined : Math.round(started.at - given.at) / 1000
}
