import type { ExitCode } from '../../src/terminal/command.ts'
import { failures } from '../../src/terminal/failures.ts'
import { interrupted } from '../../src/terminal/interrupted.ts'
import { rolloutCodes } from '../codes.ts'
import { follow } from './follow.ts'
import { type Session, sayNobody } from './session.ts'
import { changeLines } from './view-text.ts'

/** How long a controller may take to see a rollout before the wait ends, in ms: a new leader waits 15 s for its predecessor's Lease. */
const PATIENCE = 40_000

/** What to say of an end that isn't the wished one. @param it what names the rollout in a command */
const endings = {
  failed: (it: string) => `the rollout has failed. Undo it: sidecar-first rollout undo ${it}`,
  stopped: (it: string) =>
    `the rollout can't go on; it does by itself once that has changed. Watch it again: sidecar-first rollout status ${it} --wait`,
  'rolled back': () => 'the rollout has failed, and every pod is back on the image it had',
}

/** Tells each change of a rollout until its end, the time limit, or Ctrl-C. */
export async function wait(session: Session, name: string): Promise<ExitCode> {
  const { cluster, namespace, terminal, seconds } = session
  const interruption = interrupted()
  const limits = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)]
  const outcome = await follow(cluster, name, {
    show: (before, view) => terminal.stdout.write(changeLines(before, view)),
    signal: AbortSignal.any([interruption, ...limits]),
    patience: PATIENCE,
  })
  const again = `-n ${namespace} ${name}`
  switch (outcome) {
    case 'done':
      return 0
    case 'failed':
    case 'stopped':
    case 'rolled back':
      terminal.stderr.write(`sidecar-first: ${rolloutCodes.failed} ${endings[outcome](again)}\n`)
      return 1
    case 'unseen':
      await sayNobody(session)
      return 1
    case 'ended': {
      const why = interruption.aborted ? 'interrupted' : `not done within ${seconds} s`
      const how = `Pause it: sidecar-first rollout pause ${again}; watch it again: sidecar-first rollout status ${again} --wait`
      terminal.stderr.write(`\nsidecar-first: ${failures['not-in-time'].code} ${why}. The rollout continues. ${how}\n`)
      return 1
    }
    default:
      return outcome satisfies never
  }
}
