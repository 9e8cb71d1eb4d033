/** A call without a verdict: not an admission, or our failure. */
const failures = { invalid: 0, error: 0 }
/** The possible outcomes of a call, by webhook. */
const outcomes = {
  mutate: { patched: 0, unchanged: 0, skipped: 0, refused: 0, ...failures },
  validate: { allowed: 0, refused: 0, ...failures },
  /** Of a set of rules, or taken off. */
  mark: { patched: 0, skipped: 0, ...failures },
  /** What pods are made from; never refused. */
  workloads: { allowed: 0, ...failures },
}
export type Webhook = keyof typeof outcomes
export type Outcome = { [W in Webhook]: keyof (typeof outcomes)[W] }[Webhook]

/** Upper bounds of the duration histogram, in seconds. */
export const buckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1] as const

/** Plain numbers, for the hot path; prom-client is loaded, and reads them, when somebody asks for metrics. */
interface Tally {
  readonly outcomes: Partial<Record<Outcome, number>>
  /** How many calls fell into each bucket; the last entry is for longer ones. */
  readonly durations: number[]
  /** Seconds. */
  durationSum: number
}

export type Tallies = ReturnType<typeof createTallies>

export function createTallies() {
  const tally = (webhook: Webhook): Tally => ({
    outcomes: { ...outcomes[webhook] },
    durations: Array(buckets.length + 1).fill(0),
    durationSum: 0,
  })
  return {
    mutate: tally('mutate'),
    validate: tally('validate'),
    mark: tally('mark'),
    workloads: tally('workloads'),
    /** Pods that an enforced rule let by, and those that one with `enforce: audit` would have refused. */
    rules: { exempt: 0, audited: 0 },
    /** Rejected versions of files. */
    reloadFailures: { certificate: 0, configuration: 0 },
  }
}

export function count(tally: Tally, outcome: Outcome, seconds: number): void {
  tally.outcomes[outcome] = (tally.outcomes[outcome] ?? 0) + 1
  tally.durationSum += seconds
  let index = 0
  while (seconds > (buckets[index] ?? Number.POSITIVE_INFINITY)) index++
  tally.durations[index] = (tally.durations[index] ?? 0) + 1
}
