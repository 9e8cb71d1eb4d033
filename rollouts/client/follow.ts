import { setTimeout as sleep } from 'node:timers/promises'
import { type FailureKind, failureKind } from '../../src/kubernetes/failure.ts'
import { ExpectedError } from '../../src/terminal/command.ts'
import type { SidecarRollout } from '../types.ts'
import type { RolloutCluster } from './calls.ts'
import { type RolloutView, viewOf } from './view.ts'

/**
 * - `done`: the share is reached
 * - `failed`: a failure has stopped it
 * - `stopped`: nothing has failed, and it can't go on
 * - `rolled back`: a failure has stopped it, and every pod is as it was
 * - `unseen`: no controller has taken it up in time
 * - `ended`: by the signal
 */
type RolloutEnd = 'done' | 'failed' | 'stopped' | 'rolled back' | 'unseen' | 'ended'

/** How a rollout has ended; undefined while it continues. */
export function outcomeOf({ metadata, status }: SidecarRollout): Exclude<RolloutEnd, 'unseen' | 'ended'> | undefined {
  if (status === undefined || status.observedGeneration < metadata.generation) return undefined
  switch (status.phase) {
    case 'Complete':
      return 'done'
    case 'Stopped':
      return status.failure ? 'failed' : 'stopped'
    case 'RolledBack':
      return 'rolled back'
    case 'Waiting':
    case 'Progressing':
    case 'Paused':
    case 'RollingBack':
      return undefined
    default:
      return status.phase satisfies never
  }
}

const interval = 1000
/** At most a tenth of the time is spent asking: listing a thousand pods takes a moment. */
const restFactor = 9
const passing: readonly FailureKind[] = ['timeout', 'throttled', 'server', 'network']

/**
 * Shows a rollout until it is done, has failed, or the signal aborts.
 * @param patience how long a controller may take to see it, in ms
 * @throws ExpectedError if it is deleted, ClusterError of a call that a retry won't help
 */
export async function follow(
  cluster: RolloutCluster,
  name: string,
  {
    show,
    signal,
    patience,
  }: {
    show: (before: RolloutView | undefined, view: RolloutView) => void
    signal: AbortSignal
    patience: number
  },
): Promise<RolloutEnd> {
  let unseenSince: number | undefined
  let view: RolloutView | undefined
  while (!signal.aborted) {
    const asked = performance.now()
    const rollout = await passed(() => cluster.read(name), signal)
    if (rollout === 'ended') return 'ended'
    if (rollout === undefined) throw new ExpectedError('not-there', `the rollout ${name} has been deleted`)
    const pods = await passed(() => cluster.pods(rollout.spec.selector), signal)
    if (pods === 'ended') return 'ended'
    const before = view
    view = viewOf(rollout, pods, cluster.now(), before)
    show(before, view)
    const outcome = outcomeOf(rollout)
    if (outcome) return outcome
    if ((rollout.status?.observedGeneration ?? 0) >= rollout.metadata.generation) unseenSince = undefined
    else unseenSince ??= asked
    if (unseenSince !== undefined && performance.now() - unseenSince > patience) return 'unseen'
    const took = performance.now() - asked
    await sleep(Math.max(interval, took * restFactor), undefined, { signal }).catch(() => {})
  }
  return 'ended'
}

/** Retries what will pass, such as an API server that is restarting. */
async function passed<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T | 'ended'> {
  while (!signal.aborted) {
    try {
      return await ask()
    } catch (error) {
      if (!passing.includes(failureKind(error))) throw error
      await sleep(interval, undefined, { signal }).catch(() => {})
    }
  }
  return 'ended'
}

/** Whether a controller sees the rollout's current generation within `limit` ms. */
export async function takenUp(cluster: RolloutCluster, name: string, limit: number): Promise<boolean> {
  const end = performance.now() + limit
  while (true) {
    const rollout = await cluster.read(name)
    if (rollout?.status !== undefined && rollout.status.observedGeneration >= rollout.metadata.generation) return true
    if (performance.now() > end) return false
    await sleep(interval / 4)
  }
}
