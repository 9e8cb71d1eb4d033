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
import { CONTROLLER, type SidecarRollout } from '../types.ts'
import { cluster, mirrors } from './cluster.ts'
import { Controller, type RolloutsObserver } from './control.ts'
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
export async function run(settings: RolloutsSettings) {
  const { kubeconfig, namespace, lease, resync, waiter, log, signal, metricsPort } = settings
  const steady = () => performance.now()
  const metrics = rolloutsMetrics(steady)
  const { port, ready } = await serveHealth(metrics, { port: metricsPort, signal, lacks: 'lease-not-read' })
  log.info({ port }, 'serving metrics and health')
  const clock = createClock()
  // A write that begins while this process leads must be over before another may.
  const timeout = Math.floor(Math.min(10_000, lease / 3))
  const configuration = connection(kubeconfig, { timeout, heard: clock.heard })
  const calls = rawCalls(configuration)
  const observer = logging(log, metrics.observer)
  const failed = (kind: FailureKind, error: unknown) => observer.failed(kind, error)
  const candidate = contend({
    store: leaseStore(configuration, { namespace, name: CONTROLLER, now: clock.now }),
    identity: candidateName(),
    duration: lease,
    steady,
    signal,
    failed,
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
      const controller = new Controller({
        cluster: cluster(calls),
        mirrors: mirrors(kubeconfig, calls, { resync, failed }),
        leads: candidate.leads,
        now: clock.now,
        steady,
        waiter,
        observer,
        signal: until,
      })
      term = { end, over: controller.run() }
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

/** One line for each change, not for each look. @param to is told as well */
function logging(log: Log, to: RolloutsObserver): RolloutsObserver {
  const nameOf = ({ metadata: { namespace, name } }: SidecarRollout) => `${namespace}/${name}`
  return {
    ...to,
    took(one, step, ms) {
      to.took(one, step, ms)
      const rollout = nameOf(one)
      if (step.do === 'fetch') return log.info({ rollout, node: step.node, image: step.image }, 'fetches an image')
      if (step.do === 'note') return
      const { from, wanted, back } = step.note
      log.info({ rollout, pod: step.pod.name, from, to: wanted }, back ? 'puts an image back' : 'changes an image')
    },
    turned(rollout, { type, reason, message }) {
      log[type === 'Normal' ? 'info' : 'warn']({ rollout: nameOf(rollout), phase: reason }, message)
    },
    forgot(rollout) {
      to.forgot(rollout)
      log.info({ rollout: nameOf(rollout) }, 'is gone')
    },
    failed(kind, error) {
      to.failed(kind, error)
      logFailure(log, kind, error)
    },
  }
}
