import { parseArgs } from 'node:util'
import { durationRange } from '../admission/check/duration.ts'
import { defaultConfiguration } from '../admission/intent/configuration.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { objectNames } from '../kubernetes/names.ts'
import { createLog, levels } from '../server/log.ts'
import type { Command, ExitCode } from '../terminal/command.ts'
import { duration, oneOf, port, runAlone } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { version } from '../version.ts'

const waiterImage = defaultConfiguration(version).waiter.image

const help = `The controller of sidecar-first rollout: upgrades sidecars of running pods in
place, as SidecarRollout resources say.

Usage: sidecar-first rollouts run [flags]

  run                   run until stopped; of several replicas, one leads

  --namespace NAME      where the Lease is (${objectNames.namespace})
  --lease DURATION      how long a leader may be silent (15s)
  --resync DURATION     how often to list everything again, whatever the watches
                        say (2m); one time in five while no rollout is under
                        way
  --waiter-image IMAGE  the image of the short-lived pods that make a node pull
                        an image (${waiterImage})
  --metrics-port PORT   metrics and health over HTTP (8080); 0 picks a free port
  --log-level LEVEL     ${levels.join(', ')} (info)

Example: sidecar-first rollouts run --metrics-port 0
`

const options = {
  namespace: { type: 'string', default: objectNames.namespace },
  lease: { type: 'string', default: '15s' },
  resync: { type: 'string', default: '2m' },
  'waiter-image': { type: 'string', default: waiterImage },
  'metrics-port': { type: 'string', default: '8080' },
  'log-level': { type: 'string', default: 'info' },
} as const

export const rollouts: Command = {
  help,
  options,
  names: ['run'],
  choices: { 'log-level': levels },
  async run(args): Promise<ExitCode> {
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    runAlone(positionals)
    const metricsPort = port('--metrics-port', flags['metrics-port'])
    const level = oneOf('--log-level', flags['log-level'], levels)
    const range = durationRange('1s', '1d')
    const lease = duration('--lease', flags.lease, range)
    const resync = duration('--resync', flags.resync, range)
    const { kubeconfig } = await loadKubeconfig()
    const { log, flush } = createLog(level)
    const { run } = await import('../../rollouts/controller/run.ts')
    const { namespace, 'waiter-image': waiter } = flags
    await run({ kubeconfig, namespace, lease, resync, waiter, log, signal: interrupted(), metricsPort })
    await flush()
    return 0
  },
}
