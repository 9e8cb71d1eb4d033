import { parsePartition, parseSeconds, startFlags, startRequest } from '../../rollouts/client/request.ts'
import type { Session } from '../../rollouts/client/session.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { quote } from '../admission/words/quote.ts'
import { loadKubeconfig, namespaceOf } from '../kubernetes/kubeconfig.ts'
import { UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { actionOf } from '../terminal/flag.ts'

const help = `Upgrades a sidecar of running pods in place, a few pods at a time, while their
apps go on. The controller, sidecar-first rollouts, does the work.

Usage: sidecar-first rollout ACTION [NAME] [flags]

  start                      create a SidecarRollout, or give an existing one
                             another image
  status [NAME]              what is old, in progress, new and failed; without a
                             name, all rollouts of the namespace. Exits with 1
                             if NAME has failed
  pause NAME                 touch no more pods
  resume NAME                go on; retry after a failure
  promote NAME               bring all pods to the new image, or all but
                             --partition
  undo NAME                  go back to the image and share that were complete
                             last, or to the image that each pod had
  finish NAME                delete the rollout, once the templates have its
                             image; prints what is left to set

  -n, --namespace NAME       the pods' namespace (default: the kubeconfig's)
  --context NAME             kubeconfig context (default: the current one)
  --wait                     show progress until it is done (0) or has failed
                             (1); Ctrl-C ends the view, not the rollout
  --timeout DURATION         with --wait: how long (default: no limit)
  -o json                    status: for programs

  --selector LABELS          start: the pods, as in kubectl; whatever made them
  --container NAME           start: the sidecar, regular or native
  --image IMAGE              start: its new image
  --name NAME                start: the rollout's name (default: made of the
                             labels and the container)
  --partition SHARE          start, promote: how many pods stay as they are, a
                             number or 90% (0)
  --max-unavailable SHARE    start: how many pods may be unready at a time, a
                             number or 10% (1)
  --min-ready-seconds COUNT  start: how long a new sidecar has to be ready (10)
  --bake-seconds COUNT       start: how long the first pods run with the new
                             sidecar before others get it, and the last (60)
  --deadline DURATION        start: how long a pod may take (300s)
  --max-failures SHARE       start: how many pods may fail, a number or 10% (0)
  --judge WHAT               start: Pod, one that was ready is to be again, or
                             Sidecar, the sidecar alone (Pod)
  --on-failure WHAT          start: pause, or rollback to restore what was
                             touched (pause)
  --to-origin                undo: to the image that each pod had at first
  --force                    finish: even if a template has the old image

Example: a tenth of the pods first, then all

  sidecar-first rollout start --selector app=shop --container envoy \\
    --image example/envoy:2.1 --partition 90% --wait
  sidecar-first rollout promote shop-envoy --wait
`

const options = {
  ...startFlags,
  partition: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  wait: { type: 'boolean', default: false },
  'to-origin': { type: 'boolean', default: false },
  force: { type: 'boolean', default: false },
  timeout: { type: 'string', read: parseSeconds },
  output: { type: 'string', short: 'o', choices: ['json'] },
} as const
type Flags = Values<typeof options>

const actions = ['start', 'status', 'pause', 'resume', 'promote', 'undo', 'finish'] as const
type Action = (typeof actions)[number]

export const rollout = defineCommand({
  help,
  options,
  names: actions,
  async run(flags, [word, name, ...rest], terminal) {
    const action = actionOf(word, actions)
    checkFlags(action, name, flags, rest)
    const partition = parsePartition(flags.partition ?? '0')
    // Checked before any cluster is asked.
    const request = (namespace: string) => startRequest(flags, namespace)
    if (action === 'start') request('default')
    const { kubeconfig } = await loadKubeconfig(flags.context)
    const namespace = flags.namespace ?? namespaceOf(kubeconfig)
    const { rolloutCluster } = await import('../../rollouts/client/calls.ts')
    const cluster = rolloutCluster(kubeconfig, namespace)
    const session: Session = { cluster, namespace, terminal, wait: flags.wait, seconds: flags.timeout }
    const { change, ...of } = await import('../../rollouts/client/actions.ts')
    switch (action) {
      case 'start': {
        const { start } = await import('../../rollouts/client/start.ts')
        return await start(session, request(namespace))
      }
      case 'status': {
        const { show } = await import('../../rollouts/client/status.ts')
        return await show(session, name, flags.output === 'json')
      }
      case 'pause':
        return await change(session, name ?? '', of.pause)
      case 'resume':
        return await change(session, name ?? '', of.resume)
      case 'promote':
        return await change(session, name ?? '', of.promote(partition))
      case 'undo':
        return await change(session, name ?? '', flags['to-origin'] ? of.undoToOrigin : of.undo)
      case 'finish': {
        const { templatesOfRollout } = await import('../check/installation/rollouts.ts')
        const { connection } = await import('../kubernetes/connection.ts')
        const { objects } = await import('../kubernetes/objects.ts')
        const all = objects(connection(kubeconfig))
        const templates = (rollout: SidecarRollout) => templatesOfRollout(all, rollout)
        return await of.finish(session, name ?? '', { templates, force: flags.force })
      }
      default:
        return action satisfies never
    }
  },
})

/** A flag that would have no effect is a mistake. */
function checkFlags(action: Action, name: string | undefined, flags: Flags, rest: readonly string[]): void {
  const [stray] = action === 'start' && name !== undefined ? [name] : rest
  if (stray !== undefined) throw new UsageError('wrong-arguments', `${action} takes no ${quote(stray)}`)
  if (name === undefined && action !== 'start' && action !== 'status')
    throw new UsageError('wrong-arguments', `${action} needs the rollout's NAME`)
  if (name === undefined && action === 'status' && flags.wait)
    throw new UsageError('wrong-arguments', "--wait needs the rollout's NAME")
  const given = (flag: keyof Flags) => flags[flag] !== undefined && flags[flag] !== false
  const only = (flag: keyof Flags, ...allowed: Action[]) => {
    if (given(flag) && !allowed.includes(action)) throw new UsageError('flags-together', `${action} takes no --${flag}`)
  }
  for (const flag of Object.keys(startFlags)) only(flag as keyof Flags, 'start')
  only('partition', 'start', 'promote')
  only('output', 'status')
  only('to-origin', 'undo')
  only('force', 'finish')
  only('wait', 'start', 'status', 'resume', 'promote', 'undo')
  if (given('timeout') && !flags.wait) throw new UsageError('flags-together', '--timeout goes with --wait')
  if (given('output') && flags.wait) throw new UsageError('flags-together', '-o json does not go with --wait')
}
