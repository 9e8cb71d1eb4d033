import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { failureKinds } from '../src/kubernetes/failure.ts'
import type { Observer } from './control.ts'
import type { Shown, Step } from './next.ts'
import { isCurrent, touchOf } from './sidecar.ts'
import { failures as failureReasons, phases } from './types.ts'

/** Longer than the longest pause between two turns of the loop, in ms. */
const STALLED = 60_000

export interface Metrics {
  readonly observer: Observer
  readonly registry: Registry
  /** Another turn of the loop. */
  turned(leading: boolean): void
  /** Whether the loop still turns. */
  alive(): boolean
}

/** Metrics of `rollouts run`. @param steady a clock that never jumps, in ms */
export function createMetrics(steady: () => number): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const named = ['namespace', 'rollout'] as const
  const pods = new Gauge({
    name: 'sidecar_first_rollout_pods',
    help: 'Pods of a rollout by state; "done" are the updated ones that are done',
    labelNames: [...named, 'state'],
    registers,
  })
  const phase = new Gauge({
    name: 'sidecar_first_rollout_phase',
    help: '1 for the phase that a rollout is in',
    labelNames: [...named, 'phase'],
    registers,
  })
  const away = new Histogram({
    name: 'sidecar_first_rollout_away_seconds',
    help: "How long a pod was without its sidecar: from the old container's end to the new one's being ready",
    buckets: [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
    registers,
  })
  const failed = new Counter({
    name: 'sidecar_first_rollout_failures_total',
    help: 'Rollouts that a failure has stopped, by what failed',
    labelNames: ['reason'],
    registers,
  })
  const calls = new Counter({
    name: 'sidecar_first_rollouts_failed_calls_total',
    help: 'Failed calls to the API server, by kind',
    labelNames: ['kind'],
    registers,
  })
  const steps = new Counter({
    name: 'sidecar_first_rollouts_steps_total',
    help: 'Pods touched, put back, and images fetched',
    labelNames: ['step'],
    registers,
  })
  const leader = new Gauge({ name: 'sidecar_first_rollouts_leader', help: '1 for the process that leads', registers })
  for (const reason of failureReasons) failed.inc({ reason }, 0)
  for (const kind of failureKinds) calls.inc({ kind }, 0)
  let turned = steady()
  /** The sidecars that are away, by the container that ended. */
  const gone = new Map<string, Set<string>>()

  const observer: Observer = {
    looked(rollout, shown, { counts, phase: at, failure }) {
      const { namespace, name } = rollout.metadata
      const labels = { namespace, rollout: name }
      const old = counts.matched - counts.updated
      const states = { old, in_progress: counts.inProgress, updated: counts.updated, done: counts.updatedReady }
      for (const [state, count] of Object.entries(states)) pods.set({ ...labels, state }, count)
      for (const one of phases) phase.set({ ...labels, phase: one }, one === at ? 1 : 0)
      const known = rollout.status?.failure
      if (failure && (known?.generation !== failure.generation || known.reason !== failure.reason)) {
        failed.inc({ reason: failure.reason })
      }
      const key = `${namespace}/${name}`
      const before = gone.get(key) ?? new Set()
      gone.set(
        key,
        watchAway(shown, before, (seconds) => away.observe(seconds)),
      )
    },
    took(_, step) {
      steps.inc({ step: nameOf(step) })
    },
    turned() {},
    forgot({ metadata: { namespace, name } }) {
      gone.delete(`${namespace}/${name}`)
      for (const state of ['old', 'in_progress', 'updated', 'done']) pods.remove({ namespace, rollout: name, state })
      for (const one of phases) phase.remove({ namespace, rollout: name, phase: one })
    },
    failed(kind) {
      calls.inc({ kind })
    },
  }
  return {
    observer,
    registry,
    turned(leading) {
      turned = steady()
      leader.set(leading ? 1 : 0)
    },
    alive: () => steady() - turned < STALLED,
  }
}

const nameOf = (step: Step) => (step.do === 'fetch' ? 'fetch' : step.touch.back ? 'put_back' : 'touch')

/** Those that are away now; tells of each that was and is back. */
function watchAway({ rollout, pods, now }: Shown, before: Set<string>, back: (seconds: number) => void): Set<string> {
  const away = new Set<string>()
  for (const pod of pods) {
    const container = pod.containers.find(({ name }) => name === rollout.spec.container)
    const touch = container && touchOf(pod, container)
    if (!container || !touch || touch.rollout !== rollout.metadata.uid || pod.ending) continue
    const key = `${pod.uid} ${touch.at}`
    const { status } = container
    if (!(status?.ready && isCurrent(pod, container))) away.add(key)
    else if (before.has(key)) {
      const stopped = status.last?.id === touch.container ? status.last.ended : touch.at
      back(Math.max(0, now - stopped) / 1000)
    }
  }
  return away
}
