import { Counter, Gauge, Registry } from 'prom-client'
import { failureKinds } from '../src/kubernetes/failure.ts'
import type { Observer } from './keep.ts'
import type { Dated, Phase } from './next.ts'

const day = 86_400_000
/** Longer than the longest pause between two turns of the loop, a slow API server counted in. */
const stalled = 180_000
const phases: readonly Phase[] = ['missing', 'trusting', 'settling', 'switching', 'retiring', 'steady']

export interface Metrics {
  readonly observer: Observer
  readonly registry: Registry
  /** Whether the loop still turns. */
  alive(): boolean
}

/** Metrics of `certs run`. @param steady a clock that never jumps, in ms */
export function createMetrics(steady: () => number): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name: `sidecar_first_certs_${name}`, help, labelNames, registers })
  const phase = gauge('phase', 'Where in its life the certificate is: 1 for the phase that it is in', ['phase'])
  const days = gauge('days_left', 'Days until a certificate expires', ['certificate'])
  const success = gauge('last_success_timestamp_seconds', 'When everything was last looked at without a failure')
  const leader = gauge('leader', '1 for the process that leads')
  const problems = gauge('problems', 'How many things are wrong with what the Secret holds')
  const failures = new Counter({
    name: 'sidecar_first_certs_failures_total',
    help: 'Failed calls to the API server, by kind',
    labelNames: ['kind'],
    registers,
  })
  const steps = new Counter({
    name: 'sidecar_first_certs_steps_total',
    help: 'Steps taken, by what and why',
    labelNames: ['step', 'reason'],
    registers,
  })
  for (const kind of failureKinds) failures.inc({ kind }, 0)
  let turned = steady()

  const observer: Observer = {
    turned(leading) {
      turned = steady()
      leader.set(leading ? 1 : 0)
      if (leading) return
      // The leader knows better than one that has led before.
      phase.reset()
      days.reset()
      problems.reset()
    },
    looked({ now, secret }, at, found) {
      success.set(now / 1000)
      problems.set(found.length)
      for (const one of phases) phase.set({ phase: one }, one === at ? 1 : 0)
      const certificates: [string, Dated | undefined][] = [
        ['ca', secret?.current],
        ['next-ca', secret?.next],
        ['leaf', secret?.leaf],
      ]
      for (const [certificate, dated] of certificates) {
        if (dated) days.set({ certificate }, (dated.expires - now) / day)
        else days.remove({ certificate })
      }
    },
    took({ do: step, reason }) {
      steps.inc({ step, reason })
    },
    noticed() {},
    failed(kind) {
      failures.inc({ kind })
    },
  }
  return { observer, registry, alive: () => steady() - turned < stalled }
}
