import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { durationWithin, runAlone } from '../terminal/flag.ts'
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
  resync: { type: 'string', read: durationWithin('10s', '1d'), default: '10m' },
  ...runFlags.options,
} as const

export const starts = defineCommand({
  help,
  options,
  names: ['run'],
  async run({ context, resync, state, 'without-namespaces': without, ...flags }, words) {
    runAlone(words)
    return await untilStopped(flags, async (running) => {
      const { kubeconfig } = await loadKubeconfig(context)
      const { runExporter } = await import('../starts/exporter.ts')
      await runExporter({ kubeconfig, resync, namespaces: !without, state, ...running })
    })
  },
})
