import type { V1Pod } from '@kubernetes/client-node'
import { mirrorKey } from '../admission/words/keys.ts'
import type { Container } from '../outcome/containers.ts'
import { type Judged, judge } from '../outcome/outcome.ts'
import { isToStart } from '../outcome/why.ts'
import { appsOf } from '../seen/app.ts'
import { isNotReady, type SeenEvent, timesOf } from '../seen/event.ts'
import { surelyBefore } from '../seen/moment.ts'
import type { LivePod } from '../seen/pod.ts'
import { firstFailure, isWell } from '../seen/runs.ts'
import { type Trouble, troublesOf } from '../timeline/troubles.ts'
import { standingToday, type Today } from './today.ts'

/** What a cluster shows of one pod's start. */
export type Evidence =
  /** Sure: the app had started `ms` before the sidecar did. */
  | { readonly kind: 'started-later'; readonly sidecar: string; readonly ms: number }
  /** Sure: a startupProbe or readinessProbe failed so long after the app had started. */
  | { readonly kind: 'probe-failed'; readonly sidecar: string; readonly ms: number }
  /** Sure: a gate opened before the sidecar was ready, the app runs without it, or hasn't started because of it. */
  | ({ readonly kind: 'trouble' } & Trouble)
  /** Sure: the app keeps ending, and this one isn't ready now. */
  | { readonly kind: 'down-beside'; readonly app: string; readonly sidecar: string; readonly message: string }
  /** Probable: the app ended with an error within a minute, once; `ran`: and then ran. */
  | {
      readonly kind: 'app-failed'
      readonly app: string
      readonly exitCode: number
      readonly ms: number
      readonly ran: boolean
      readonly sidecars: readonly string[]
    }
  /** What can't be known: */
  | { readonly kind: 'events-gone' }
  | { readonly kind: 'restarted'; readonly app: string }
  | { readonly kind: 'other-clock' }
  | { readonly kind: 'still-starting' }

interface Shown {
  readonly pod: LivePod
  /** undefined where they can't be read. */
  readonly warnings: readonly SeenEvent[] | undefined
  /** ms, by the API server's clock */
  readonly now: number
}

/** A cluster keeps events for an hour, unless its API server says otherwise. */
const eventsLast = 3_600_000
/** After that a failure hardly belongs to the start. */
const startLasts = 120_000

/**
 * What a pod's status and its warnings say about its start. Times of the status and of the kubelet's events are of the pod's own node and are
 * compared with nothing else; the age of a pod is by the API server's clock alone.
 */
export function evidenceOf({ pod, warnings, now }: Shown, today: readonly Today[]): readonly Evidence[] {
  const names = today.map(({ sidecar }) => sidecar)
  const own = warnings?.filter(({ host }) => host === pod.node) ?? []
  const foreign = (warnings?.length ?? 0) > own.length
  const judged = judge({ pod, events: own, node: undefined, now }, names)
  const sure = [
    ...troublesOf(judged).flatMap((each) => troubleOf(each, judged, names)),
    ...probesOf(judged, pod, names),
    ...downOf(judged, names),
  ]
  const exposed = today.filter((each) => ['unguarded', 'unknown'].includes(standingToday(each)))
  if (exposed.length === 0) return sure
  const told = appsOf(judged.containers, judged.sidecars).flatMap((app) => failureOf(app, exposed))
  if (sure.length > 0 || told.length > 0) return [...sure, ...told]
  const age = now - (pod.created ?? now)
  const waits = judged.outcome.kind === 'unknown' && judged.outcome.reasons.some(isToStart)
  if (waits) return [{ kind: 'still-starting' }]
  if (foreign) return [{ kind: 'other-clock' }]
  return age > eventsLast ? [{ kind: 'events-gone' }] : []
}

