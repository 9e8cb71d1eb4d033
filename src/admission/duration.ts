import type { Parsed } from './parsed.ts'
import { quote } from './quote.ts'

const units = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 } as const
const form = /^(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/

export const shortest = 100
export const longest = 10 * units.m

/** Milliseconds of `1m30s`, `500ms`: digits with h, m, s, ms, falling; from 100ms to 10m. */
export function parseDuration(text: string): Parsed<number> {
  const match = form.exec(text)
  if (text === '' || match === null) {
    return { ok: false, problem: `${quote(text)} is no duration; write it like 1m30s or 500ms` }
  }
  const [, h, m, s, ms] = match
  const total = Number(h ?? 0) * units.h + Number(m ?? 0) * units.m + Number(s ?? 0) * units.s + Number(ms ?? 0)
  if (total < shortest || total > longest) {
    return { ok: false, problem: `${quote(text)} is out of range; use 100ms to 10m` }
  }
  return { ok: true, value: total }
}

/** The shortest text that `parseDuration` reads as `total` milliseconds. */
export function formatDuration(total: number): string {
  let rest = total
  let text = ''
  for (const [unit, size] of Object.entries(units)) {
    const count = Math.floor(rest / size)
    if (count > 0) text += `${count}${unit}`
    rest -= count * size
  }
  return text
}
