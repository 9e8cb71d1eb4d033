import { printable } from '../admission/words/printable.ts'
import { type Look, type Style, styled } from './look.ts'

/** What a container is doing, or a certificate. */
export type Doing = keyof typeof marks

/** A part of a bar, in a unit that all bars of a chart share. */
export interface Segment {
  readonly from: number
  readonly until: number
  readonly doing: Doing
}

/** A line of a chart. One without segments is a heading. */
export interface ChartBar {
  readonly label: string
  /** If two overlap, the later one shows. */
  readonly segments: readonly Segment[]
  /** Written after the bar. */
  readonly note?: string
}

const marks = {
  init: { unicode: '▬', ascii: '-', style: 'blue', means: 'runs to its end' },
  starting: { unicode: '░', ascii: '.', style: 'yellow', means: 'not ready yet' },
  hook: { unicode: '▒', ascii: '~', style: 'cyan', means: 'its hook waits, nothing else starts' },
  ready: { unicode: '█', ascii: '=', style: 'green', means: 'ready' },
  unseen: { unicode: '▪', ascii: '+', style: 'yellow', means: 'runs; nobody saw when it was ready' },
  early: { unicode: '▓', ascii: '!', style: 'red', means: 'runs too early' },
  stuck: { unicode: '▚', ascii: '#', style: 'red', means: 'waits in vain' },
  doubtful: { unicode: '▓', ascii: '?', style: 'yellow', means: 'may wait in vain' },
  endless: { unicode: '▓', ascii: '>', style: 'yellow', means: 'ready, but never ends' },
  never: { unicode: '╳', ascii: 'X', style: 'red', means: 'never starts' },
  ending: { unicode: '▒', ascii: '~', style: 'blue', means: 'ends: its preStop or SIGTERM' },
  alone: { unicode: '▓', ascii: '!', style: 'red', means: 'ends without its sidecar' },
  failed: { unicode: '╳', ascii: 'X', style: 'red', means: 'failed' },
  valid: { unicode: '─', ascii: '-', style: 'green', means: 'valid' },
  due: { unicode: '▒', ascii: '~', style: 'yellow', means: 'due to be replaced' },
  now: { unicode: '│', ascii: '|', style: 'bold', means: 'now' },
} as const satisfies Record<string, { unicode: string; ascii: string; style: Style; means: string }>

/** What a mark stands for, in a few words. */
export const meaningOf = (doing: Doing): string => marks[doing].means

/** A narrower chart would show nothing. */
const fewestColumns = 16
const mostColumns = 60

/**
 * Bars on one axis, as lines of text. With `axis`, a last line shows some values as it formats them. Labels and notes that are too long
 * are cut.
 */
export function drawChart(bars: readonly ChartBar[], look: Look, axis?: (value: number) => string): string {
  const drawn = bars.filter(({ segments }) => segments.length > 0)
  const end = Math.max(0, ...drawn.flatMap(({ segments }) => segments.map(({ until }) => until)))
  const longest = (texts: readonly string[]) => Math.max(0, ...texts.map(({ length }) => length))
  const labelWidth = Math.min(longest(drawn.map(({ label }) => label)), Math.floor(look.width / 3))
  const noteWidth = Math.min(longest(drawn.map(({ note = '' }) => note)), Math.floor(look.width / 3))
  const room = look.width - labelWidth - noteWidth - 4
  const columns = Math.min(Math.max(room, fewestColumns), mostColumns)
  const column = (value: number) => (end > 0 ? Math.round((value / end) * columns) : 0)

  const lines = bars.map(({ label, segments, note = '' }) => {
    if (segments.length === 0) return styled(look, 'bold', cut(label, look.width, look))
    const cells: (Doing | undefined)[] = Array(columns).fill(undefined)
    for (const { from, until, doing } of segments) {
      // everything shows, however short
      const first = Math.min(column(from), columns - 1)
      cells.fill(doing, first, Math.max(column(until), first + 1))
    }
    return `${cut(label, labelWidth, look).padEnd(labelWidth)}  ${paint(cells, look)}  ${cut(note, noteWidth, look)}`
  })
  if (axis !== undefined) lines.push(' '.repeat(labelWidth + 2) + scale(end, columns, column, axis))
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

/** What the marks of a chart mean, on one line. */
export function legend(bars: readonly ChartBar[], look: Look): string {
  const seen = new Set(bars.flatMap(({ segments }) => segments.map(({ doing }) => doing)))
  const entries = Object.entries(marks).filter(([doing]) => seen.has(doing as Doing))
  const shown = entries.map(([doing, { means }]) => `${paint([doing as Doing], look)} ${means}`)
  return `${shown.join('   ')}\n`
}

function paint(cells: readonly (Doing | undefined)[], look: Look): string {
  let text = ''
  for (let at = 0; at < cells.length; ) {
    const doing = cells[at]
    let next = at
    while (next < cells.length && cells[next] === doing) next++
    if (doing === undefined) text += ' '.repeat(next - at)
    else {
      const { unicode, ascii, style } = marks[doing]
      text += styled(look, style, (look.unicode ? unicode : ascii).repeat(next - at))
    }
    at = next
  }
  return text
}

/** Round values (1, 2 or 5 times a power of ten), as many as there is room for. */
function scale(
  end: number,
  columns: number,
  column: (value: number) => number,
  axis: (value: number) => string,
): string {
  const apart = axis(end).length + 4
  const least = (end * apart) / columns
  const power = 10 ** Math.floor(Math.log10(least || 1))
  const step = power * ([1, 2, 5].find((times) => power * times >= least) ?? 10)
  let line = ''
  for (let tick = 0; tick * step <= end; tick++) line = line.padEnd(column(tick * step)) + axis(tick * step)
  return line
}

function cut(text: string, width: number, { unicode }: Look): string {
  const shown = printable(text, width)
  return unicode ? shown : shown.replace(/…$/, '~').replaceAll(/[^\x20-\x7e]/gu, '?')
}
