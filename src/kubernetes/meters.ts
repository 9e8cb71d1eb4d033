import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type FailureKind, failureKinds } from './failure.ts'

/** Makes the metrics of a process, under names that begin with `sidecar_first_`. */
interface Meters {
  readonly registry: Registry
  /** @param read counts anew each time somebody asks */
  counter<T extends string>(name: string, help: string, labels?: readonly T[], read?: Read<Counter<T>>): Counter<T>
  /** @param read sets it each time somebody asks */
  gauge<T extends string>(name: string, help: string, labels?: readonly T[], read?: Read<Gauge<T>>): Gauge<T>
  histogram<T extends string>(name: string, help: string, buckets: number[], labels?: readonly T[]): Histogram<T>
  /** A counter of failed calls to the API server, by kind. */
  failures(name: string): (kind: FailureKind) => void
  /** CPU, memory and the event loop: `process_*`, `nodejs_*`. */
  ofProcess(): void
}

type Read<Metric> = (metric: Metric) => void

export function createMeters(): Meters {
  const registry = new Registry()
  const settings = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) => ({
    name: `sidecar_first_${name}`,
    help,
    labelNames,
    registers: [registry],
  })
  const reading = <Metric extends { reset(): void }>(read: Read<Metric> | undefined) =>
    read && {
      collect(this: Metric) {
        this.reset()
        read(this)
      },
    }
  const counter: Meters['counter'] = (name, help, labels, read) =>
    new Counter({ ...settings(name, help, labels), ...reading(read) })
  return {
    registry,
    counter,
    gauge: (name, help, labels, read) => new Gauge({ ...settings(name, help, labels), ...reading(read) }),
    histogram: (name, help, buckets, labels) => new Histogram({ ...settings(name, help, labels), buckets }),
    failures(name) {
      const calls = counter(name, 'Failed calls to the API server, by kind', ['kind'])
      for (const kind of failureKinds) calls.inc({ kind }, 0)
      return (kind) => calls.inc({ kind })
    },
    ofProcess: () => collectDefaultMetrics({ register: registry }),
  }
}

/** Whether a loop still turns. @param steady a clock that never jumps @param longest the longest pause between two turns; both in ms */
export function createPulse(steady: () => number, longest: number): { turned(): void; alive(): boolean } {
  let last = steady()
  return {
    turned() {
      last = steady()
    },
    alive: () => steady() - last < longest,
  }
}
