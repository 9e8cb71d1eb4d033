import { formatDuration } from '../../src/admission/check/duration.ts'
import { printable } from '../../src/admission/words/printable.ts'
import type { PodState, PodView, RolloutView } from './view.ts'

const order: readonly PodState[] = ['new', 'in progress', 'failed', 'old']
const headings = ['NAME', 'CONTAINER', 'IMAGE', 'NEW', 'IN PROGRESS', 'FAILED', 'OLD', 'PHASE']
/** Of a line; what registries and containers say may be of any length. */
const longest = 512

/** One rollout with its pods. */
export function rolloutText(view: RolloutView): string {
  const { name, container, selector, image, pods, next } = view
  const time = (took: number | undefined) => (took === undefined ? '' : timeText(took))
  return linesOf([
    `${name}: ${container} of ${selector} to ${image}`,
    countsText(view),
    phaseText(view),
    ...(next === '' ? [] : [`What to do: ${next}`]),
    ...columns(pods.map((pod) => ['', pod.name, pod.node, pod.state, time(pod.took), pod.detail])),
  ])
}

/** All rollouts of a namespace, one line each. */
export function rolloutsTable(views: readonly RolloutView[]): string {
  const rows = views.map((view) => {
    const counts = order.map((state) => `${view.counts[state]}`)
    return [view.name, view.container, view.image, ...counts, phaseText(view)]
  })
  return linesOf(columns([headings, ...rows]))
}

/** What has changed since the previous view, one line each. */
export function changeLines(before: RolloutView | undefined, after: RolloutView): string {
  const known = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const isNews = (pod: PodView) => {
    const was = known.get(pod.name)
    // A pod that was old from the start is not news.
    return (was !== undefined || pod.state !== 'old') && tells(pod) !== tells(was)
  }
  const lines = after.pods.filter(isNews).reverse().map(podText)
  const whole = (view: RolloutView) => `${phaseText(view)} [${countsText(view)}]`
  if (before === undefined || whole(after) !== whole(before)) lines.push(whole(after))
  return linesOf(lines.map((line) => `${after.name}: ${line}`))
}

const tells = (pod: PodView | undefined) => pod && [pod.state, pod.image, pod.detail].join(' ')

function podText({ name, node, state, image, took, detail }: PodView): string {
  const what = state === 'old' ? `back on ${image}` : state
  const after = took === undefined || state === 'in progress' ? '' : ` after ${timeText(took)}`
  return `${name}${node && ` on ${node}`}: ${what}${after}${detail && `, ${detail}`}`
}

/** `3 new, 1 in progress, 4 old (2 stay)`. */
function countsText({ counts, staying }: RolloutView): string {
  const stay = staying > 0 && counts.old > 0 ? ` (${Math.min(staying, counts.old)} stay)` : ''
  const some = order.flatMap((state) => (counts[state] > 0 ? `${counts[state]} ${state}` : []))
  return some.length === 0 ? 'no pods' : some.join(', ') + stay
}

function phaseText({ phase, code, why }: RolloutView): string {
  if (phase === 'Unseen') return 'waiting for a controller'
  return `${code === undefined ? '' : `${code} `}${phase}${why === '' ? '' : `: ${why}`}`
}

/** Whole seconds, since the API's times have no more. */
const timeText = (ms: number) => formatDuration(Math.round(ms / 1000) * 1000)

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths?.[column] ?? 0)).join('  '))
}

const linesOf = (lines: readonly string[]) => lines.map((line) => `${printable(line.trimEnd(), longest)}\n`).join('')
