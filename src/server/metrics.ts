import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Certificate } from './certificate.ts'
import type { LiveConfiguration } from './configuration.ts'
import type { Connections } from './connections.ts'
import type { InFlight } from './in-flight.ts'
import { buckets, type Tallies, type Webhook } from './tally.ts'

/** The sources of the metrics, read when somebody asks for them. */
export interface Measured {
  readonly tallies: Tallies
  readonly inFlight: InFlight
  readonly connections: Connections
  readonly certificate: Certificate
  readonly configuration: LiveConfiguration
}

/** The text that Prometheus scrapes. */
export function createMetrics({ tallies, inFlight, connections, certificate, configuration }: Measured): {
  readonly contentType: string
  text(): Promise<string>
} {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  new Counter({
    name: 'sidecar_first_admissions_total',
    help: 'Admission requests by webhook and verdict.',
    labelNames: ['webhook', 'verdict'],
    registers,
    collect() {
      this.reset()
      for (const webhook of webhooks) {
        for (const [verdict, count] of Object.entries(tallies[webhook].outcomes)) this.inc({ webhook, verdict }, count)
      }
    },
  })
  for (const [what, help] of [
    ['exempt', 'Pods for which an enforced rule was not enforced, because its exempt names them.'],
    ['audited', 'Pods that a rule with enforce: audit would have refused.'],
  ] as const) {
    new Counter({
      name: `sidecar_first_enforced_rules_${what}_total`,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(tallies.rules[what])
      },
    })
  }
  new Counter({
    name: 'sidecar_first_overload_refusals_total',
    help: 'Requests answered 429 because too much was in flight.',
    registers,
    collect() {
      this.reset()
      this.inc(inFlight.refused)
    },
  })
  for (const [file, help] of [
    ['certificate', 'Versions of the certificate files that could not be served.'],
    ['configuration', 'Versions of the configuration file that were rejected.'],
  ] as const) {
    new Counter({
      name: `sidecar_first_${file}_reload_failures_total`,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(tallies.reloadFailures[file])
      },
    })
  }
  new Gauge({
    name: 'sidecar_first_in_flight_requests',
    help: 'Requests being received or answered.',
    registers,
    collect() {
      this.set(inFlight.count)
    },
  })
  new Gauge({
    name: 'sidecar_first_in_flight_bytes',
    help: 'Bytes of their bodies and answers that are held.',
    registers,
    collect() {
      this.set(inFlight.bytes)
    },
  })
  new Gauge({
    name: 'sidecar_first_connections',
    help: 'Open connections.',
    registers,
    collect() {
      this.set(connections.count)
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
    help: 'The configuration in force; always 1. The webhook configurations made from the same file carry the same hash.',
    labelNames: ['version', 'mode', 'invalid', 'delivery', 'hash'],
    registers,
    collect() {
      const { hash, current } = configuration
      const { version, mode, invalid, waiter } = current
      this.reset()
      this.set({ version, mode, invalid, delivery: waiter.delivery, hash }, 1)
    },
  })
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
