import type { SidecarRollout } from '../../rollouts/types.ts'
import { quote } from '../admission/quote.ts'
import type { Terminal } from '../cli/command.ts'
import { installLine, type RolloutCluster } from './cluster.ts'
import { RolloutError } from './error.ts'

/** What an action works with. */
export interface Session {
  readonly cluster: RolloutCluster
  readonly namespace: string
  readonly terminal: Terminal
  /** Whether to show how it goes until its end. */
  readonly wait: boolean
  /** How long to wait; undefined: as long as it takes. */
  readonly seconds: number | undefined
}

/** @throws RolloutError that names those that are there */
export async function found({ cluster, namespace }: Session, name: string): Promise<SidecarRollout> {
  const rollout = await cluster.read(name)
  if (rollout) return rollout
  const all = (await cluster.list()).map(({ metadata }) => metadata.name)
  const there = all.length === 0 ? 'there is none' : `there is ${all.join(', ')}`
  throw new RolloutError(`no rollout ${quote(name)} in namespace ${namespace}; ${there}`)
}

/** Says that nobody has taken a rollout up. */
export async function sayNobody({ cluster, terminal }: Session): Promise<void> {
  const look = 'kubectl get pods -A -l app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=rollouts'
  const said =
    (await cluster.hasController()) === false
      ? `no controller runs in this cluster: ${installLine}`
      : `no controller has taken it up yet; see whether one runs: ${look}`
  terminal.stderr.write(`sidecar-first: ${said}\n`)
}
