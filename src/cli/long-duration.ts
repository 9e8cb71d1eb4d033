import { quote } from '../admission/quote.ts'
import { UsageError } from './command.ts'

/** In ms. */
const units: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }

/**
 * Milliseconds of a flag's `365d`, `12h`, `5m`, `30s`: one whole number and its unit.
 * @param most written alike; where it is a timer's, 24d at most: one beyond that ends at once
 * @param such examples for the error
 * @throws UsageError that names the flag, for anything else, for none, and beyond `most`
 */
export function longDuration(flag: string, text: string, { most, such }: { most: string; such: string }): number {
  const ms = milliseconds(text)
  if (ms > 0 && ms <= milliseconds(most)) return ms
  throw new UsageError(`${flag} takes a duration from 1s to ${most}, such as ${such}, not ${quote(text)}`)
}

/** NaN for what is no duration. */
function milliseconds(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([dhms])$/.exec(text) ?? []
  return Number(count) * (units[unit] ?? Number.NaN)
}
