import { chartStyle, htmlChart, htmlColours } from '../html/chart.ts'
import { type Html, html, htmlPage } from '../html/html.ts'
import { seconds, sentences, timelineBars } from './draw.ts'
import { barsOf, linesOf, titleOf } from './draw-many.ts'
import { type Many, tally } from './many.ts'
import type { Timeline } from './timeline.ts'
import type { Waited } from './waits.ts'

/** Nobody scrolls through more. */
const mostBars = 200

/** A pod's start as one page. @param now ms, by the API server's clock */
export function htmlTimeline(timeline: Timeline, waited: Waited, about: About): string {
  const lines = [...sentences(timeline, waited), ...timeline.unknown.map((text) => `not known: ${text}`)]
  return page(
    `${timeline.namespace}/${timeline.name}`,
    html`<section>${htmlChart(timelineBars(timeline), (ms) => seconds(ms))}</section>
${listOf(lines)}`,
    about,
  )
}

/** The starts of a workload's pods as one page. */
export function htmlMany(many: Many, about: About): string {
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
    about,
  )
}

interface About {
  readonly now: number
  readonly version: string
}

const listOf = (lines: readonly string[]): Html => html`<ul class="lines">
${lines.map(
  (line) => html`<li>${line.trim()}</li>
`,
)}</ul>`

function page(title: string, body: Html, { now, version }: About): string {
  const whole = html`<header>
<h1>${title}</h1>
<p class="quiet">sidecar-first ${version} timeline, ${new Date(now).toISOString().replace(/\.\d+Z$/, 'Z')}</p>
</header>
<main>
${body}
</main>`
  return htmlPage({ title, style, body: whole })
}

const style = `${htmlColours}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1000px;padding:24px 16px;background:var(--ground);color:var(--ink);font:15px/1.5 Inter,system-ui,sans-serif;-webkit-text-size-adjust:100%}
h1{margin:0;font-size:22px;line-height:1.25;overflow-wrap:anywhere}
p{margin:4px 0}
.quiet{color:var(--muted);font-size:14px}
.numbers{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0 0}
.numbers div{flex:1 1 130px;padding:10px 14px;background:var(--surface);border:1px solid var(--line);border-radius:8px}
.numbers dt{color:var(--muted);font-size:13px}
.numbers dd{margin:0;font-size:26px;font-weight:600;line-height:1.2}
.numbers .held dd{color:var(--good)}
.numbers .too-early dd,.numbers .stuck dd{color:var(--bad)}
.numbers .unknown dd{color:var(--warn)}
section,.lines{margin:16px 0;padding:16px;background:var(--surface);border:1px solid var(--line);border-radius:8px}
.lines{padding-left:32px;overflow-wrap:anywhere}
${chartStyle}`
