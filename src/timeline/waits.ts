import type { Opening } from '../outcome/gates.ts'
import type { Moment } from '../outcome/moment.ts'
import type { Start, Timeline } from './timeline.ts'

/** What the app had to wait for. Times in ms; `exact` where they are known to the millisecond. */
export interface Wait {
  /** The container whose hook or startupProbe held the rest back. */
  readonly hook: string
  readonly for: readonly string[]
  readonly took: number
  readonly exact: boolean
  readonly outcome: Opening['how']
}

export interface Waited {
  readonly app: string | undefined
  readonly waits: readonly Wait[]
  /** Sidecars that started after the app, and how much later. */
  readonly early: readonly { readonly sidecar: string; readonly by: number; readonly exact: boolean }[]
}

/** The hooks that held the app back, or the sidecars that started after it. */
export function waitedFor({ starts, until, app: name, sidecars }: Timeline): Waited {
  const app = starts.find((start) => start.name === name)
  const waits = starts.flatMap((start): Wait[] => {
    const { name, hook, started } = start
    if (!hook || !started || !sidecars.has(name) || !before(start, app)) return []
    const ended = hook.ended ?? (hook.outcome === 'closed' ? { at: until, exact: true } : undefined)
    if (!ended) return []
    const { took, exact } = between(started, ended)
    return [{ hook: name, for: hook.waitsFor.length > 0 ? hook.waitsFor : [name], took, exact, outcome: hook.outcome }]
  })
  const early = starts.flatMap(({ name, started }) => {
    if (!sidecars.has(name) || !started || !app?.started || started.at <= app.started.at) return []
    const { took, exact } = between(app.started, started)
    return [{ sidecar: name, by: took, exact }]
  })
  return { app: name, waits, early }
}

const between = (from: Moment, to: Moment) => ({
  took: Math.max(0, Math.round(to.at - from.at)),
  exact: from.exact && to.exact,
})

/** A sidecar that the app did not wait for comes after it. */
const before = ({ started }: Start, app: Start | undefined) =>
  started !== undefined && (app?.started === undefined || started.at <= app.started.at)
