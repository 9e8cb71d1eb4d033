import type { ExitCode } from '../cli/command.ts'
import { interrupted } from '../cli/interrupted.ts'
import { lookOf } from '../cli/look.ts'
import { follow } from './follow.ts'
import { screen } from './screen.ts'
import { type Session, sayNobody } from './session.ts'

/** How long a controller may take to see a rollout before the waiting ends, in ms: a new leader needs its predecessor's 15 s. */
const PATIENCE = 40_000

/** Shows how a rollout goes until its end, or that of the patience or of the person. */
export async function wait(session: Session, name: string): Promise<ExitCode> {
  const { cluster, namespace, terminal, seconds } = session
  const interruption = interrupted()
  const limits = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)]
  const outcome = await follow(cluster, name, {
    screen: screen(terminal.stdout, () => lookOf(terminal, process.env)),
    signal: AbortSignal.any([interruption, ...limits]),
    patience: PATIENCE,
  })
  const again = `-n ${namespace} ${name}`
  switch (outcome) {
    case 'done':
      return 0
    case 'failed':
      terminal.stderr.write(`sidecar-first: it failed. Take it back: sidecar-first rollout undo ${again}\n`)
      return 1
    case 'rolled back':
      terminal.stderr.write('sidecar-first: it failed, and each pod has the image back that it had\n')
      return 1
    case 'unseen':
      await sayNobody(session)
      return 1
    case 'ended': {
      const why = interruption.aborted ? '' : `not done within ${seconds} s. `
      const how = `Pause it: sidecar-first rollout pause ${again}; see it again: sidecar-first rollout status ${again} --wait`
      terminal.stderr.write(`\nsidecar-first: ${why}The rollout goes on. ${how}\n`)
      return 1
    }
    default:
      return outcome satisfies never
  }
}
