import type { Moment } from '../seen/moment.ts'
import type { Opening } from './gates.ts'
import type { Judged } from './outcome.ts'

/** What the app had to wait for. Times in ms; `exact` where they are known to the millisecond. */
export interface Wait {
  /** The container whose hook or startupProbe held the rest back. */
  readonly hook: string
  readonly for: readonly string[]
  readonly took: number
  readonly exact: boolean
  readonly outcome: Opening['how']
}

/** A sidecar that started after the app, and how much later. */
export interface Late {
  readonly sidecar: string
  readonly by: number
  readonly exact: boolean
}

/** The gates of sidecars that held the app back. A sidecar that the app did not wait for comes after it. @param until what is closed has lasted so far */
export function waitsOf({ gates, containers, sidecars, app }: Judged, until: number): readonly Wait[] {
  const begin = containers.find(({ name }) => name === app)?.started
  // Of each lock the first container that has started behind it, or else whose image is there.
  const turned = [...containers.filter(({ started }) => started), ...containers.filter(({ pulled }) => pulled)]
  const held = new Map(turned.toReversed().flatMap((each) => each.locks.map((lock) => [lock, each] as const)))
  return gates.flatMap(({ at: hook, for: names, from, opening, lease }): Wait[] => {
    if (!sidecars.has(hook) || (begin && from.at > begin.at)) return []
    const ended = 'moment' in opening ? opening.moment : { at: until, exact: true }
    if (!ended) return []
    // With a lease the image is pulled meanwhile.
    const { begun, pulled } = (lease && held.get(lease.lock)) ?? {}
    const isBetween = begun && pulled && begun.at >= from.at && begun.at <= pulled.at && pulled.at <= ended.at
    const since = isBetween ? { ...from, at: from.at + pulled.at - begun.at } : from
    return [{ hook, for: names.length > 0 ? names : [hook], ...between(since, ended), outcome: opening.how }]
  })
}

export function lateOf({ containers, sidecars, app }: Judged): readonly Late[] {
  const begin = containers.find(({ name }) => name === app)?.started
  return containers.flatMap(({ name: sidecar, started }) => {
    if (!begin || !started || !sidecars.has(sidecar) || started.at <= begin.at) return []
    const { took: by, exact } = between(begin, started)
    return [{ sidecar, by, exact }]
  })
}

const between = (from: Moment, to: Moment) => ({
  took: Math.max(0, Math.round(to.at - from.at)),
  exact: from.exact && to.exact,
})