/** What of it is about these sidecars. */
function troubleOf(trouble: Trouble, { containers, app }: Judged, names: readonly string[]): Evidence[] {
  const { part, what } = trouble
  switch (part) {
    case 'too-early': {
      const sidecars = what.sidecars.filter((name) => names.includes(name))
      if (what.why !== 'never-gated')
        return sidecars.length > 0 ? [{ kind: 'trouble', part, what: { ...what, sidecars } }] : []
      const began = containers.find(({ name }) => name === app)?.started
      return sidecars.flatMap((sidecar): Evidence[] => {
        const { started, restarts = 0 } = containers.find(({ name }) => name === sidecar) ?? {}
        if (!began || !started || restarts > 0) return []
        return [{ kind: 'started-later', sidecar, ms: started.at - began.at }]
      })
    }
    case 'lacking':
      return names.includes(what.sidecar) ? [{ kind: 'trouble', part, what }] : []
    case 'stuck': {
      const blamed = 'sidecars' in what ? [...what.sidecars, what.container] : [what.container]
      return blamed.some((name) => names.includes(name)) ? [{ kind: 'trouble', part, what }] : []
    }
    case 'again':
    case 'down':
    case 'unknown':
      return []
    default:
      return part satisfies never
  }
}

/** Probes of a sidecar that failed while the app ran and the pod had not been ready yet. (A Job's sidecars end after its app.) */
export function probesOf(
  { containers, app, events }: Judged,
  pod: LivePod,
  names: readonly string[],
): Extract<Evidence, { kind: 'probe-failed' }>[] {
  const began = containers.find(({ name }) => name === app)
  if (!began?.started || began.restarts > 1) return []
  const { started } = began
  const end = began.restarts === 0 ? began.ended : undefined
  const last = Math.min(
    started.at + startLasts,
    pod.ready === undefined ? Infinity : pod.ready + 1000,
    end?.at ?? Infinity,
  )
  return containers.flatMap((sidecar) => {
    if (!names.includes(sidecar.name) || sidecar.restarts > 0) return []
    const failed = events
      .filter(({ container, says }) => container === sidecar.name && isNotReady(says))
      .flatMap(timesOf)
      .filter((moment) => surelyBefore(started, moment) && moment.at <= last)
    if (failed.length === 0) return []
    const latest = Math.max(...failed.map(({ at }) => at))
    return [{ kind: 'probe-failed' as const, sidecar: sidecar.name, ms: latest - started.at }]
  })
}

/** An app that keeps ending, beside a sidecar that the kubelet doesn't call ready: of one without a probe that says nothing. */
function downOf({ down, outcome, containers, sidecars }: Judged, names: readonly string[]): Evidence[] {
  // Where its first start is lost, it counts as one that hasn't started.
  const last = outcome.kind === 'stuck' ? outcome.reason : down
  if (last?.why !== 'crashed' || sidecars.has(last.container)) return []
  const { container: app, message } = last
  return containers
    .filter(({ name, ready, hasReadinessProbe, kind }) => {
      return names.includes(name) && kind !== 'init' && !ready && hasReadinessProbe
    })
    .map(({ name: sidecar }) => ({ kind: 'down-beside', app, sidecar, message }))
}

/** An app's first run, if it ended soon and badly, and was the only one that did; a status has the last run and the one before. */
function failureOf(container: Container, exposed: readonly Today[]): Evidence[] {
  const { name: app, restarts } = container
  if (restarts > 1) return [{ kind: 'restarted', app }]
  const ran = restarts === 1
  // What failed again has another cause.
  if (ran && !isWell(container)) return []
  const failure = firstFailure(container)
  const sidecars = exposed.map(({ sidecar }) => sidecar)
  return failure ? [{ kind: 'app-failed', app, ...failure, ran, sidecars }] : []
}

/** How far, in ms at the least, a node's clock is behind the API server's: its kubelet saw the pod before the pod was created. */
export function clockBehind({ metadata, status }: V1Pod): number {
  const created = metadata?.creationTimestamp
  // The API server learns of a static pod only when it runs.
  const isStatic = metadata?.annotations?.[mirrorKey] !== undefined
  if (!created || !status?.startTime || isStatic) return 0
  return Math.max(0, new Date(created).getTime() - new Date(status.startTime).getTime() - 1000)
}
