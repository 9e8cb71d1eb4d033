import type { Health } from '../src/kubernetes/health.ts'
import { createMeters, createPulse } from '../src/kubernetes/metrics.ts'
import type { Dated, Phase } from './decide-step.ts'
import type { CertsObserver } from './keep.ts'

const day = 86_400_000
/** Longer than the longest pause between two turns of the loop, a slow API server counted in. */
const stalled = 180_000
const phases: readonly Phase[] = ['missing', 'trusting', 'settling', 'switching', 'retiring', 'steady']

/** Metrics of `certs run`. @param steady a clock that never jumps, in ms */
export function certsMetrics(steady: () => number): Health & { readonly observer: CertsObserver } {
  const { registry, counter, gauge, failures } = createMeters()
  const phase = gauge('certs_phase', 'Where in its life the certificate is: 1 for the phase that it is in', ['phase'])
  const days = gauge('certs_days_left', 'Days until a certificate expires', ['certificate'])
  const success = gauge('certs_last_success_timestamp_seconds', 'When everything was last looked at without a failure')
  const leader = gauge('certs_leader', '1 for the process that leads')
  const problems = gauge('certs_problems', 'How many things are wrong with what the Secret holds')
  const failed = failures('certs_failures_total')
  const steps = counter('certs_steps_total', 'Steps taken, by what and why', ['step', 'reason'])
  const pulse = createPulse(steady, stalled)

  const observer: CertsObserver = {
    turned(leading) {
      pulse.turned()
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
    failed,
  }
  return { observer, registry, alive: pulse.alive }
}
