import { type ChartBar, drawChart, legend } from '../../terminal/chart.ts'
import type { Look } from '../../terminal/look.ts'
import type { Bar, Forecast } from '../forecast-bars.ts'
import { line } from '../message.ts'
import type { End } from '../predicted-end.ts'

/** Both predicted starts of a pod on one axis, or one if they are the same; `explained`: with what the marks mean. */
export function startChart({ without, with: patched }: Forecast, explained: boolean, look: Look): string {
  const differ = JSON.stringify(without) !== JSON.stringify(patched)
  const bars = [
    ...(differ ? [{ label: 'without sidecar-first', segments: [] }, ...without.map(row)] : []),
    { label: 'with sidecar-first', segments: [] },
    ...patched.map(row),
  ]
  const meaning = `${legend([...marks, ...bars], look)}The order is what counts: steps, not measured time.\n`
  return drawChart(bars, look) + (explained ? meaning : '')
}

/** All that a prediction may show, since it is explained once for many. */
const marks: readonly ChartBar[] = (['init', 'starting', 'hook', 'ready', 'early'] as const).map((doing) => ({
  label: '',
  segments: [{ from: 0, until: 1, doing }],
}))

/** Where two share a column, the earlier one shows: how the app starts counts more than that it runs. */
const row = ({ name, segments, note }: Bar): ChartBar => ({ label: name, segments: segments.toReversed(), note })

/** How a pod ends, below how it starts. */
export function endChart({ bars, messages }: End, explained: boolean, look: Look): string {
  const rows = bars.map(({ name, segments, note }): ChartBar => ({ label: name, segments, note }))
  const chart = drawChart([{ label: 'when the pod ends', segments: [] }, ...rows], look)
  const said = messages.map((each) => `${line(each)}\n`).join('')
  return chart + (explained ? legend(rows, look) : '') + said
}
