import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeConfig } from '@kubernetes/client-node'
import { createClock } from '../../src/kubernetes/clock.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import type { FailureKind } from '../../src/kubernetes/failure.ts'
import { serveHealth } from '../../src/kubernetes/health.ts'
import { contend } from '../../src/kubernetes/lease.ts'
import { candidateName, leaseStore } from '../../src/kubernetes/lease-store.ts'
import { type Log, logFailure } from '../../src/kubernetes/log.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { CONTROLLER } from '../types.ts'
import { cluster, mirrors } from './cluster.ts'
import { control, type RolloutsObserver } from './control.ts'
import { rolloutsMetrics } from './metrics.ts'

interface RolloutsSettings {
  readonly kubeconfig: KubeConfig
  /** Where the Lease is. */
  readonly namespace: string
  /** How long a leader may be silent before another takes over, in ms. */
  readonly lease: number
  /** How often everything is listed again, in ms. */
  readonly resync: number
  /** The image of the pods that fetch an image to a node. */
  readonly waiter: string
  readonly log: Log
  readonly signal: AbortSignal
  readonly metricsPort: number
}

const TURN = 500

/** `rollouts run`: upgrades sidecars until `signal` ends. */
export async function run({
  kubeconfig,
  namespace,
  lease,
  resync,
  waiter,
  log,
  signal,
  metricsPort,
}: RolloutsSettings) {
  const steady = () => performance.now()
  const metrics = rolloutsMetrics(steady)
  const { port, ready } = await serveHealth(metrics, { port: metricsPort, signal, lacks: 'lease-not-read' })
  log.info({ port }, 'serving metrics and health')
  const clock = createClock()
  // A write that begins while this process leads must be over before another may.
  const timeout = Math.floor(Math.min(10_000, lease / 3))
  const configuration = connection(kubeconfig, { timeout, heard: clock.heard })
  const calls = rawCalls(configuration)
  const observer = both(metrics.observer, logging(log))
  const failed = (kind: FailureKind, error: unknown) => observer.failed(kind, error)
  const candidate = contend({
    store: leaseStore(configuration, { namespace, name: CONTROLLER, now: clock.now }),
    identity: candidateName(),
    duration: lease,
    steady,
    signal,
    failed,
    elected() {},
    learned: ready,
  })
  let term: { end: AbortController; over: Promise<void> } | undefined
  while (!signal.aborted) {
    const leading = candidate.leads()
    metrics.turned(leading)
    if (leading && !term) {
      log.info({}, 'leads')
      const end = new AbortController()
      const until = AbortSignal.any([signal, end.signal])
      const over = control({
        cluster: cluster(calls),
        mirrors: mirrors(kubeconfig, calls, { resync, failed }),
        leads: candidate.leads,
        now: clock.now,
        steady,
        waiter,
        observer,
        signal: until,
      })
      term = { end, over }
    } else if (!leading && term) {
      log.warn({}, 'leads no more')
      term.end.abort()
      await term.over
      metrics.resigned()
      term = undefined
    }
    await sleep(TURN, undefined, { signal }).catch(() => {})
  }
  await Promise.all([term?.over, candidate.ended])
}

const both = (...all: readonly RolloutsObserver[]): RolloutsObserver => ({
  looked: (...look) => all.forEach((one) => void one.looked(...look)),
  took: (...step) => all.forEach((one) => void one.took(...step)),
  turned: (...turn) => all.forEach((one) => void one.turned(...turn)),
  forgot: (rollout) => all.forEach((one) => void one.forgot(rollout)),
  failed: (kind, error) => all.forEach((one) => void one.failed(kind, error)),
  watch: (state) => all.forEach((one) => void one.watch?.(state)),
})

/** One line for each change, not for each look. */
function logging(log: Log): RolloutsObserver {
  return {
    looked() {},
    took({ metadata: { namespace, name } }, step) {
      const rollout = `${namespace}/${name}`
      if (step.do === 'fetch') return log.info({ rollout, node: step.node, image: step.image }, 'fetches an image')
      if (step.do === 'note') return
      const { from, wanted: to, back } = step.note
      log.info({ rollout, pod: step.pod.name, from, to }, back ? 'puts an image back' : 'changes an image')
    },
    turned({ metadata: { namespace, name } }, { type, reason, message }) {
      log[type === 'Normal' ? 'info' : 'warn']({ rollout: `${namespace}/${name}`, phase: reason }, message)
    },
    forgot({ metadata: { namespace, name } }) {
      log.info({ rollout: `${namespace}/${name}` }, 'is gone')
    },
    failed: (kind, error) => logFailure(log, kind, error),
  }
}
