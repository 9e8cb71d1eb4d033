import { printable } from '../../src/admission/words/printable.ts'
import { type Look, type Style, styled } from '../../src/terminal/look.ts'
import type { PodState, PodView, RolloutView } from './view.ts'

const marks: Readonly<Record<PodState, { unicode: string; ascii: string; style: Style }>> = {
  new: { unicode: '█', ascii: '=', style: 'green' },
  'in progress': { unicode: '▒', ascii: '~', style: 'cyan' },
  failed: { unicode: '╳', ascii: 'X', style: 'red' },
  old: { unicode: '░', ascii: '.', style: 'dim' },
}
const order: readonly PodState[] = ['new', 'in progress', 'failed', 'old']
const widestBar = 40

/** Draws a rollout in lines that fit the width, with at most `rows` pods. */
export function renderRollout(view: RolloutView, look: Look, rows: number): string[] {
  const { name, container, selector, image } = view
  const total = order.reduce((sum, state) => sum + view.counts[state], 0)
  const lines = [
    ...wrap(`${name}: ${container} of ${selector} ${look.unicode ? '→' : '->'} ${image}`, look, 'bold'),
    ...(total > 0 ? [bar(view, total, look)] : []),
    ...wrap(phaseText(view), look, phaseStyle(view)),
    ...table(view.pods.slice(0, rows), look),
  ]
  const more = view.pods.length - rows
  return more > 0 ? [...lines, `and ${more} more`] : lines
}

/** `3 new, 1 in progress, 4 old (2 stay)`. */
export function countsText({ counts, staying }: RolloutView): string {
  const stay = staying > 0 && counts.old > 0 ? ` (${Math.min(staying, counts.old)} stay)` : ''
  const some = order.flatMap((state) => (counts[state] > 0 ? `${counts[state]} ${state}` : []))
  return some.length === 0 ? 'no pods' : some.join(', ') + stay
}

export function phaseText({ phase, code, why }: RolloutView): string {
  if (phase === 'Unseen') return 'waiting for a controller'
  return `${code === undefined ? '' : `${code} `}${phase}${why === '' ? '' : `: ${why}`}`
}

/** Whole seconds, since the API's times have no more; `1m 5s` from a minute on. */
export function timeText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes}m ${seconds % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`
}

function phaseStyle({ phase }: RolloutView): Style {
  switch (phase) {
    case 'Complete':
      return 'green'
    case 'Stopped':
    case 'RollingBack':
    case 'RolledBack':
      return 'red'
    case 'Waiting':
    case 'Paused':
    case 'Unseen':
      return 'yellow'
    case 'Progressing':
      return 'cyan'
    default:
      return phase satisfies never
  }
}

/** Each state has cells by its share, and at least one if it has any pod. */
function bar(view: RolloutView, total: number, look: Look): string {
  const { counts } = view
  const width = Math.max(10, Math.min(widestBar, total, look.width >> 1))
  const shown = order.filter((state) => counts[state] > 0)
  const cells = shown.map((state) => ({ state, count: Math.max(1, Math.floor((counts[state] / total) * width)) }))
  const largest = cells.reduce((a, b) => (b.count > a.count ? b : a), cells[0] ?? { state: 'old' as const, count: 0 })
  largest.count += width - cells.reduce((sum, { count }) => sum + count, 0)
  const drawn = cells
    .map(({ state, count }) => {
      const { unicode, ascii, style } = marks[state]
      return styled(look, style, (look.unicode ? unicode : ascii).repeat(count))
    })
    .join('')
  return `${drawn}  ${cut(countsText(view), look, width + 2)}`
}

function table(pods: readonly PodView[], look: Look): string[] {
  const width = (of: (pod: PodView) => string) => Math.max(0, ...pods.map((pod) => of(pod).length))
  const [names, nodes, states] = [width(({ name }) => name), width(({ node }) => node), 'in progress'.length]
  return pods.map(({ name, node, state, took, detail }) => {
    const time = (took === undefined ? '' : timeText(took)).padStart(7)
    const head = `  ${name.padEnd(names)}  ${node.padEnd(nodes)}  `
    const line = cut(`${head}${state.padEnd(states)}${time}  ${detail}`.trimEnd(), look)
    return line.slice(0, head.length) + styled(look, marks[state].style, line.slice(head.length))
  })
}

/** Wraps at words, into at most `most` lines. */
function wrap(text: string, look: Look, style: Style, most = 4): string[] {
  const lines: string[] = []
  let rest = plain(text, look, Number.POSITIVE_INFINITY)
  while (rest.length > look.width && lines.length < most - 1) {
    const space = rest.lastIndexOf(' ', look.width)
    const end = space > 0 ? space : look.width
    lines.push(rest.slice(0, end))
    rest = rest.slice(end).trimStart()
  }
  return [...lines, cut(rest, look)].map((line) => styled(look, style, line))
}

const cut = (text: string, look: Look, taken = 0) => plain(text, look, Math.max(1, look.width - taken))

function plain(text: string, { unicode }: Look, limit: number): string {
  const shown = printable(text, limit)
  return unicode ? shown : shown.replace(/…$/, '~').replaceAll(/[^\x20-\x7e]/gu, '?')
}
