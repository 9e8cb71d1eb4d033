import type { LockRestarts } from '../words/choices.ts'
import { nearest } from '../words/nearest.ts'
import { type Parsed, parsed, problem } from '../words/parsed.ts'

/** In milliseconds. */
const units = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const form = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/

/** The durations that a setting takes, in milliseconds, both ends included. */
interface DurationRange {
  readonly least: number
  readonly most: number
  /** As a message says it: `100ms to 10m`. */
  readonly text: string
}

/** @param least @param most written like the durations themselves */
export function durationRange(least: string, most: string): DurationRange {
  return { least: milliseconds(least), most: milliseconds(most), text: `${least} to ${most}` }
}

/** How long a pod may be held back. */
export const waitRange = durationRange('100ms', '10m')

/** Milliseconds of `1m30s`, `500ms`, `7d`: whole numbers with d, h, m, s or ms, the largest unit first. */
export function parseDuration(text: string, range = waitRange): Parsed<number> {
  const value = milliseconds(text)
  if (Number.isNaN(value)) return problem({ kind: 'not-a-duration', text, range: range.text })
  const fits = value >= range.least && value <= range.most
  return fits ? parsed(value) : problem({ kind: 'duration-out-of-range', text, range: range.text })
}

/** A round of the waiter's lease: the kernel takes it away after 45 s. */
const mostRestarts = 30_000

export function parseLockRestarts(text: string): Parsed<LockRestarts> {
  if (text === 'always') return parsed(text)
  const value = milliseconds(text)
  if (value <= mostRestarts) return parsed(value)
  const meant = Number.isNaN(value) ? milliseconds(`${text}s`) : value
  const near = Number.isNaN(meant) ? nearest(text, ['always']) : formatDuration(Math.min(meant, mostRestarts))
  return problem({ kind: 'not-lock-restarts', text, near })
}

export const formatLockRestarts = (value: LockRestarts): string => (value === 'always' ? value : formatDuration(value))

/** NaN for anything but a duration. */
function milliseconds(text: string): number {
  const match = form.exec(text)
  if (text === '' || match === null) return Number.NaN
  return Object.values(units).reduce((total, unit, index) => total + Number(match[index + 1] ?? 0) * unit, 0)
}

/** The shortest text that `parseDuration` reads as `total` milliseconds, without days: the waiter, too, has to read it. */
export function formatDuration(total: number): string {
  let rest = total
  let text = ''
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const count = Math.floor(rest / units[unit])
    if (count > 0) text += `${count}${unit}`
    rest -= count * units[unit]
  }
  return text || '0s'
}
