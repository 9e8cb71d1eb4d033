import { printable } from '../admission/words/printable.ts'
import type { Life } from '../outcome/lives.ts'
import type { Wait } from '../outcome/waits.ts'
import {
  downCode,
  downText,
  earlyText,
  heldNotes,
  lackingCode,
  lackingText,
  laterCodes,
  outcomeCodes,
  startText,
  stuckNext,
  stuckText,
  unknownText,
} from '../outcome/words.ts'
import type { Moment } from '../seen/moment.ts'
import { type ChartBar, drawChart, legend, type Segment } from '../terminal/chart.ts'
import { type Look, styled } from '../terminal/look.ts'
import { type ContainerStart, hasFailed, lifeMoments, type Timeline } from './timeline.ts'
import { laterStarts } from './troubles.ts'

/** The chart, what the app waited for, and what isn't known. */
export function drawTimeline(timeline: Timeline, look: Look): string {
  const { namespace, name, unknown } = timeline
  const bars = timelineBars(timeline)
  const chart = drawChart(bars, look, (ms) => seconds(ms))
  const since = sinceBars(timeline)
  const more = since.length > 0 ? `\nsince then\n${drawChart(since, look, longText)}${legend(since, look)}` : ''
  const dim = unknown.map((text) => `${styled(look, 'dim', shown(`not known: ${text}`))}\n`)
  return `${styled(look, 'bold', `${namespace}/${name}`)}\n${chart}${legend(bars, look)}${more}\n${sentences(timeline).join('\n')}\n${dim.join('')}`
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
  const [life] = start.lives
  // The first life; nobody saw its end where the status has lost it.
  const over = life?.nth === 0 && life.isOver
  const last = over ? Math.min(end, after(endOf(life, start) ?? lastSeen(start) ?? begun)) : end
  const isOver = (moment: Moment) => after(moment) > last
  const unready = ready && !isOver(ready) ? after(ready) : last
  const segments: Segment[] = [{ from: after(begun), until: unready, doing: 'starting' }]
  const early = name === app ? earlyUntil(timeline, start) : undefined
  if (ready && !isOver(ready) && early !== until) segments.push({ from: after(ready), until: last, doing: 'ready' })
  // The kubelet calls it ready now; since when, or whether that means anything, nobody has seen.
  else if (readyNow && !over && started && early !== until)
    segments.push({ from: after(started), until: end, doing: 'unseen' })
  if (hook && started) {
    const until = hook.returned ? after(hook.returned) : hook.outcome === 'closed' ? end : after(started)
    segments.push({ from: after(started), until: Math.min(until, last), doing: 'hook' })
  }
  if (started && early) segments.push({ from: after(started), until: Math.min(early - from.at, last), doing: 'early' })
  if (failed) segments.push({ from: after(failed), until: after(failed), doing: 'failed' })
  return { label: name, segments: [...segments, ...laterLives(start, timeline, until)], note }
}

/** An end is cut to the second, which the hook's failure is not. */
function endOf({ ended }: Life, { failed }: ContainerStart): Moment | undefined {
  const exactly = ended && failed && failed.at >= ended.at && failed.at < ended.at + 1000
  return exactly ? failed : ended
}

/** The latest that anybody saw of a first life whose end is lost. */
const lastSeen = ({ ready, hook, started, failed }: ContainerStart): Moment | undefined =>
  failed ?? ready ?? hook?.ended ?? started

