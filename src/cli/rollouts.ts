import { defaultConfiguration } from '../admission/intent/configuration.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { objectNames } from '../kubernetes/names.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { durationWithin, runAlone } from '../terminal/flag.ts'
import { runFlags, untilStopped } from '../terminal/until-stopped.ts'
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
${runFlags.help.metrics}
${runFlags.help.log}

Example: sidecar-first rollouts run --metrics-port 0
`

const range = durationWithin('1s', '1d')
const options = {
  namespace: { type: 'string', default: objectNames.namespace },
  lease: { type: 'string', read: range, default: '15s' },
  resync: { type: 'string', read: range, default: '2m' },
  'waiter-image': { type: 'string', default: waiterImage },
  ...runFlags.options,
} as const

export const rollouts = defineCommand({
  help,
  options,
  names: ['run'],
  async run({ namespace, lease, resync, 'waiter-image': waiter, ...flags }, words) {
    runAlone(words)
    return await untilStopped(flags, async (running) => {
      const { kubeconfig } = await loadKubeconfig()
      const { run } = await import('../../rollouts/controller/run.ts')
      await run({ kubeconfig, namespace, lease, resync, waiter, ...running })
    })
  },
})
