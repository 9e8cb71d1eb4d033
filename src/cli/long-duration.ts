/** In ms, by their letter in a flag. */
export const longUnits = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const

/** Milliseconds of `365d`, `12h`, `5m`, `30s`: one whole number and its unit; undefined for anything else, for none, and beyond `most` ms. */
export function parseLongDuration(text: string, most: number): number | undefined {
  const [, count, unit] = /^(\d{1,6})([dhms])$/.exec(text) ?? []
  const ms = Number(count) * longUnits[unit as keyof typeof longUnits]
  return ms > 0 && ms <= most ? ms : undefined
}
