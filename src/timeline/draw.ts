import { printable } from '../admission/words/printable.ts'
import type { Wait } from '../outcome/waits.ts'
import {
  earlyText,
  lackingCode,
  lackingText,
  outcomeCodes,
  stuckNext,
  stuckText,
  unknownText,
} from '../outcome/words.ts'
import type { Moment } from '../seen/moment.ts'
import { type ChartBar, drawChart, legend, type Segment } from '../terminal/chart.ts'
import { type Look, styled } from '../terminal/look.ts'
import type { ContainerStart, Timeline } from './timeline.ts'

/** The chart, what the app waited for, and what isn't known. */
export function drawTimeline(timeline: Timeline, look: Look): string {
  const { namespace, name, unknown } = timeline
  const bars = timelineBars(timeline)
  const chart = drawChart(bars, look, (ms) => seconds(ms))
  const dim = unknown.map((text) => `${styled(look, 'dim', `not known: ${text}`)}\n`)
  return `${styled(look, 'bold', `${namespace}/${name}`)}\n${chart}${legend(bars, look)}\n${sentences(timeline).join('\n')}\n${dim.join('')}`
}

/** A bar for each container, in the order of their start; ms from where the axis begins. */
export const timelineBars = (timeline: Timeline): readonly ChartBar[] =>
  timeline.starts.map((start) => barOf(start, timeline))

function barOf(start: ContainerStart, timeline: Timeline): ChartBar {
  const { from, until, app } = timeline
  const { name, kind, begun, started, ready, readyNow, hook, finished, failed } = start
  const after = ({ at }: Moment) => at - from.at
  const end = until - from.at
  const note = started ? `started ${seconds(after(started), started.exact)}` : whyNot(start)
  if (!begun) {
    const doing = start.lost && readyNow ? 'unseen' : 'starting'
    return { label: name, segments: [{ from: end, until: end, doing }], note }
  }
  if (kind === 'init') {
    const segments: Segment[] = [{ from: after(begun), until: finished ? after(finished) : end, doing: 'init' }]
    return { label: name, segments, note }
  }
  const segments: Segment[] = [{ from: after(begun), until: ready ? after(ready) : end, doing: 'starting' }]
  const early = name === app ? earlyUntil(timeline, start) : undefined
  if (ready && early !== until) segments.push({ from: after(ready), until: end, doing: 'ready' })
  // The kubelet calls it ready now; since when, or whether that means anything, nobody has seen.
  else if (readyNow && started && early !== until) segments.push({ from: after(started), until: end, doing: 'unseen' })
  if (hook && started) {
    const over = hook.ended ? after(hook.ended) : hook.outcome === 'closed' ? end : after(started)
    segments.push({ from: after(started), until: over, doing: 'hook' })
  }
  if (started && early) segments.push({ from: after(started), until: early - from.at, doing: 'early' })
  if (failed) segments.push({ from: after(failed), until: after(failed), doing: 'failed' })
  return { label: name, segments, note }
}

/** Of a container of whose start nothing is known. */
export const whyNot = ({ lost, waiting }: ContainerStart): string =>
  waiting ?? (lost ? 'first start lost' : 'not started')

/** Until the sidecars to blame were seen ready, or to the end. */
function earlyUntil({ outcome, starts, until }: Timeline, { started }: ContainerStart): number | undefined {
  if (!started || outcome.kind !== 'too-early') return undefined
  const blamed = outcome.reasons.flatMap(({ sidecars }) => sidecars)
  const times = starts.filter(({ name }) => blamed.includes(name)).map(({ ready }) => ready?.at ?? until)
  return Math.max(started.at, ...times)
}

/** Some of it was written by a pod's author, who must not control the terminal. */
const shown = (line: string): string => printable(line, 1024)

/** What became of it, in words. */
export function sentences(timeline: Timeline): string[] {
  const { namespace, name, from, until, starts, app, outcome, lacking, sidecars, waits, late } = timeline
  const pod = `-n ${namespace} ${name}`
  const start = starts.find((each) => each.name === app)
  const lines: string[] = []
  const exact = waits.every((wait) => wait.exact)
  const total = waits.reduce((sum, { took }) => sum + took, 0)
  if (start?.started) {
    const at = seconds(start.started.at - from.at, start.started.exact && from.exact)
    const held = outcome.kind === 'held' ? `, after waiting ${seconds(total, exact)} for its sidecars` : ''
    const soon = outcome.kind === 'too-early' ? ', before its sidecars were ready' : ''
    lines.push(`${app} started ${at} after the pod was given to its node${held}${soon}`)
  } else if (start?.lost) {
    lines.push(`${app} has started, and when it first did is lost`)
  } else if (app !== undefined) {
    lines.push(
      `${app} has not started ${seconds(until - from.at)} after the pod was given to its node${start?.waiting ? `: ${start.waiting}` : ''}`,
    )
  }
  lines.push(...waits.map((wait) => `  ${waitText(wait, seconds(wait.took, wait.exact))}`))
  for (const { sidecar, by, exact } of late) lines.push(`  ${app} started ${seconds(by, exact)} before ${sidecar} did`)
  if (sidecars.size > 0) lines.push(...told(timeline, pod))
  lines.push(...lacking.map((each) => `${lackingCode} now ${app} runs without ${each.sidecar}: ${lackingText(each)}`))
  return lines.map(shown)
}

/** What came of it. */
function told({ outcome, app, namespace, name, until, from }: Timeline, pod: string): string[] {
  const { kind } = outcome
  const code = outcomeCodes[kind]
  switch (kind) {
    case 'held':
      return []
    case 'too-early':
      return [
        ...outcome.reasons.map((reason) => `${code} too early: ${earlyText(reason)}`),
        ...(outcome.reasons.some(({ why }) => why === 'never-gated')
          ? [`see sidecar-first check -n ${namespace} pod/${name}`]
          : []),
      ]
    case 'stuck': {
      const { since } = outcome.reason
      const long = seconds(until - (since ?? from).at, (since ?? from).exact)
      return [`${code} stuck for ${long}: ${stuckText(outcome.reason)}`, `  ${stuckNext(outcome.reason, pod)}`]
    }
    case 'unknown':
      return outcome.reasons.flatMap((reason) =>
        reason.why === 'starting'
          ? []
          : [`${code} not known whether ${app} found its sidecars ready: ${unknownText(reason)}`],
      )
    default:
      return kind satisfies never
  }
}

/** @param hook the container that holds the rest back, of a single pod */
export function waitText(
  { for: names, outcome, hook }: Pick<Wait, 'for' | 'outcome'> & Partial<Pick<Wait, 'hook'>>,
  took: string,
): string {
  const whom = names.join(' + ')
  switch (outcome) {
    case 'ready':
      return `${took} for ${whom}`
    case 'closed':
      return `${took} so far for ${whom}${hook === undefined ? '' : `: ${hook} still holds the rest back`}`
    case 'timed-out':
      return `${took} in vain for ${whom}: the time ran out`
    case 'crashed':
      return `${took} in vain for ${whom}: ${hook === undefined ? 'a hook' : `the hook of ${hook}`} failed`
    case 'kubelet-restarted':
      return `${took} in vain for ${whom}: the kubelet restarted`
    case 'open':
      return `${took} for ${whom}, ready or not`
    default:
      return outcome satisfies never
  }
}

/** `2.07 s`, or `about 2 s` where it is known to the second. */
export const seconds = (ms: number, exact = true): string =>
  exact ? `${Number((ms / 1000).toFixed(2))} s` : `about ${Math.round(ms / 1000)} s`
