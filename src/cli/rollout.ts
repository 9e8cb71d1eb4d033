import { parseArgs } from 'node:util'
import type { RolloutStrategy, SidecarRollout } from '../../rollouts/types.ts'
import { quote } from '../admission/quote.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import type { RolloutCluster } from '../rollout/cluster.ts'
import { RolloutError } from '../rollout/error.ts'
import { parsePartition, parseSeconds, startRequest } from '../rollout/request.ts'
import { type Command, type ExitCode, type Terminal, UsageError } from './command.ts'
import { interrupted } from './interrupted.ts'
import { lookOf } from './look.ts'

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

/** How long a controller may take to see a change, in ms: `start` says so after the first, `--wait` gives up after the second. */
const takeUp = { soon: 5000, wait: 40_000 }

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
    const request = (namespace: string) => startRequest(flags, namespace)
    if (action === 'start') request('default')
    try {
      const { cluster, namespace } = await connect(flags)
      const session: Session = { cluster, namespace, terminal, flags, seconds }
      switch (action) {
        case 'start':
          return await start(session, request(namespace))
        case 'status':
          return await status(session, name)
        case 'pause':
          return await change(
            session,
            name,
            () => [{ paused: true }],
            'is paused; what is in progress goes on to its end',
          )
        case 'resume':
          return await change(session, name, resumed, 'goes on')
        case 'promote':
          return await change(session, name, () => [{ partition }], `goes on to partition ${partition}`)
        case 'undo':
          return await change(
            session,
            name,
            () => [{ partition: '100%', paused: false }],
            'puts back the image that each pod had',
          )
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

interface Session {
  readonly cluster: RolloutCluster
  readonly namespace: string
  readonly terminal: Terminal
  readonly flags: Flags
  /** How long to wait. */
  readonly seconds: number | undefined
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
  const { loadKubeconfig } = await import('../kubernetes/kubeconfig.ts')
  const { kubeconfig } = await loadKubeconfig(context).catch((error: Error) => {
    throw new RolloutError(error.message, { cause: error })
  })
  const where = namespace ?? kubeconfig.getContextObject(kubeconfig.getCurrentContext())?.namespace ?? 'default'
  const { rolloutCluster } = await import('../rollout/cluster.ts')
  return { cluster: rolloutCluster(kubeconfig, where), namespace: where }
}

async function start(session: Session, request: ReturnType<typeof startRequest>): Promise<ExitCode> {
  const { start: make } = await import('../rollout/start.ts')
  const { cluster, terminal, flags } = session
  const { name, said } = await make(cluster, request)
  terminal.stdout.write(`${said}\n`)
  if (flags.wait) return await wait(session, name)
  const { takenUp } = await import('../rollout/follow.ts')
  if (!(await takenUp(cluster, name, takeUp.soon))) terminal.stderr.write(`sidecar-first: ${await nobody(cluster)}\n`)
  else terminal.stdout.write(`See how it goes: sidecar-first rollout status -n ${session.namespace} ${name} --wait\n`)
  return 0
}

/** @param strategies to apply, one after the other */
async function change(
  session: Session,
  name: string | undefined,
  strategies: (before: SidecarRollout) => readonly Partial<RolloutStrategy>[],
  does: string,
): Promise<ExitCode> {
  const { cluster, terminal, flags } = session
  const before = await found(session, name)
  let after = before
  for (const strategy of strategies(before)) after = await cluster.change(before.metadata.name, strategy)
  const changed = after.metadata.generation !== before.metadata.generation
  const paused = after.spec.strategy.paused && !does.startsWith('is paused') ? '; it is paused, resume it' : ''
  terminal.stdout.write(
    `sidecarrollout/${before.metadata.name} ${changed ? does : `was so already (${does})`}${paused}\n`,
  )
  return flags.wait ? await wait(session, before.metadata.name) : 0
}

/** After a failure only a changed spec is a new attempt. */
function resumed({ status }: SidecarRollout): readonly Partial<RolloutStrategy>[] {
  const failed = status?.phase === 'Stopped' || status?.phase === 'RolledBack'
  return failed ? [{ paused: true }, { paused: false }] : [{ paused: false }]
}

async function found({ cluster, namespace }: Session, name = ''): Promise<SidecarRollout> {
  const rollout = await cluster.read(name)
  if (rollout) return rollout
  const all = (await cluster.list()).map(({ metadata }) => metadata.name)
  const there = all.length === 0 ? 'there is none' : `there is ${all.join(', ')}`
  throw new RolloutError(`no rollout ${quote(name)} in namespace ${namespace}; ${there}`)
}

async function status(session: Session, name: string | undefined): Promise<ExitCode> {
  const { cluster, namespace, terminal, flags } = session
  if (flags.wait && name !== undefined) return await wait(session, (await found(session, name)).metadata.name)
  const { viewOf } = await import('../rollout/view.ts')
  const rollouts = name === undefined ? await cluster.list() : [await found(session, name)]
  const views = []
  for (const one of rollouts) views.push(viewOf(one, await cluster.pods(one.spec.selector), cluster.now()))
  const [only] = views
  if (flags.output === 'json') {
    terminal.stdout.write(`${JSON.stringify(name === undefined ? views : only, undefined, 2)}\n`)
  } else if (name === undefined || only === undefined) {
    const { rolloutTable } = await import('../rollout/table.ts')
    if (views.length === 0) terminal.stderr.write(`No rollouts in namespace ${namespace}.\n`)
    else terminal.stdout.write(rolloutTable(views))
  } else {
    const { renderRollout } = await import('../rollout/render.ts')
    terminal.stdout.write(
      `${renderRollout(only, lookOf(terminal, process.env), Number.POSITIVE_INFINITY).join('\n')}\n`,
    )
  }
  if (name === undefined || rollouts[0] === undefined) return 0
  const { outcomeOf } = await import('../rollout/follow.ts')
  return outcomeOf(rollouts[0]) === 'failed' ? 1 : 0
}

async function wait({ cluster, namespace, terminal, seconds }: Session, name: string): Promise<ExitCode> {
  const { follow } = await import('../rollout/follow.ts')
  const { screen } = await import('../rollout/screen.ts')
  const interruption = interrupted()
  const limits = seconds === undefined ? [] : [AbortSignal.timeout(seconds * 1000)]
  const outcome = await follow(cluster, name, {
    screen: screen(terminal.stdout, () => lookOf(terminal, process.env)),
    signal: AbortSignal.any([interruption, ...limits]),
    patience: takeUp.wait,
  })
  const again = `-n ${namespace} ${name}`
  switch (outcome) {
    case 'done':
      return 0
    case 'failed':
      terminal.stderr.write(`sidecar-first: it failed. Take it back: sidecar-first rollout undo ${again}\n`)
      return 1
    case 'unseen':
      terminal.stderr.write(`sidecar-first: ${await nobody(cluster)}\n`)
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

/** Nobody has taken the rollout up. */
async function nobody(cluster: RolloutCluster): Promise<string> {
  const { installLine } = await import('../rollout/cluster.ts')
  const there = await cluster.hasController()
  if (there === false) return `no controller runs in this cluster: ${installLine}`
  const look = 'kubectl get pods -A -l app.kubernetes.io/name=sidecar-first,app.kubernetes.io/component=rollouts'
  return `no controller has taken it up yet; see whether one runs: ${look}`
}
