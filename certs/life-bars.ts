import type { ChartBar } from '../src/terminal/chart.ts'
import type { Dated } from './decide-step.ts'

export interface Life extends Dated {
  readonly name: string
  /** When it is due for its successor. */
  readonly due: number | undefined
}

const day = 86_400_000

/** The lives of certificates as bars of a chart that begins at `from`. */
export function lifeBars(lives: readonly Life[], now: number) {
  const from = Math.min(now, ...lives.map(({ issued }) => issued))
  const bars = lives.map(({ name, issued, expires, due }): ChartBar => {
    const until = expires - from
    return {
      label: name,
      segments: [
        { from: issued - from, until, doing: 'valid' },
        ...(due === undefined ? [] : [{ from: due - from, until, doing: 'due' } as const]),
        { from: now - from, until: now - from, doing: 'now' },
      ],
      note: left(expires - now),
    }
  })
  return { bars, from }
}

/** `12 days left`, `expired 3 hours ago`. */
export function left(ms: number): string {
  const size = Math.abs(ms)
  const [count, unit] =
    size >= 2 * day ? [size / day, 'day'] : size >= 7_200_000 ? [size / 3_600_000, 'hour'] : [size / 60_000, 'minute']
  const whole = Math.floor(count)
  const words = `${whole} ${unit}${whole === 1 ? '' : 's'}`
  return ms > 0 ? `${words} left` : `expired ${words} ago`
}
