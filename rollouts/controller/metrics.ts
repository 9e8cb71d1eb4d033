import { createMeters, createPulse } from '../../src/kubernetes/metrics.ts'
import { withContainer } from '../members.ts'
import { noteOf, standing } from '../sidecar-state.ts'
import { type Counts, failures as failureReasons, phases } from '../types.ts'
import type { RolloutsObserver } from './control.ts'
import type { Shown, Step } from './decision.ts'

/** How many pods are in a state, by its name. */
const podStates: Readonly<Record<string, (counts: Counts) => number>> = {
  old: ({ matched, updated }) => matched - updated,
  in_progress: ({ inProgress }) => inProgress,
  updated: ({ updated }) => updated,
  done: ({ updatedReady }) => updatedReady,
  silent: ({ silent }) => silent,
  refused: ({ refused }) => refused,
  superseded: ({ superseded }) => superseded,
}

/** Longer than the longest pause between two turns of the loop, in ms. */
const STALLED = 60_000

/** Metrics of `rollouts run`. @param steady a clock that never jumps, in ms */
export function rolloutsMetrics(steady: () => number) {
  const { registry, counter, gauge, histogram, failures, ofProcess } = createMeters()
  const pods = gauge(
    'rollout_pods',
    'Pods of a rollout by state; done: updated and ready for long enough; superseded and refused ones are left alone',
    ['namespace', 'rollout', 'state'],
  )
  const phase = gauge('rollout_phase', '1 for the phase that a rollout is in', ['namespace', 'rollout', 'phase'])
  const away = histogram(
    'rollout_away_seconds',
    "How long a pod was without its sidecar: from the old container's end to the new one's being ready",
    [0.5, 1, 2, 3, 5, 10, 20, 30, 60, 120, 300],
  )
  const failed = counter('rollout_failures_total', 'Rollouts that a failure has stopped, by what failed', ['reason'])
  const failedCall = failures('rollouts_failed_calls_total')
  const steps = counter('rollouts_steps_total', 'Pods touched, put back, and images fetched', ['step'])
  const stepTimes = [0.005, 0.02, 0.1, 0.5, 2, 10]
  const seconds = histogram('rollouts_step_seconds', 'How long a step took, by its kind', stepTimes, ['step'])
  let state: { age: () => number; watched: () => number } | undefined
  gauge(
    'rollouts_queue_age_seconds',
    'How long the rollout that has waited longest has waited for a worker',
    [],
    (metric) => metric.set((state?.age() ?? 0) / 1000),
  )
  gauge('rollouts_watched_objects', 'Pods and disruption budgets that are kept', [], (metric) =>
    metric.set(state?.watched() ?? 0),
  )
  ofProcess()
  const leader = gauge('rollouts_leader', '1 for the process that leads')
  for (const reason of failureReasons) failed.inc({ reason }, 0)
  const pulse = createPulse(steady, STALLED)
  /** The sidecars that are away, by the container that ended. */
  const gone = new Map<string, Set<string>>()

  const observer: RolloutsObserver = {
    looked(shown, { counts, phase: at, failure }) {
      const { metadata, status } = shown.rollout
      const { namespace, name } = metadata
      const labels = { namespace, rollout: name }
      for (const [state, count] of Object.entries(podStates)) pods.set({ ...labels, state }, count(counts))
      for (const one of phases) phase.set({ ...labels, phase: one }, one === at ? 1 : 0)
      const known = status?.failure
      if (failure && (known?.generation !== failure.generation || known.reason !== failure.reason)) {
        failed.inc({ reason: failure.reason })
      }
      const key = `${namespace}/${name}`
      const { now, back } = watchAway(shown, gone.get(key))
      gone.set(key, now)
      for (const seconds of back) away.observe(seconds)
    },
    took(_, step, ms) {
      steps.inc({ step: nameOf(step) })
      seconds.observe({ step: nameOf(step) }, ms / 1000)
    },
    turned() {},
    forgot({ metadata: { namespace, name } }) {
      gone.delete(`${namespace}/${name}`)
      for (const state of Object.keys(podStates)) pods.remove({ namespace, rollout: name, state })
      for (const one of phases) phase.remove({ namespace, rollout: name, phase: one })
    },
    failed: failedCall,
    watch(found) {
      state = found
    },
  }
  return {
    observer,
    registry,
    /** Another turn of the loop. */
    turned(leading: boolean) {
      pulse.turned()
      leader.set(leading ? 1 : 0)
    },
    /** It leads no more: what it knew last is said no longer, since the next leader knows better. */
    resigned() {
      pods.reset()
      phase.reset()
      gone.clear()
      state = undefined
    },
    alive: pulse.alive,
  }
}

const nameOf = (step: Step) =>
  step.do === 'fetch' ? 'fetch' : step.do === 'note' ? 'note' : step.note.back ? 'put_back' : 'touch'

/** The sidecars that are away now, and for how many seconds those were that are back. */
function watchAway({ rollout, pods, now }: Shown, before: ReadonlySet<string> = new Set()) {
  const away = new Set<string>()
  const back: number[] = []
  for (const { pod, container } of withContainer(rollout, pods)) {
    const note = noteOf(pod, container)
    if (note?.rollout !== rollout.metadata.uid) continue
    const key = `${pod.uid} ${note.at}`
    const { status } = container
    if (!(status?.ready && standing(pod, container) === 'current')) away.add(key)
    else if (before.has(key)) {
      const stopped = status.last && note.ids.includes(status.last.id) ? status.last.ended : note.at
      back.push(Math.max(0, now - stopped) / 1000)
    }
  }
  return { now: away, back }
}
