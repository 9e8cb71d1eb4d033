import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Configuration } from '../admission/configuration.ts'
import type { Certificate } from './certificate.ts'
import type { InFlight } from './in-flight.ts'
import { buckets, type Tally } from './tally.ts'

/** What the metrics tell of, read when they are asked for. */
export interface Measured {
  readonly tally: Tally
  readonly inFlight: InFlight
  readonly certificate: Certificate
  readonly configuration: Configuration
}

/** The text that Prometheus scrapes. */
export function createMetrics({ tally, inFlight, certificate, configuration }: Measured): {
  readonly contentType: string
  text(): Promise<string>
} {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Counter({
    name: 'sidecar_first_admissions_total',
    help: 'Admission requests by what they came to.',
    labelNames: ['verdict'],
    registers,
    collect() {
      this.reset()
      for (const [verdict, count] of Object.entries(tally.outcomes)) this.inc({ verdict }, count)
    },
  })
  new Counter({
    name: 'sidecar_first_overload_refusals_total',
    help: 'Requests answered 429 since too many were in flight.',
    registers,
    collect() {
      this.reset()
      this.inc(inFlight.refused)
    },
  })
  new Counter({
    name: 'sidecar_first_certificate_reload_failures_total',
    help: 'Versions of the certificate files that could not be served.',
    registers,
    collect() {
      this.reset()
      this.inc(tally.reloadFailures)
    },
  })
  new Gauge({
    name: 'sidecar_first_in_flight_requests',
    help: 'Requests being received or answered.',
    registers,
    collect() {
      this.set(inFlight.count)
    },
  })
  new Gauge({
    name: 'sidecar_first_certificate_not_after_seconds',
    help: 'When the served certificate expires, in seconds since 1970.',
    registers,
    collect() {
      this.set(certificate.leaf.validToDate.getTime() / 1000)
    },
  })
  new Gauge({
    name: 'sidecar_first_configuration_info',
    help: 'What is configured; always 1.',
    labelNames: ['version', 'mode', 'invalid', 'delivery'],
    registers,
  }).set(
    {
      version: configuration.version,
      mode: configuration.mode,
      invalid: configuration.invalid,
      delivery: configuration.waiter.delivery,
    },
    1,
  )
  return {
    contentType: registry.contentType,
    text: async () => (await registry.metrics()) + durations(tally),
  }
}

// prom-client's histogram can't be fed counts, and counting in it would cost the hot path more than this.
function durations({ durations, durationSum }: Tally): string {
  const name = 'sidecar_first_admission_duration_seconds'
  const lines = [`# HELP ${name} From the whole request to its answer.`, `# TYPE ${name} histogram`]
  let total = 0
  for (const [index, count] of durations.entries()) {
    total += count
    lines.push(`${name}_bucket{le="${buckets[index] ?? '+Inf'}"} ${total}`)
  }
  lines.push(`${name}_sum ${durationSum}`, `${name}_count ${total}`)
  return `\n${lines.join('\n')}\n`
}
