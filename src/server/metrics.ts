import { createMeters } from '../kubernetes/metrics.ts'
import type { Serving } from './serving.ts'
import { buckets, type Tallies, type Webhook } from './tally.ts'

/** The text that Prometheus scrapes; its sources are read when somebody asks. */
export function serverMetrics({ tallies, inFlight, connections, certificate, configuration }: Serving) {
  const { registry, counter, gauge, ofProcess } = createMeters()
  ofProcess()
  counter('admissions_total', 'Admission requests by webhook and verdict.', ['webhook', 'verdict'], (metric) => {
    for (const webhook of webhooks) {
      for (const [verdict, count] of Object.entries(tallies[webhook].outcomes)) metric.inc({ webhook, verdict }, count)
    }
  })
  for (const [what, help] of [
    ['exempt', 'Pods for which an enforced rule was not enforced, because its exempt names them.'],
    ['audited', 'Pods that a rule with enforce: audit would have refused.'],
  ] as const) {
    counter(`enforced_rules_${what}_total`, help, [], (metric) => metric.inc(tallies.rules[what]))
  }
  counter('overload_refusals_total', 'Requests answered 429 because too much was in flight.', [], (metric) =>
    metric.inc(inFlight.counts().turnedAway + inFlight.counts().gaveWay),
  )
  for (const [file, help] of [
    ['certificate', 'Versions of the certificate files that could not be served.'],
    ['configuration', 'Versions of the configuration file that were rejected.'],
  ] as const) {
    counter(`${file}_reload_failures_total`, help, [], (metric) => metric.inc(tallies.reloadFailures[file]))
  }
  for (const [name, help, value] of [
    ['in_flight_requests', 'Requests being received or answered.', () => inFlight.counts().requests],
    ['in_flight_bytes', 'Bytes of their bodies and answers that are held.', () => inFlight.counts().bytes],
    ['connections', 'Open connections.', connections.count],
    [
      'certificate_not_after_seconds',
      'When the served certificate expires, in seconds since 1970.',
      () => certificate.leaf.validToDate.getTime() / 1000,
    ],
  ] as const) {
    gauge(name, help, [], (metric) => metric.set(value()))
  }
  gauge(
    'configuration_info',
    'The configuration in force; always 1. The webhook configurations made from the same file carry the same hash.',
    ['version', 'mode', 'invalid', 'delivery', 'hash'],
    (metric) => {
      const { hash, current } = configuration
      const { version, mode, invalid, waiter } = current
      metric.set({ version, mode, invalid, delivery: waiter.delivery, hash }, 1)
    },
  )
  return {
    contentType: registry.contentType,
    text: async () => (await registry.metrics()) + durations(tallies),
  }
}

const webhooks: readonly Webhook[] = ['mutate', 'validate', 'mark', 'workloads']

// prom-client's histogram can't be given counts, and counting in it would slow down the hot path.
function durations(tallies: Tallies): string {
  const name = 'sidecar_first_admission_duration_seconds'
  const lines = [`# HELP ${name} From the complete request to its answer.`, `# TYPE ${name} histogram`]
  for (const webhook of webhooks) {
    const { durations, durationSum } = tallies[webhook]
    const label = `webhook="${webhook}"`
    let total = 0
    for (const [index, count] of durations.entries()) {
      total += count
      lines.push(`${name}_bucket{${label},le="${buckets[index] ?? '+Inf'}"} ${total}`)
    }
    lines.push(`${name}_sum{${label}} ${durationSum}`, `${name}_count{${label}} ${total}`)
  }
  return `\n${lines.join('\n')}\n`
}
