import { type Html, html } from '../html/html.ts'
import { htmlChart } from '../html/html-chart.ts'
import { htmlReport, type Made } from '../html/report.ts'
import { seconds, sentences, timelineBars } from './draw.ts'
import { barsOf, linesOf, titleOf } from './draw-many.ts'
import { type Many, tally } from './many.ts'
import type { Timeline } from './timeline.ts'

/** Nobody scrolls through more. */
const mostBars = 200

/** A pod's start as one page. */
export function htmlTimeline(timeline: Timeline, made: Made): string {
  const lines = [...sentences(timeline), ...timeline.unknown.map((text) => `not known: ${text}`)]
  return page(
    `${timeline.namespace}/${timeline.name}`,
    html`<section>${htmlChart(timelineBars(timeline), (ms) => seconds(ms))}</section>
${listOf(lines)}`,
    made,
  )
}

/** The starts of a workload's pods as one page. */
export function htmlMany(many: Many, made: Made): string {
  const { bars, left } = barsOf(many, mostBars)
  const more =
    left > 0
      ? html`<p class="quiet">and ${left} faster</p>
`
      : undefined
  const [first, ...others] = linesOf(many)
  // The numbers say what the first line does.
  const lines = many.timelines.length > 0 ? others : [first ?? '']
  const numbers = tally(many).map(
    ({ kind, text, count }) => html`<div class="${kind}"><dt>${text}</dt><dd>${count}</dd></div>
`,
  )
  return page(
    titleOf(many),
    html`<dl class="numbers">
${numbers}</dl>
${bars.length > 0 ? html`<section>${htmlChart(bars, (ms) => seconds(ms))}${more}</section>` : undefined}
${listOf(lines)}`,
    made,
  )
}

const listOf = (lines: readonly string[]): Html => html`<ul>
${lines.map(
  (line) => html`<li>${line.trim()}</li>
`,
)}</ul>`

const page = (heading: string, main: Html, made: Made): string =>
  htmlReport({ command: 'timeline', made, heading, main, style })

const style = `.numbers .held dd{color:var(--good)}
.numbers .too-early dd,.numbers .stuck dd{color:var(--bad)}
.numbers .unknown dd{color:var(--warn)}`
