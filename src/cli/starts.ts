import { parseArgs } from 'node:util'
import { durationRange } from '../admission/check/duration.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import type { Command, ExitCode } from '../terminal/command.ts'
import { duration, runAlone } from '../terminal/flag.ts'
import { runFlags, untilStopped } from '../terminal/until-stopped.ts'

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
${runFlags.help.metrics}
${runFlags.help.log}

Example: sidecar-first starts run --metrics-port 0
`

const options = {
  context: { type: 'string' },
  'without-namespaces': { type: 'boolean', default: false },
  state: { type: 'string' },
  resync: { type: 'string', default: '10m' },
  ...runFlags.options,
} as const

export const starts: Command = {
  help,
  options,
  names: ['run'],
  choices: runFlags.choices,
  async run(args): Promise<ExitCode> {
    const { values: flags, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    runAlone(positionals)
    const resync = duration('--resync', flags.resync, durationRange('10s', '1d'))
    const { state, 'without-namespaces': without } = flags
    return await untilStopped(flags, async (running) => {
      const { kubeconfig } = await loadKubeconfig(flags.context)
      const { runExporter } = await import('../starts/exporter.ts')
      await runExporter({ kubeconfig, resync, namespaces: !without, state, ...running })
    })
  },
}
