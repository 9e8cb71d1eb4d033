import type { Decision } from '../admission/decision.ts'

/** What an admission can come to: a verdict, or a request that was no admission or failed. */
export type Outcome = Decision['verdict'] | 'invalid' | 'error'

/** Upper bounds of the duration histogram, in seconds. */
export const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1] as const

/** Counted in plain numbers on the hot path; prom-client reads them when somebody asks, and isn't loaded before that. */
export interface Tally {
  readonly outcomes: Record<Outcome, number>
  /** How many took no longer than the bucket of that index, and longer than the one before; the last is for the rest. */
  readonly durations: number[]
  /** Seconds. */
  durationSum: number
  reloadFailures: number
}

export const createTally = (): Tally => ({
  outcomes: { patched: 0, unchanged: 0, skipped: 0, refused: 0, invalid: 0, error: 0 },
  durations: Array(buckets.length + 1).fill(0),
  durationSum: 0,
  reloadFailures: 0,
})

export function count(tally: Tally, outcome: Outcome, seconds: number): void {
  tally.outcomes[outcome]++
  tally.durationSum += seconds
  let index = 0
  while (seconds > (buckets[index] ?? Number.POSITIVE_INFINITY)) index++
  tally.durations[index] = (tally.durations[index] ?? 0) + 1
}
