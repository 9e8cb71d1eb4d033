import { parseArgs } from 'node:util'
import type { V1Pod } from '@kubernetes/client-node'
import { quote } from '../admission/words/quote.ts'
import { loadKubeconfig, namespaceOf } from '../kubernetes/kubeconfig.ts'
import { type Command, ExpectedError, UsageError } from '../terminal/command.ts'
import { oneOf } from '../terminal/flag.ts'
import { lookOf } from '../terminal/look.ts'

const help = `Shows a pod's start as a chart: when each container started, and what the app
waited for.

Usage: sidecar-first timeline pod/NAME [flags]

  -n, --namespace NAME  the pod's namespace (default: the kubeconfig's)
  --context NAME        kubeconfig context (default: the current one)
  -o, --output FORMAT   text or json (text)

It reads the pod and its events, which a cluster keeps for an hour; after that,
times are exact to the second only. It exits with 1 if there is no such pod.

Example: sidecar-first timeline -n shop pod/web-6ddb87c549-9vlmv
`

const options = {
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  output: { type: 'string', short: 'o', default: 'text' },
} as const

const outputs = ['text', 'json'] as const

export const timeline: Command = {
  help,
  options,
  names: 'pods',
  choices: { output: outputs },
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { context } = values
    const output = oneOf('--output', values.output, outputs)
    const [subject = '', ...others] = positionals
    const name = /^(?:po|pod|pods)\/([a-z0-9][a-z0-9.-]*)$/.exec(subject)?.[1]
    if (name === undefined || others.length > 0)
      throw new UsageError(
        'wrong-arguments',
        `name one pod/NAME${positionals.length ? `, not ${quote(positionals.join(' '))}` : ''}`,
      )
    const { kubeconfig } = await loadKubeconfig(context)
    const namespace = values.namespace ?? namespaceOf(kubeconfig)
    const { connection } = await import('../kubernetes/connection.ts')
    const { objects: objectsOf } = await import('../kubernetes/objects.ts')
    const { observe } = await import('../outcome/observe.ts')
    const { timelineOf } = await import('../timeline/timeline.ts')
    const { waitedFor } = await import('../timeline/waits.ts')
    let now = Date.now()
    const objects = objectsOf(connection(kubeconfig, { heard: (date) => (now = date) }))
    const pod = await objects.read<V1Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace } })
    if (!pod) throw new ExpectedError('not-there', `there is no pod ${name} in namespace ${namespace}; name it with -n`)
    const found = timelineOf({ pod, ...(await observe(objects, pod)), now })
    const waited = waitedFor(found)
    if (output === 'json') {
      const { jsonTimeline } = await import('../timeline/json.ts')
      terminal.stdout.write(jsonTimeline(found, waited))
    } else {
      const { drawTimeline } = await import('../timeline/draw.ts')
      terminal.stdout.write(drawTimeline(found, waited, lookOf(terminal, process.env)))
    }
    return 0
  },
}
