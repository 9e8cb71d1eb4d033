import { quote } from '../../src/admission/words/quote.ts'
import type { Terminal } from '../../src/terminal/command.ts'
import { ExpectedError } from '../../src/terminal/command.ts'
import { rolloutCodes } from '../codes.ts'
import { CONTROLLER_LABELS, type SidecarRollout } from '../types.ts'
import { installLine, type RolloutCluster } from './calls.ts'

/** What every action needs. */
export interface Session {
  readonly cluster: RolloutCluster
  readonly namespace: string
  readonly terminal: Terminal
  /** Whether to show the progress until the end. */
  readonly wait: boolean
  /** How long to wait; undefined means as long as it takes. */
  readonly seconds: number | undefined
}

/** @throws ExpectedError that names the existing ones */
export async function found({ cluster, namespace }: Session, name: string): Promise<SidecarRollout> {
  const rollout = await cluster.read(name)
  if (rollout) return rollout
  const all = (await cluster.list()).map(({ metadata }) => metadata.name)
  const there = all.length === 0 ? 'it has none' : `it has ${all.join(', ')}`
  throw new ExpectedError('not-there', `no rollout ${quote(name)} in namespace ${namespace}; ${there}`)
}

/** Reports that no controller has taken a rollout up. */
export async function sayNobody({ cluster, terminal }: Session): Promise<void> {
  const look = `kubectl get pods -A -l ${CONTROLLER_LABELS}`
  const said =
    (await cluster.hasController()) === false
      ? `no controller runs in this cluster: ${installLine}`
      : `no controller has taken it up yet; check that one is running: ${look}`
  terminal.stderr.write(`sidecar-first: ${rolloutCodes.unseen} ${said}\n`)
}
