import { parseArgs } from 'node:util'
import { durationRange } from '../admission/check/duration.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { createLog, levels } from '../server/log.ts'
import type { Command, ExitCode } from '../terminal/command.ts'
import { duration, oneOf, port, runAlone } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'

const help = `An exporter: counts how the pods of a cluster start, for Prometheus. It reads
pods and events, and changes nothing.

Usage: sidecar-first starts run [flags]

  run                   run until stopped; one replica, since two count twice

  --context NAME        kubeconfig context (default: the current one)
  --without-namespaces  count for the whole cluster, without a label for each
                        namespace
  --state FILE          where to keep what has been counted, so that a restart
                        counts nothing twice and leaves nothing out
  --resync DURATION     how often to list all pods again, whatever the watch
                        says (10m)
  --metrics-port PORT   metrics and health over HTTP (8080); 0 picks a free port
  --log-level LEVEL     ${levels.join(', ')} (info)

Example: sidecar-first starts run --metrics-port 0
`

const options = {
  context: { type: 'string' },
  'without-namespaces': { type: 'boolean', default: false },
  state: { type: 'string' },
  resync: { type: 'string', default: '10m' },
  'metrics-port': { type: 'string', default: '8080' },
  'log-level': { type: 'string', default: 'info' },
} as const

export const starts: Command = {
  help,
  options,
  names: ['run'],
  choices: { 'log-level': levels },
  async run(args): Promise<ExitCode> {
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    runAlone(positionals)
    const metricsPort = port('--metrics-port', flags['metrics-port'])
    const level = oneOf('--log-level', flags['log-level'], levels)
    const resync = duration('--resync', flags.resync, durationRange('10s', '1d'))
    const { kubeconfig } = await loadKubeconfig(flags.context)
    const { log, flush } = createLog(level)
    const { run } = await import('../starts/run.ts')
    const { state, 'without-namespaces': without } = flags
    await run({ kubeconfig, resync, namespaces: !without, state, log, signal: interrupted(), metricsPort })
    await flush()
    return 0
  },
}
