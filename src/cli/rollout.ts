import { parseArgs } from 'node:util'
import { quote } from '../admission/quote.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import type { RolloutCluster } from '../rollout/cluster.ts'
import { RolloutError } from '../rollout/error.ts'
import { parsePartition, parseSeconds, startRequest } from '../rollout/request.ts'
import type { Session } from '../rollout/session.ts'
import { type Command, UsageError } from './command.ts'

const help = `Upgrades a sidecar of running pods in place, a few at a time: the apps in them go on. \`sidecar-first rollouts\` does the work.

Usage: sidecar-first rollout ACTION [NAME] [flags]

  start                      make a SidecarRollout, or give the one of that name another image
  status [NAME]              what is old, in progress, new and failed; without a name, all of the namespace. 1 if NAME has failed
  pause NAME                 touch no further pod
  resume NAME                go on; one that was stopped by a failure tries again
  promote NAME               bring all pods to the new image, or all but --partition
  undo NAME                  give each pod back the image it had

  -n, --namespace NAME       of the pods (default: the kubeconfig's, or default)
  --context NAME             the kubeconfig's context (default: its current one)
  --wait                     show how it goes until it is done (0) or has failed (1); Ctrl-C ends the view, not the rollout
  --timeout DURATION         with --wait: how long (default: as long as it takes)
  -o json                    status: for programs

  --selector LABELS          start: which pods, as kubectl takes it; whatever made them
  --container NAME           start: the sidecar, a regular or a native one
  --image IMAGE              start: what it shall run
  --name NAME                start: the rollout's (default: made of the labels and the container)
  --partition SHARE          start, promote: how many pods stay as they are: 90%, or a number (0)
  --max-unavailable SHARE    start: how many pods may be not ready at a time: a number, or 10% (1)
  --min-ready-seconds COUNT  start: how long a new sidecar must have been ready (10)
  --deadline DURATION        start: how long a pod may take (300s)
  --on-failure WHAT          start: pause, or rollback to put back what was touched (pause)

Example: a tenth of the pods first, then all

  sidecar-first rollout start --selector app=shop --container envoy --image example/envoy:2.1 --partition 90% --wait
  sidecar-first rollout promote shop-envoy --wait
`

const startFlags = {
  selector: { type: 'string' },
  container: { type: 'string' },
  image: { type: 'string' },
  name: { type: 'string' },
  'max-unavailable': { type: 'string' },
  'min-ready-seconds': { type: 'string' },
  deadline: { type: 'string' },
  'on-failure': { type: 'string' },
} as const
const options = {
  ...startFlags,
  partition: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  wait: { type: 'boolean', default: false },
  timeout: { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const
type Flags = ReturnType<typeof parseArgs<{ options: typeof options }>>['values']

const actions = ['start', 'status', 'pause', 'resume', 'promote', 'undo'] as const
type Action = (typeof actions)[number]

export const rollout: Command = {
  help,
  async run(args, terminal) {
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [word, name, ...rest] = positionals
    const action = actions.find((each) => each === word)
    if (action === undefined) {
      throw new UsageError(
        `what shall be done: ${actions.join(', ')}${word === undefined ? '' : `, not ${quote(word)}`}?`,
      )
    }
    checkFlags(action, name, flags, rest)
    const seconds = flags.timeout === undefined ? undefined : parseSeconds('--timeout', flags.timeout)
    const partition = parsePartition(flags.partition ?? '0')
    // Judged before a cluster is asked for.
    const request = (namespace: string) => startRequest(flags, namespace)
    if (action === 'start') request('default')
    try {
      const { cluster, namespace } = await connect(flags)
      const session: Session = { cluster, namespace, terminal, wait: flags.wait, seconds }
      const { change, pause, promote, resume, undo } = await import('../rollout/change.ts')
      switch (action) {
        case 'start': {
          const { start } = await import('../rollout/start.ts')
          return await start(session, request(namespace))
        }
        case 'status': {
          const { status } = await import('../rollout/status.ts')
          return await status(session, name, flags.output === 'json')
        }
        case 'pause':
          return await change(session, name ?? '', pause)
        case 'resume':
          return await change(session, name ?? '', resume)
        case 'promote':
          return await change(session, name ?? '', promote(partition))
        case 'undo':
          return await change(session, name ?? '', undo)
        default:
          return action satisfies never
      }
    } catch (error) {
      if (!(error instanceof RolloutError || error instanceof ClusterError)) throw error
      terminal.stderr.write(`sidecar-first: ${error.message}\n`)
      return 1
    }
  },
}

/** A flag that would have no effect is a mistake. */
function checkFlags(action: Action, name: string | undefined, flags: Flags, rest: readonly string[]): void {
  const [stray] = action === 'start' && name !== undefined ? [name] : rest
  if (stray !== undefined) throw new UsageError(`${action} takes no ${quote(stray)}`)
  if (name === undefined && action !== 'start' && action !== 'status')
    throw new UsageError(`${action} needs the rollout's NAME`)
  if (name === undefined && action === 'status' && flags.wait) throw new UsageError("--wait needs the rollout's NAME")
  const given = (flag: keyof Flags) => flags[flag] !== undefined && flags[flag] !== false
  const only = (flag: keyof Flags, ...allowed: Action[]) => {
    if (given(flag) && !allowed.includes(action)) throw new UsageError(`${action} takes no --${flag}`)
  }
  for (const flag of Object.keys(startFlags)) only(flag as keyof Flags, 'start')
  only('partition', 'start', 'promote')
  only('output', 'status')
  only('wait', 'start', 'status', 'resume', 'promote', 'undo')
  if (given('timeout') && !flags.wait) throw new UsageError('--timeout goes with --wait')
  if (given('output') && flags.output !== 'json')
    throw new UsageError(`-o takes json, not ${quote(flags.output ?? '')}`)
  if (given('output') && flags.wait) throw new UsageError('-o json does not go with --wait')
}

async function connect({ context, namespace }: Flags): Promise<{ cluster: RolloutCluster; namespace: string }> {
  const { loadKubeconfig, namespaceOf } = await import('../kubernetes/kubeconfig.ts')
  const { kubeconfig } = await loadKubeconfig(context)
  const where = namespace ?? namespaceOf(kubeconfig)
  const { rolloutCluster } = await import('../rollout/cluster.ts')
  return { cluster: rolloutCluster(kubeconfig, where), namespace: where }
}
