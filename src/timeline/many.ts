import { type Outcome, type Unjudged, unjudgedOf } from '../outcome/outcome.ts'
import type { Wait } from '../outcome/waits.ts'
import { outcomeWords } from '../outcome/words.ts'
import type { ContainerStart, Timeline } from './timeline.ts'
import { likeness, partNames, type Trouble, troublesOf } from './troubles.ts'

/** The starts of a workload's pods together. Only what was seen: a median is one of the times, not a mean of two. */
export interface Many {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** The list of its pods went on as of later than it began, so one may be missing. */
  readonly expired: boolean
  readonly unjudged: Unjudged | undefined
  /** The slowest first; what hasn't started before all others, and last those whose start is lost. */
  readonly timelines: readonly Timeline[]
  /** How many pods started how. `no-sidecars`: nothing says that they have any. */
  readonly outcomes: Readonly<Record<Outcome['kind'] | 'no-sidecars', number>>
  /** When the apps started, after their pods were given to their nodes. */
  readonly started: Spread | undefined
  /** The longest first. */
  readonly waits: readonly (Spread & Pick<Wait, 'for' | 'outcome'>)[]
  /** By their part, of each the most frequent first. */
  readonly groups: readonly Group[]
}

/** Times that were seen. */
export interface Spread {
  readonly of: number
  /** Of these, so many are known to the second only. */
  readonly coarse: number
  readonly median: Took
  readonly slowest: Took
}

export interface Took {
  readonly pod: string
  readonly ms: number
  readonly exact: boolean
}

/** The same about several pods, as it is of the first of them. */
type Group = Trouble & { readonly pods: readonly string[] }

/** Puts the starts of a workload's pods together. Pure. */
export function together(timelines: readonly Timeline[], { kind, namespace, name, expired = false }: About): Many {
  const outcomes = { held: 0, 'too-early': 0, stuck: 0, unknown: 0, 'no-sidecars': 0 }
  for (const { outcome, sidecars } of timelines) outcomes[sidecars.size === 0 ? 'no-sidecars' : outcome.kind]++
  const each = timelines.filter(({ sidecars }) => sidecars.size > 0)
  const waits = each.flatMap(({ name: pod, waits }) => waits.map((wait) => ({ pod, wait })))
  const alike = Map.groupBy(waits, ({ wait }) => `${wait.outcome} ${wait.for.join('+')}`)
  return {
    kind,
    namespace,
    name,
    expired,
    unjudged: unjudgedOf(each.map(({ appStarts: starts, unjudged }) => ({ starts, unjudged }))),
    timelines: timelines.toSorted((a, b) => lateness(b) - lateness(a) || 0),
    outcomes,
    started: spread(timelines.flatMap((timeline) => appStart(timeline) ?? [])),
    waits: [...alike.values()]
      .flatMap((some) => {
        const [first] = some
        const found = spread(some.map(({ pod, wait }) => ({ pod, ms: wait.took, exact: wait.exact })))
        return first && found ? [{ ...found, for: first.wait.for, outcome: first.wait.outcome }] : []
      })
      .toSorted((a, b) => b.median.ms - a.median.ms),
    groups: grouped(
      each.flatMap(({ name: pod, appStarts, ...timeline }) =>
        troublesOf({ ...timeline, starts: appStarts }).map((trouble) => ({ pod, trouble })),
      ),
    ),
  }
}

const lateness = (timeline: Timeline) => appStart(timeline)?.ms ?? (appOf(timeline)?.lost ? -1 : Infinity)

type About = Pick<Many, 'kind' | 'namespace' | 'name'> & Partial<Pick<Many, 'expired'>>

/** The app of a pod, and what is known of its start. */
export const appOf = ({ starts, app }: Timeline): ContainerStart | undefined => starts.find(({ name }) => name === app)

/** When the app of a pod started. */
export function appStart(timeline: Timeline): Took | undefined {
  const { name: pod, from } = timeline
  const started = appOf(timeline)?.started
  return started && { pod, ms: Math.round(started.at - from.at), exact: started.exact && from.exact }
}

function spread(all: readonly Took[]): Spread | undefined {
  const sorted = all.toSorted((a, b) => a.ms - b.ms)
  const median = sorted[Math.ceil(sorted.length / 2) - 1]
  const slowest = sorted.at(-1)
  return median && slowest && { of: all.length, coarse: all.filter(({ exact }) => !exact).length, median, slowest }
}

function grouped(all: readonly { readonly pod: string; readonly trouble: Trouble }[]): readonly Group[] {
  return [...Map.groupBy(all, ({ trouble }) => likeness(trouble)).values()]
    .flatMap((some) => some.slice(0, 1).map(({ trouble }) => ({ ...trouble, pods: some.map(({ pod }) => pod) })))
    .toSorted((a, b) => partNames.indexOf(a.part) - partNames.indexOf(b.part) || b.pods.length - a.pods.length)
}

/** How many started how; none aren't told. */
export const tally = ({ outcomes }: Many) =>
  (Object.keys(outcomeWords) as (keyof typeof outcomeWords)[])
    .map((kind) => ({ kind, text: outcomeWords[kind], count: outcomes[kind] }))
    .filter(({ count }) => count > 0)
