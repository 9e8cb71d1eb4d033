import { printable } from '../admission/words/printable.ts'
import { type ChartBar, drawChart, legend, type Segment } from '../terminal/chart.ts'
import { type Look, styled } from '../terminal/look.ts'
import type { Moment } from './moment.ts'
import type { Start, Timeline } from './timeline.ts'
import type { Wait, Waited } from './waits.ts'

/** The chart, what the app waited for, and what isn't known. */
export function drawTimeline(timeline: Timeline, waited: Waited, look: Look): string {
  const { namespace, name, unknown } = timeline
  const bars = timeline.starts.map((start) => barOf(start, timeline, waited))
  const chart = drawChart(bars, look, (ms) => seconds(ms))
  const dim = unknown.map((text) => `${styled(look, 'dim', `not known: ${text}`)}\n`)
  return `${styled(look, 'bold', `${namespace}/${name}`)}\n${chart}${legend(bars, look)}\n${sentences(timeline, waited).join('\n')}\n${dim.join('')}`
}

function barOf(start: Start, { from, until }: Timeline, { app, early }: Waited): ChartBar {
  const { name, kind, begun, started, hook, finished, waiting } = start
  const ready = start.ready ?? (start.readyNow ? started : undefined)
  const after = ({ at }: Moment) => at - from.at
  const end = until - from.at
  if (!begun)
    return { label: name, segments: [{ from: end, until: end, doing: 'starting' }], note: waiting ?? 'not started' }
  const note = started ? `started ${seconds(after(started), started.exact)}` : (waiting ?? 'not started')
  if (kind === 'init') {
    const segments: Segment[] = [{ from: after(begun), until: finished ? after(finished) : end, doing: 'init' }]
    return { label: name, segments, note }
  }
  const segments: Segment[] = [{ from: after(begun), until: ready ? after(ready) : end, doing: 'starting' }]
  if (ready) segments.push({ from: after(ready), until: end, doing: 'ready' })
  if (hook && started) {
    const over = hook.ended ? after(hook.ended) : hook.outcome === 'running' ? end : after(started)
    segments.push({ from: after(started), until: over, doing: 'hook' })
    if (hook.outcome === 'failed') segments.push({ from: over, until: over, doing: 'failed' })
  }
  if (name === app && started && early.length > 0) {
    const by = Math.max(...early.map((each) => each.by))
    segments.push({ from: after(started), until: after(started) + by, doing: 'early' })
  }
  return { label: name, segments, note }
}

function sentences({ namespace, name: pod, from, until, starts }: Timeline, { app, waits, early }: Waited): string[] {
  const start = starts.find(({ name }) => name === app)
  const lines: string[] = []
  const exact = waits.every((wait) => wait.exact)
  const total = waits.reduce((sum, { took }) => sum + took, 0)
  if (start?.started) {
    const at = seconds(start.started.at - from.at, start.started.exact && from.exact)
    const held = waits.length === 0 ? '' : `, after waiting ${seconds(total, exact)} for its sidecars`
    lines.push(`${app} started ${at} after the pod was given to its node${held}`)
  } else if (app !== undefined) {
    lines.push(
      `${app} has not started ${seconds(until - from.at)} after the pod was given to its node${start?.waiting ? `: ${printable(start.waiting, 1024)}` : ''}`,
    )
  }
  lines.push(...waits.map((wait) => `  ${describe(wait, `-n ${namespace} ${pod}`)}`))
  for (const { sidecar, by, exact } of early) {
    lines.push(
      `${app} started ${seconds(by, exact)} before ${sidecar} did: nothing held it back; see sidecar-first check -n ${namespace} pod/${pod}`,
    )
  }
  return lines
}

function describe({ hook, for: names, took, exact, outcome }: Wait, pod: string): string {
  const time = seconds(took, exact)
  const whom = names.join(' + ')
  switch (outcome) {
    case 'ended':
      return `${time} for ${whom}`
    case 'running':
      return `${time} so far for ${whom}: the hook of ${hook} still waits`
    case 'failed':
      return `${time} in vain for ${whom}: the hook of ${hook} failed; see kubectl describe pod ${pod}`
    default:
      return outcome satisfies never
  }
}

/** `2.07 s`, or `about 2 s` where it is known to the second. */
const seconds = (ms: number, exact = true): string =>
  exact ? `${Number((ms / 1000).toFixed(2))} s` : `about ${Math.round(ms / 1000)} s`
