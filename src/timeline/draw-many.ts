import { printable } from '../admission/words/printable.ts'
import { unjudgedText } from '../outcome/words.ts'
import { type ChartBar, drawChart, legend, type Segment } from '../terminal/chart.ts'
import { type Look, styled } from '../terminal/look.ts'
import { seconds, timelineBars, waitText, whyNot } from './draw.ts'
import { appOf, appStart, type Many, type Spread, type Took, tally } from './many.ts'
import type { Timeline } from './timeline.ts'
import { wordsFor } from './troubles.ts'

/** A terminal has room for so many bars. */
const mostBars = 12

/** The slowest starts and the median as a chart, and what all of them have in common. */
export function drawMany(many: Many, look: Look): string {
  const { bars, left } = barsOf(many, mostBars)
  const more = left > 0 ? `${styled(look, 'dim', `and ${left} faster; -o json and -o html have them`)}\n` : ''
  const chart = bars.length > 0 ? `${drawChart(bars, look, (ms) => seconds(ms))}${legend(bars, look)}${more}\n` : ''
  const [first, ...rest] = linesOf(many)
  return `${styled(look, 'bold', titleOf(many))}\n${first ?? ''}\n\n${chart}${rest.map((line) => `${line}\n`).join('')}`
}

export const titleOf = ({ namespace, name, kind, timelines: { length } }: Many): string =>
  `${namespace}/${name}  ${kind}, ${length} pod${length === 1 ? '' : 's'}`

/** A bar for each of the slowest pods and for the median, and how many are left out. */
export function barsOf(many: Many, most: number): { readonly bars: readonly ChartBar[]; readonly left: number } {
  const { timelines, started, name } = many
  const isMedian = ({ name }: Timeline) => name === started?.median.pod
  const first = timelines.slice(0, most)
  const median = timelines.find(isMedian)
  const shown = median && !first.includes(median) ? [...first.slice(0, -1), median] : first
  // One that is stuck for an hour would leave no room for the others.
  const latest = Math.max(0, ...shown.flatMap((each) => appStart(each)?.ms ?? []))
  const end = latest > 0 ? latest * 1.1 : Math.max(0, ...shown.map(({ until, from }) => until - from.at))
  const bars = shown.map((timeline) => {
    const note = noteOf(timeline)
    const label = timeline.name.startsWith(`${name}-`) ? timeline.name.slice(name.length + 1) : timeline.name
    return { label, segments: segmentsOf(timeline, end), note: isMedian(timeline) ? `${note}, median` : note }
  })
  return { bars, left: timelines.length - shown.length }
}

/** What held the app back, and then the app itself. */
function segmentsOf(timeline: Timeline, end: number): readonly Segment[] {
  const { starts, from, until, app } = timeline
  const at = starts.findIndex(({ name }) => name === app)
  const own = timelineBars(timeline)[at]?.segments ?? []
  const waits = starts.slice(0, Math.max(at, 0)).flatMap(({ hook, started }): Segment[] => {
    if (!hook || !started) return []
    const over = hook.ended?.at ?? (hook.outcome === 'closed' ? until : undefined)
    return over === undefined ? [] : [{ from: started.at - from.at, until: over - from.at, doing: 'hook' }]
  })
  const start = starts[at]
  if (start?.lost) return [{ from: 0, until: end, doing: 'unseen' }]
  const known = start?.started ? (own[0]?.from ?? 0) : until - from.at
  const before: Segment = { from: 0, until: known, doing: 'starting' }
  const all = [before, ...waits, ...(start?.started ? own : [])]
  return all.flatMap((each) => {
    return each.from >= end ? [] : [{ ...each, from: Math.max(0, each.from), until: Math.min(each.until, end) }]
  })
}

function noteOf(timeline: Timeline): string {
  const start = appStart(timeline)
  const app = appOf(timeline)
  if (!start) return timeline.outcome.kind === 'stuck' ? 'stuck' : app?.lost ? whyNot(app) : 'not started'
  const early = timeline.outcome.kind === 'too-early' ? ', too early' : ''
  return `${seconds(start.ms, start.exact)}${early}`
}

/** What the starts have in common, the outcomes first. Every text that somebody else wrote is cut and on one line. */
export function linesOf(many: Many): readonly string[] {
  const { started, waits, groups, namespace, timelines, expired, unjudged } = many
  const coarse = started?.coarse ?? 0
  const open = timelines.filter((each) => !appStart(each) && !appOf(each)?.lost).length
  return [
    tally(many)
      .map(({ text, count }) => `${count} ${text}`)
      .join(', ') || 'no pods',
    ...(started
      ? [
          `the apps started ${spreadText(started)} after their pods were given to their nodes${some(started, timelines)}`,
        ]
      : []),
    ...(started && open > 0 ? [`${open} of them ${open === 1 ? "hasn't" : "haven't"} started`] : []),
    ...waits.map((wait) => {
      const after = wait.outcome === 'closed' ? 'waiting' : 'after waiting'
      return `  ${after} ${safe(waitText(wait, spreadText(wait)))}, ${wait.of} pod${wait.of === 1 ? '' : 's'}`
    }),
    ...groups.flatMap((group) => {
      const { pods } = group
      const { code, state, text, next } = wordsFor(group, `-n ${namespace} ${pods[0]}`)
      const now = group.part === 'down' || group.part === 'lacking' ? 'now ' : ''
      return [
        `${code} ${now}${pods.length} ${state}: ${safe(text)}${named(pods)}`,
        ...(next === undefined ? [] : [`  ${next}`]),
      ]
    }),
    ...(coarse > 0
      ? [
          `not known: ${coarse} of these starts ${coarse === 1 ? 'is' : 'are'} known to the second only: one of their events (Scheduled, Started) is missing, may not be listed, or isn't exact`,
        ]
      : []),
    ...(unjudged ? [`not known: ${unjudgedText(unjudged)}`] : []),
    ...(expired ? ['not known: the list of pods expired on the way and went on as of then: a pod may be missing'] : []),
  ]
}

const some = ({ of }: Spread, all: readonly Timeline[]) => (of < all.length ? `, ${of} of ${all.length}` : '')

const tookText = ({ ms, exact }: Took) => seconds(ms, exact)

/** One alone has no median. */
const spreadText = ({ of, median, slowest }: Spread): string =>
  of === 1 ? tookText(slowest) : `${tookText(median)} (median) to ${tookText(slowest)} (slowest, ${slowest.pod})`

const safe = (text: string) => printable(text, 1024)

/** Some of them by name. */
function named(pods: readonly string[]): string {
  const shown = pods.slice(0, 3).join(', ')
  return ` (${shown}${pods.length > 3 ? `, and ${pods.length - 3} more` : ''})`
}
