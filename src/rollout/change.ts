import type { RolloutStrategy, SidecarRollout } from '../../rollouts/types.ts'
import type { ExitCode } from '../cli/command.ts'
import { found, type Session, sayNobody } from './session.ts'
import { wait } from './wait.ts'

/** What an action does to a rollout's strategy. */
export interface Change {
  /** To apply, one after the other. */
  readonly strategies: (before: SidecarRollout) => readonly Partial<RolloutStrategy>[]
  /** In words, behind the rollout's name. */
  readonly does: string
}

export const pause: Change = {
  strategies: () => [{ paused: true }],
  does: 'is paused; what is in progress goes on to its end',
}

/** After a failure only a changed spec is a new attempt. */
export const resume: Change = {
  strategies({ status }) {
    const failed = status?.phase === 'Stopped' || status?.phase === 'RolledBack'
    return failed ? [{ paused: true }, { paused: false }] : [{ paused: false }]
  },
  does: 'goes on',
}

export const promote = (partition: number | string): Change => ({
  strategies: () => [{ partition }],
  does: `goes on to partition ${partition}`,
})

/** The controller puts back the image that each pod had, by its own note. */
export const undo: Change = {
  strategies: () => [{ partition: '100%', paused: false }],
  does: 'puts back the image that each pod had',
}

/** Makes a change, says so, and waits where that is asked. @throws RolloutError, ClusterError */
export async function change(session: Session, name: string, { strategies, does }: Change): Promise<ExitCode> {
  const { cluster, terminal } = session
  const before = await found(session, name)
  let after = before
  for (const strategy of strategies(before)) after = await cluster.change(name, strategy)
  const changed = after.metadata.generation !== before.metadata.generation
  const paused = after.spec.strategy.paused && does !== pause.does ? '; it is paused, resume it' : ''
  terminal.stdout.write(`sidecarrollout/${name} ${changed ? does : `was so already (${does})`}${paused}\n`)
  if (session.wait) return await wait(session, name)
  if ((await cluster.hasController()) === false) await sayNobody(session)
  return 0
}
