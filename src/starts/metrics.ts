import type { Histogram } from 'prom-client'
import { createMeters, createPulse } from '../kubernetes/metrics.ts'
import { gates, outcomes, waitOutcomes } from './labels.ts'
import { type Counted, omissions } from './ledger.ts'

/** Longer than the longest pause between two turns, in ms. */
const stalled = 60_000
/** More namespaces than that share one label: each has up to two dozen series. */
const mostNamespaces = 500
/** Not a name that a namespace can have. */
const others = '(others)'

interface Measuring {
  /** Whether namespaces are labels. */
  readonly namespaces: boolean
  /** A clock that never jumps, in ms. */
  readonly steady: () => number
  /** Called when somebody asks, before anything is read. @returns how many starts are pending */
  readonly scraped: () => number
}

export function startsMetrics({ namespaces, steady, scraped }: Measuring) {
  const { registry, counter, gauge, histogram, failures, ofProcess } = createMeters()
  // The first, so that what it counts is in the same answer.
  gauge('starts_pending', 'Pods whose start is still to be counted', [], (metric) => metric.set(scraped()))
  const waits = histogram(
    'start_wait_seconds',
    'How long a gate held an app back, by what held it, what ended that, and for which sidecar',
    [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
    ['gate', 'outcome', 'sidecar'],
  )
  const coarse = counter(
    'start_waits_coarse_total',
    'Waits that are known to the second only, and not in the histogram: the events were gone',
    ['gate', 'outcome', 'sidecar'],
  )
  const apps = histogram(
    'app_start_seconds',
    "From a pod's being given to its node to the start of its app; those that are known to the millisecond",
    [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600],
    ['gate', 'outcome'],
  )
  const starts = counter('starts_total', 'Starts of pods with sidecars, by what held the app back and how it went', [
    'gate',
    'outcome',
  ])
  const spaced = (...more: string[]) => (namespaces ? ['namespace', ...more] : more)
  const early = counter(
    'early_starts_total',
    'Apps that surely began before their sidecar was ready',
    spaced('gate', 'sidecar'),
  )
  const crashes = counter(
    'start_crashes_total',
    'Apps whose first run ended with an error within a minute, and that then ran, or are never restarted',
    spaced('gate', 'outcome'),
  )
  const omitted = counter('starts_omitted_total', "Starts that weren't counted: a pod too large, or too many at once", [
    'why',
  ])
  const failed = failures('starts_failed_calls_total')
  ofProcess()
  for (const why of omissions) omitted.inc({ why }, 0)
  for (const gate of gates) for (const outcome of outcomes) starts.inc({ gate, outcome }, 0)

  const begun = new Set<string>()
  /** Begins with 0 what hasn't begun: `zero` would take away what is there. */
  function begin<T extends string>(histogram: Histogram<T>, labels: Readonly<Record<T, string>>): void {
    const key = JSON.stringify(labels)
    if (!begun.has(key)) histogram.zero({ ...labels })
    begun.add(key)
  }
  const known = new Set<string>()
  function inNamespace(namespace: string): Record<string, string> {
    if (!namespaces) return {}
    if (known.size < mostNamespaces) known.add(namespace)
    return { namespace: known.has(namespace) ? namespace : others }
  }
  const pulse = createPulse(steady, stalled)
  const counts: Counted = {
    // A series that begins with 1 is no increase to Prometheus; one that is 0 until then is.
    expected({ guarded, waits: waiting, gate }, namespace) {
      const where = inNamespace(namespace)
      for (const each of guarded) early.inc({ ...where, ...each }, 0)
      for (const outcome of outcomes) {
        if (outcome === 'not-started') continue
        crashes.inc({ ...where, gate, outcome }, 0)
        begin(apps, { gate, outcome })
      }
      for (const { gate, sidecar } of waiting) {
        for (const outcome of waitOutcomes) {
          begin(waits, { gate, outcome, sidecar })
          coarse.inc({ gate, outcome, sidecar }, 0)
        }
      }
    },
    start({ gate, outcome, seconds, waits: found, early: unready, crashed }, namespace) {
      const where = inNamespace(namespace)
      starts.inc({ gate, outcome })
      if (seconds !== undefined) apps.observe({ gate, outcome }, seconds)
      for (const { exact, seconds, ...labels } of found) {
        if (exact) waits.observe(labels, seconds)
        else coarse.inc(labels)
      }
      for (const each of unready) early.inc({ ...where, ...each })
      if (crashed) crashes.inc({ ...where, gate, outcome })
    },
    omitted: (why) => omitted.inc({ why }),
  }
  return { registry, counted: counts, failed, ...pulse }
}
