import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type FailureKind, failureKinds } from './failure.ts'

type Read<Metric> = (metric: Metric) => void

/** Makes the metrics of a process, under names that begin with `sidecar_first_`. One with `read` is set anew each time somebody asks. */
export function createMeters() {
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
  const counter = <T extends string>(name: string, help: string, labels?: readonly T[], read?: Read<Counter<T>>) =>
    new Counter<T>({ ...settings(name, help, labels), ...reading(read) })
  return {
    registry,
    counter,
    gauge: <T extends string>(name: string, help: string, labels?: readonly T[], read?: Read<Gauge<T>>) =>
      new Gauge<T>({ ...settings(name, help, labels), ...reading(read) }),
    histogram: <T extends string>(name: string, help: string, buckets: number[], labels?: readonly T[]) =>
      new Histogram<T>({ ...settings(name, help, labels), buckets }),
    /** A counter of failed calls to the API server, by kind. */
    failures(name: string): (kind: FailureKind) => void {
      const calls = counter(name, 'Failed calls to the API server, by kind', ['kind'])
      for (const kind of failureKinds) calls.inc({ kind }, 0)
      return (kind) => calls.inc({ kind })
    },
    /** CPU, memory and the event loop: `process_*`, `nodejs_*`. */
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
