import type { V1Pod } from '@kubernetes/client-node'
import { parseSidecars } from '../admission/intent/sidecars.ts'
import { keys } from '../admission/words/keys.ts'
import type { Moment } from './moment.ts'
import type { Start, Timeline } from './timeline.ts'

/** What the app had to wait for. Times in ms; `exact` where they are known to the millisecond. */
export interface Wait {
  /** The container whose hook held the rest back. */
  readonly hook: string
  readonly for: readonly string[]
  readonly took: number
  readonly exact: boolean
  readonly outcome: 'running' | 'ended' | 'failed'
}

export interface Waited {
  /** The first container that isn't a sidecar. */
  readonly app: string | undefined
  readonly waits: readonly Wait[]
  /** Sidecars that started after the app, and how much later. */
  readonly early: readonly { readonly sidecar: string; readonly by: number; readonly exact: boolean }[]
}

/** The hooks that held the app back, or the sidecars that started after it. */
export function waitedFor(timeline: Timeline, pod: V1Pod): Waited {
  const { starts, until } = timeline
  const gated = starts.flatMap(({ name, hook }) => (hook?.waitsFor.length ? [name, ...hook.waitsFor] : []))
  const sidecars = new Set([...gated, ...named(pod)])
  const app = starts.find(({ name, kind }) => kind === 'regular' && !sidecars.has(name))
  const waits = starts.flatMap((start): Wait[] => {
    const { name, hook, started } = start
    if (!hook || !started || !sidecars.has(name) || !before(start, app)) return []
    const ended = hook.ended ?? (hook.outcome === 'running' ? { at: until, exact: true } : undefined)
    if (!ended) return []
    const { took, exact } = between(started, ended)
    return [{ hook: name, for: hook.waitsFor.length > 0 ? hook.waitsFor : [name], took, exact, outcome: hook.outcome }]
  })
  const early = starts.flatMap(({ name, started }) => {
    if (!sidecars.has(name) || !started || !app?.started || started.at <= app.started.at) return []
    const { took, exact } = between(app.started, started)
    return [{ sidecar: name, by: took, exact }]
  })
  return { app: app?.name, waits, early }
}

const between = (from: Moment, to: Moment) => ({
  took: Math.max(0, Math.round(to.at - from.at)),
  exact: from.exact && to.exact,
})

/** A sidecar that the app did not wait for comes after it. */
const before = ({ started }: Start, app: Start | undefined) =>
  started !== undefined && (app?.started === undefined || started.at <= app.started.at)

/** A hook that isn't ours, or an unpatched pod, tells nothing; the pod's annotation does. */
function named({ metadata }: V1Pod): readonly string[] {
  const parsed = parseSidecars(metadata?.annotations?.[keys.sidecars] ?? '')
  const asked = parsed.ok ? parsed.value.flatMap((tier) => (tier === '*' ? [] : tier)) : []
  return [...asked, ...patchedTiers(metadata?.annotations?.[keys.status] ?? '{}')]
}

/** Anybody may have written it. */
function patchedTiers(status: string): readonly string[] {
  try {
    const { tiers } = JSON.parse(status)
    return Array.isArray(tiers) ? tiers.flat().filter((name) => typeof name === 'string') : []
  } catch {
    return []
  }
}