/** A bar for each of them, and a mark where one failed. @param until nothing later is drawn */
function laterLives(start: ContainerStart, timeline: Timeline, until: number): Segment[] {
  const { from, sidecars } = timeline
  const isSidecar = sidecars.has(start.name)
  return start.lives
    .filter(({ nth, began }) => nth > 0 && began.at <= until)
    .flatMap((life): Segment[] => {
      const { began, ended, isOver } = life
      const over = Math.min(ended?.at ?? (isOver ? began.at : until), until)
      const within = (moment: Moment | undefined) =>
        moment && moment.at >= began.at && moment.at <= over ? moment.at - from.at : undefined
      const [begin, end] = [began.at - from.at, over - from.at]
      const bars: Segment[] = [{ from: begin, until: end, doing: doingIn(start, timeline, life.nth) }]
      const ready = within(start.ready)
      if (ready !== undefined) {
        bars.push({ from: begin, until: ready, doing: 'starting' }, { from: ready, until: end, doing: 'ready' })
      }
      const hook = within(start.hook?.returned)
      if (hook !== undefined) bars.push({ from: begin, until: hook, doing: 'hook' })
      if (hasFailed(life, isSidecar) && ended && ended.at <= until)
        bars.push({ from: end, until: end, doing: 'failed' })
      return bars
    })
}

/** Of a later life. An app that nobody asks whether it is ready is so as soon as it runs. */
function doingIn({ name, hook }: ContainerStart, { appStarts, sidecars }: Timeline, nth: number): Segment['doing'] {
  const start = appStarts.find((each) => each.container === name && each.nth === nth)
  if (start?.outcome.kind === 'too-early') return 'early'
  return sidecars.has(name) || hook ? 'unseen' : 'ready'
}

/** All lives until now, if some began or ended long after the start. */
function sinceBars(timeline: Timeline): readonly ChartBar[] {
  const { starts, from, until, now } = timeline
  const isLater = starts.some((start) => lifeMoments(start).some(({ at }) => at > until))
  if (!isLater) return []
  return starts
    .filter(({ kind }) => kind !== 'init')
    .map((start) => {
      const [first] = start.lives
      const over = first?.ended?.at ?? (first?.isOver ? first.began.at : now)
      const own: Segment[] =
        first?.nth === 0
          ? [
              {
                from: first.began.at - from.at,
                until: Math.min(over, now) - from.at,
                doing: doingIn(start, timeline, 0),
              },
            ]
          : []
      const note = start.restarts > 0 ? `restarted ${start.restarts} ${start.restarts === 1 ? 'time' : 'times'}` : ''
      return { label: start.name, segments: [...own, ...laterLives(start, timeline, now)], note }
    })
    .filter(({ segments }) => segments.length > 0)
}

const longText = (ms: number): string => {
  const [size, unit] = (
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
      [60_000, 'min'],
      [1000, 's'],
    ] as const
  ).find(([size]) => ms >= size) ?? [1000, 's']
  return `${Number((ms / size).toFixed(1))} ${unit}`
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
  const { namespace, name, from, until, starts, app, outcome, lacking, sidecars, waits, late, down } = timeline
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
  lines.push(...later(timeline))
  if (down) lines.push(`${downCode} now ${app} isn't running: ${downText(down)}`, `  ${stuckNext(down, pod)}`)
  lines.push(...lacking.map((each) => `${lackingCode} now ${app} runs without ${each.sidecar}: ${lackingText(each)}`))
  return lines.map(shown)
}

/** What became of each start but the first one. */
function later({ appStarts, app }: Timeline): string[] {
  return laterStarts({ starts: appStarts, app }).flatMap((start) => {
    const { outcome } = start
    if (outcome.kind === 'held') return []
    const code = laterCodes[outcome.kind]
    const which = startText(start)
    return outcome.kind === 'too-early'
      ? outcome.reasons.map((reason) => `${code} ${which} was too early: ${earlyText(reason)}`)
      : outcome.reasons.map(
          (reason) => `${code} not known whether ${which} found its sidecars ready: ${unknownText(reason)}`,
        )
  })
}

/** What came of it. */
function told({ outcome, app, namespace, name, until, from }: Timeline, pod: string): string[] {
  const { kind } = outcome
  const code = outcomeCodes[kind]
  switch (kind) {
    case 'held':
      return heldNotes(outcome).map((note) => `  ${note}`)
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
          : reason.why === 'locked'
            ? [`  ${unknownText(reason)}`]
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
