import { setTimeout as sleep } from 'node:timers/promises'
import { type FailureKind, failureKind } from '../../src/kubernetes/failure.ts'
import { type ExitCode, ExpectedError } from '../../src/terminal/command.ts'
import { failures } from '../../src/terminal/failures.ts'
import { interrupted } from '../../src/terminal/interrupted.ts'
import { rolloutCodes } from '../codes.ts'
import { currentStatus, type SidecarRollout } from '../types.ts'
import { found, type Session, sayNobody } from './session.ts'
import { type RolloutView, viewOf } from './view.ts'
import { changeLines, rolloutsTable, rolloutText } from './view-text.ts'

/** How long a controller may take to see a rollout before the wait ends, in ms: a new leader waits 15 s for its predecessor's Lease. */
const PATIENCE = 40_000
const INTERVAL = 1000
/** At most a tenth of the time is spent asking: listing a thousand pods takes a moment. */
const REST_FACTOR = 9
/** Such as of an API server that is restarting. */
const passing: readonly FailureKind[] = ['timeout', 'throttled', 'server', 'network']

/** What to say of an end that isn't the wished one. @param it what names the rollout in a command */
const endings = {
  failed: (it: string) => `the rollout has failed. Undo it: sidecar-first rollout undo ${it}`,
  stopped: (it: string) =>
    `the rollout can't go on; it does by itself once that has changed. Watch it again: sidecar-first rollout status ${it} --wait`,
  'rolled back': () => 'the rollout has failed, and every pod is back on the image it had',
}

/** How a rollout has ended; undefined while it continues. `stopped`: nothing has failed, and it can't go on. */
export function outcomeOf(rollout: SidecarRollout): keyof typeof endings | 'done' | undefined {
  const { phase, failure } = currentStatus(rollout) ?? {}
  switch (phase) {
    case 'Complete':
      return 'done'
    case 'Stopped':
      return failure ? 'failed' : 'stopped'
    case 'RolledBack':
      return 'rolled back'
    case 'Waiting':
    case 'Progressing':
    case 'Paused':
    case 'RollingBack':
    case undefined:
      return undefined
    default:
      return phase satisfies never
  }
}

/**
 * Tells each change of a rollout until its end, the time limit, or Ctrl-C.
 * @throws ExpectedError if it is deleted, ClusterError of a call that a retry won't help
 */
export async function wait(session: Session, name: string): Promise<ExitCode> {
  const { cluster, namespace, terminal, seconds } = session
  const interruption = interrupted()
  const limits = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)]
  const signal = AbortSignal.any([interruption, ...limits])
  const again = `-n ${namespace} ${name}`
  let view: RolloutView | undefined
  let unseenSince: number | undefined
  while (!signal.aborted) {
    const asked = performance.now()
    let rest = INTERVAL
    try {
      const rollout = await cluster.read(name)
      if (rollout === undefined) throw new ExpectedError('not-there', `the rollout ${name} has been deleted`)
      const before = view
      view = viewOf(rollout, await cluster.pods(rollout.spec.selector), cluster.now(), before)
      terminal.stdout.write(changeLines(before, view))
      const outcome = outcomeOf(rollout)
      if (outcome === 'done') return 0
      if (outcome !== undefined) {
        terminal.stderr.write(`sidecar-first: ${rolloutCodes.failed} ${endings[outcome](again)}\n`)
        return 1
      }
      unseenSince = currentStatus(rollout) ? undefined : (unseenSince ?? asked)
      rest = Math.max(INTERVAL, (performance.now() - asked) * REST_FACTOR)
    } catch (error) {
      if (!passing.includes(failureKind(error))) throw error
    }
    if (unseenSince !== undefined && performance.now() - unseenSince > PATIENCE) {
      await sayNobody(session)
      return 1
    }
    await sleep(rest, undefined, { signal }).catch(() => {})
  }
  const why = interruption.aborted ? 'interrupted' : `not done within ${seconds} s`
  const how = `Pause it: sidecar-first rollout pause ${again}; watch it again: sidecar-first rollout status ${again} --wait`
  terminal.stderr.write(`\nsidecar-first: ${failures['not-in-time'].code} ${why}. The rollout continues. ${how}\n`)
  return 1
}

/** Whether a controller sees the rollout's current generation within `limit` ms. */
export async function takenUp({ cluster }: Session, name: string, limit: number): Promise<boolean> {
  const end = performance.now() + limit
  while (true) {
    const rollout = await cluster.read(name)
    if (rollout && currentStatus(rollout)) return true
    if (performance.now() > end) return false
    await sleep(INTERVAL / 4)
  }
}

/** Shows one rollout, or all in the namespace if none is named; as JSON for programs. @throws ExpectedError, ClusterError */
export async function show(session: Session, name: string | undefined, json: boolean): Promise<ExitCode> {
  const { cluster, namespace, terminal } = session
  const rollouts = name === undefined ? await cluster.list() : [await found(session, name)]
  if (session.wait && name !== undefined) return await wait(session, name)
  const views = []
  for (const one of rollouts) views.push(viewOf(one, await cluster.pods(one.spec.selector), cluster.now()))
  const [view] = views
  if (json) terminal.stdout.write(`${JSON.stringify(name === undefined ? views : view, undefined, 2)}\n`)
  else if (view === undefined)
    terminal.stderr.write(`${rolloutCodes.none} there are no rollouts in namespace ${namespace}\n`)
  else terminal.stdout.write(name === undefined ? rolloutsTable(views) : rolloutText(view))
  const [only] = name === undefined ? [] : rollouts
  const outcome = only && outcomeOf(only)
  return outcome === undefined || outcome === 'done' ? 0 : 1
}
