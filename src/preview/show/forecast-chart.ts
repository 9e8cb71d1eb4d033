import { type ChartBar, drawChart, legend, type Segment } from '../../terminal/chart.ts'
import type { Look } from '../../terminal/look.ts'
import type { Bar, Forecast } from '../forecast.ts'

/** Both predicted starts of a pod on one axis, or one if they are the same; `explained`: with what the marks mean. */
export function startChart({ without, with: patched }: Forecast, explained: boolean, look: Look): string {
  const differ = JSON.stringify(without) !== JSON.stringify(patched)
  const end = Math.max(...[...without, ...patched].map(({ ready, hook }) => Math.max(ready, hook?.until ?? 0))) + 2
  const bars = [
    ...(differ
      ? [{ label: 'without sidecar-first', segments: [] }, ...without.map((bar) => row(bar, without, end))]
      : []),
    { label: 'with sidecar-first', segments: [] },
    ...patched.map((bar) => row(bar, patched, end)),
  ]
  const meaning = `${legend([...marks, ...bars], look)}The order is what counts: steps, not measured time.\n`
  return drawChart(bars, look) + (explained ? meaning : '')
}

/** All that a prediction may show, since it is explained once for many. */
const marks: readonly ChartBar[] = (['init', 'starting', 'hook', 'ready', 'early'] as const).map((doing) => ({
  label: '',
  segments: [{ from: 0, until: 1, doing }],
}))

function row(bar: Bar, all: readonly Bar[], end: number): ChartBar {
  return { label: bar.name, segments: segments(bar, all, end), note: note(bar, all) }
}

function segments({ role, start, ready, hook, notReady, outlook }: Bar, all: readonly Bar[], end: number): Segment[] {
  if (outlook === 'never') return [{ from: start, until: end, doing: 'never' }]
  if (role === 'init') return [{ from: start, until: ready, doing: 'init' }]
  const there = Math.max(start, ...all.filter(({ name }) => notReady.includes(name)).map((other) => other.ready))
  return [
    { from: start, until: ready, doing: 'starting' },
    {
      from: Math.max(ready, hook?.until ?? 0),
      until: end,
      doing: outlook === 'stuck' ? 'starting' : (outlook ?? 'ready'),
    },
    ...(hook === undefined ? [] : [{ from: hook.from, until: hook.until, doing: 'hook' } as const]),
    ...(there > start ? [{ from: start, until: there, doing: 'early' } as const] : []),
  ]
}

function note({ role, check, hook, after, notReady, outlook, needs }: Bar, all: readonly Bar[]): string {
  if (outlook === 'never') return `never starts: waits for ${needs}`
  const sidecars = after.filter((name) => all.some((other) => other.name === name && other.role === 'sidecar'))
  if (notReady.length > 0) return `too early for ${notReady.join(', ')}`
  if (outlook === 'stuck') return `waits in vain for ${needs}`
  if (outlook === 'doubtful' && role === 'sidecar') return `may need ${needs}`
  if (outlook === 'endless') return 'runs on: the Job never completes'
  if (check === 'none') return 'not waited for'
  if (hook !== undefined && hook.waitsFor.length > 0) return `hook waits for ${hook.waitsFor.join(', ')}`
  return role === 'app' && sidecars.length > 0 ? `after ${sidecars.join(', ')}` : ''
}
