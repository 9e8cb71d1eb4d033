import type { Dated } from './next.ts'

export interface Life extends Dated {
  readonly name: string
  /** When it is due for its successor. */
  readonly due: number | undefined
}

const WIDTH = 56
const DAY = 86_400_000

/**
 * The lives of certificates under each other, one line each, on one scale of time:
 * `─` is lived or to be lived, `▒` the time in which it is due to be replaced, `│` now.
 */
export function timeline(lives: readonly Life[], now: number): string[] {
  const from = Math.min(now, ...lives.map(({ issued }) => issued))
  const to = Math.max(now, ...lives.map(({ expires }) => expires))
  const column = (time: number) => Math.round(((time - from) / Math.max(1, to - from)) * (WIDTH - 1))
  const at = column(now)
  const label = Math.max(0, ...lives.map(({ name }) => name.length))
  const lines = lives.map(({ name, issued, expires, due }) => {
    const bar = Array.from({ length: WIDTH }, (_, i) => {
      if (i === at) return '│'
      if (i < column(issued) || i > column(expires)) return ' '
      return due !== undefined && i >= column(due) ? '▒' : '─'
    }).join('')
    return `${name.padEnd(label)}  ${bar}  ${left(expires - now)}`
  })
  const [first, last] = [date(from), date(to)]
  return [`${' '.repeat(label)}  ${first}${last.padStart(WIDTH - first.length)}`, ...lines]
}

/** `12 days left`, `expired 3 hours ago`. */
export function left(ms: number): string {
  const size = Math.abs(ms)
  const [count, unit] =
    size >= 2 * DAY ? [size / DAY, 'day'] : size >= 7_200_000 ? [size / 3_600_000, 'hour'] : [size / 60_000, 'minute']
  const whole = Math.floor(count)
  const words = `${whole} ${unit}${whole === 1 ? '' : 's'}`
  return ms > 0 ? `${words} left` : `expired ${words} ago`
}

const date = (time: number) => new Date(time).toISOString().slice(0, 10)
