import type { Start } from '../preview/forecast.ts'
import type { ChartBar, Segment } from '../terminal/chart.ts'
import { seconds } from '../timeline/draw.ts'
import type { Timeline } from '../timeline/timeline.ts'

/** How a pod would have started in another order, from what was measured of its last start. */
export interface Foreseen {
  readonly bars: readonly ChartBar[]
  /** When the app started, and when it would have, in ms after the pod was given to its node; absent where nothing tells. */
  readonly cost:
    | { readonly app: string; readonly was: number; readonly would: number; readonly exact: boolean }
    | undefined
  /** What the app would wait for and nobody saw ready: the time is not known. */
  readonly unseen: readonly string[]
  /** What wasn't in that pod, and is taken to start at once. */
  readonly added: readonly string[]
  /** All containers were ready by then; each of them may have been earlier. */
  readonly atMost: boolean
}

/** Of one container, in ms. */
interface Measured {
  /** From its creation to its start. */
  readonly creation: number
  /** From its start to its end, or until somebody saw it ready. */
  readonly until: number | undefined
  readonly exact: boolean
}

/** @param order as the patched pod's containers would start @param sharing others whose readiness the pod's condition may have waited for */
export function foresee(timeline: Timeline, order: readonly Start[], sharing: boolean): Foreseen {
  const { from, until: end, starts, app } = timeline
  const measured = new Map(starts.map((start) => [start.name, measure(start)]))
  const regular = starts.find(({ begun, started }) => begun ?? started)
  const first = regular?.begun ?? regular?.started ?? from
  const ready = new Map<string, number | undefined>()
  const placed: { readonly bar: Start; readonly begun: number; readonly started: number; readonly known: boolean }[] =
    []
  let now = first.at - from.at
  let known = true
  for (const bar of order) {
    let asked = now
    for (const name of bar.after) {
      const at = ready.get(name)
      if (at === undefined) known = false
      else if (bar.meanwhile?.includes(name)) asked = Math.max(asked, at)
      else now = Math.max(now, at)
    }
    const { creation = 0, until } = measured.get(bar.name) ?? {}
    const started = Math.max(now + creation, asked)
    placed.push({ bar, begun: now, started, known })
    const isNew = !measured.has(bar.name)
    const over = until === undefined ? undefined : started + until
    ready.set(bar.name, over ?? (isNew && bar.role === 'init' ? started : undefined))
    now = bar.role === 'init' ? (over ?? started) : started
  }
  const waited = new Set(order.flatMap(({ after }) => after))
  const unseen = [...waited].filter((name) => ready.get(name) === undefined)
  const last = Math.max(end - from.at, now, ...placed.flatMap(({ bar }) => ready.get(bar.name) ?? []))
  const of = placed.find(({ bar }) => bar.name === app)
  const was = starts.find(({ name }) => name === app)?.started
  const isExact = from.exact && was?.exact === true && [...waited].every((name) => measured.get(name)?.exact)
  const cost =
    app !== undefined && was && of?.known
      ? { app, was: was.at - from.at, would: of.started, exact: isExact && !sharing }
      : undefined
  return {
    bars: placed.map((each, index) => barOf(each, ready.get(each.bar.name), placed[index + 1]?.begun ?? last, last)),
    cost,
    unseen,
    added: order.filter(({ name }) => !measured.has(name)).map(({ name }) => name),
    atMost: sharing,
  }
}

function measure({ begun, started, ready, finished }: Timeline['starts'][number]): Measured {
  const over = finished ?? ready
  return {
    creation: begun && started ? Math.max(0, started.at - begun.at) : 0,
    until: started && over ? Math.max(0, over.at - started.at) : undefined,
    exact: started?.exact === true && over?.exact !== false,
  }
}

function barOf(
  { bar, begun, started, known }: { bar: Start; begun: number; started: number; known: boolean },
  ready: number | undefined,
  next: number,
  last: number,
): ChartBar {
  const label = bar.name
  if (!known) return { label, segments: [{ from: begun, until: last, doing: 'starting' }], note: 'not known when' }
  const note = `would start ${seconds(started, false)}`
  if (bar.role === 'init') return { label, segments: [{ from: begun, until: ready ?? started, doing: 'init' }], note }
  const over = bar.role === 'app' ? (ready ?? started) : ready
  const segments: Segment[] = [
    { from: begun, until: over ?? last, doing: 'starting' },
    ...(over === undefined ? [] : [{ from: over, until: last, doing: 'ready' } as const]),
    ...(bar.hook === undefined || next <= started ? [] : [{ from: started, until: next, doing: 'hook' } as const]),
  ]
  return { label, segments, note }
}
