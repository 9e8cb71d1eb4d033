import { type ChartBar, type Doing, meaningOf } from '../terminal/chart.ts'
import { type Html, html } from './html.ts'

/** Of the axis, in the drawing's own unit. */
const width = 1000
/** Everything shows, however short. */
const least = 6

/** The chart of a terminal as markup: a row for each bar, and what the colours mean. @param seconds formats a value */
export function htmlChart(bars: readonly ChartBar[], seconds: (ms: number) => string): Html {
  const end = Math.max(1, ...bars.flatMap(({ segments }) => segments.map(({ until }) => until)))
  const x = (value: number) => Math.round((Math.max(0, value) / end) * width)
  const rows = bars.map(({ label, segments, note = '' }) => {
    const drawn = segments.map(({ from, until, doing }) => {
      const left = Math.min(x(from), width - least)
      return html`<rect class="${doing}" x="${left}" y="0" width="${Math.max(least, x(until) - left)}" height="14"/>`
    })
    const told = segments.map(({ from, until, doing }) => `${meaningOf(doing)}, ${seconds(from)} to ${seconds(until)}`)
    return html`<div class="bar"><span class="label">${label}</span><svg role="img" aria-label="${`${label}: ${told.join('; ')}`}" viewBox="0 0 ${width} 14" preserveAspectRatio="none">${drawn}</svg><span class="note">${note}</span></div>
`
  })
  const doing = [...new Set(bars.flatMap(({ segments }) => segments.map((each) => each.doing)))]
  const legend = doing.map(
    (
      each,
    ) => html`<li><svg aria-hidden="true" viewBox="0 0 14 14"><rect class="${each}" x="0" y="0" width="14" height="14"/></svg>${meaningOf(each)}</li>
`,
  )
  return html`<div class="chart">
${rows}<p class="axis"><span>0 s</span><span>${seconds(end)}</span></p>
<ul class="legend">
${legend}</ul>
</div>`
}

const colours: Record<Doing, string> = {
  init: '--ends',
  ending: '--ends',
  alone: '--early',
  starting: '--starts',
  hook: '--waits',
  ready: '--works',
  unseen: '--doubtful',
  early: '--early',
  stuck: '--early',
  doubtful: '--doubtful',
  never: '--early',
  endless: '--doubtful',
  failed: '--failed',
  valid: '--works',
  due: '--doubtful',
  now: '--ink',
}

/** It wants the colours of a report. (The axis is as wide as the bars, whose columns are in ems of another size.) */
export const chartStyle = `${Object.entries(colours)
  .map(([doing, colour]) => `.chart .${doing}{fill:var(${colour})}`)
  .join('\n')}
.chart{margin:14px 0 4px}
.bar{display:grid;grid-template-columns:minmax(6em,12em) 1fr 11em;gap:0 12px;align-items:center;font-size:13px}
.bar svg{width:100%;height:14px;display:block;background:var(--sunken)}
.bar .label,.bar .note{overflow-wrap:anywhere}
.bar .note{color:var(--muted)}
.bar+.bar{margin-top:6px}
.axis{display:flex;justify-content:space-between;margin:4px 155px 0 168px;color:var(--muted);font-size:12px}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;margin:8px 0 0;padding:0;list-style:none;color:var(--muted);font-size:13px}
.legend li{display:flex;align-items:center;gap:6px}
.legend svg{width:12px;height:12px;flex:none}
@media (max-width:640px){.bar{grid-template-columns:1fr}.axis{margin:4px 0 0}.bar+.bar{margin-top:12px}}`
