import { parseArgs } from 'node:util'
import { quote } from '../admission/quote.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { createLog, levels } from '../server/log.ts'
import { version } from '../version.ts'
import { type Command, type ExitCode, UsageError } from './command.ts'
import { oneOf, port } from './flag.ts'
import { interrupted } from './interrupted.ts'
import { longDuration } from './long-duration.ts'

const help = `Upgrades sidecars of running pods in place, as SidecarRollout resources say.

Usage: sidecar-first rollouts run [flags]

  run                   do so, for ever; any number of replicas, one leads

  --namespace NAME      where the Lease is (sidecar-first)
  --lease DURATION      how long a leader may be silent (15s)
  --resync DURATION     how often everything is listed anew, whatever the watches say (2m)
  --waiter-image IMAGE  what runs in the short-lived pods that have a node fetch an image
                        (docker.io/sidecar-first/waiter:${version})
  --metrics-port PORT   metrics and health over HTTP (8080); 0 picks a free port
  --log-level LEVEL     ${levels.join(', ')} (info)

Example: sidecar-first rollouts run --metrics-port 0
`

const options = {
  namespace: { type: 'string', default: 'sidecar-first' },
  lease: { type: 'string', default: '15s' },
  resync: { type: 'string', default: '2m' },
  'waiter-image': { type: 'string', default: `docker.io/sidecar-first/waiter:${version}` },
  'metrics-port': { type: 'string', default: '8080' },
  'log-level': { type: 'string', default: 'info' },
} as const

export const rollouts: Command = {
  help,
  async run(args, terminal): Promise<ExitCode> {
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [action, extra] = positionals
    if (action !== 'run') throw new UsageError(`what shall be done: run${action ? `, not ${quote(action)}` : ''}?`)
    if (extra !== undefined) throw new UsageError(`run takes no ${quote(extra)}`)
    const metricsPort = port('--metrics-port', flags['metrics-port'])
    const level = oneOf('--log-level', flags['log-level'], levels)
    const lease = longDuration('--lease', flags.lease, { most: '1d', such: '15s or 1m' })
    const resync = longDuration('--resync', flags.resync, { most: '1d', such: '30s or 2m' })
    const kubeconfig = await loadKubeconfig().then(
      (found) => found.kubeconfig,
      (error) => {
        if (!(error instanceof ClusterError)) throw error
        terminal.stderr.write(`sidecar-first: ${error.message}\n`)
      },
    )
    if (!kubeconfig) return 1
    const { log, flush } = createLog(level)
    const { run } = await import('../../rollouts/run.ts')
    const { namespace, 'waiter-image': waiter } = flags
    await run({ kubeconfig, namespace, lease, resync, waiter, log, signal: interrupted(), metricsPort })
    await flush()
    return 0
  },
}
