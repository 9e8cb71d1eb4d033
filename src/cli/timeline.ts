import type { V1Pod } from '@kubernetes/client-node'
import { quote } from '../admission/words/quote.ts'
import { parseSubject } from '../check/pod/subject.ts'
import { createClock } from '../kubernetes/clock.ts'
import { loadKubeconfig, namespaceOf } from '../kubernetes/kubeconfig.ts'
import { ExpectedError, UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { namespaceName } from '../terminal/flag.ts'
import { lookOf } from '../terminal/look.ts'
import { createStatusLine, waitOut } from '../terminal/status-line.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { version } from '../version.ts'

const help = `Shows a pod's start as a chart: when each container started, and what the app
waited for. Of a workload it shows the starts of its pods together: the median,
the slowest, and how many were held, too early, stuck or not known.

Usage: sidecar-first timeline pod/NAME [flags]
       sidecar-first timeline deploy/NAME [flags]   (sts/, ds/, rs/, job/)

  -n, --namespace NAME  their namespace (default: the kubeconfig's)
  --context NAME        kubeconfig context (default: the current one)
  -o, --output FORMAT   text, json or html, a page that needs no network (text)

It reads the pods and their events, which a cluster keeps for an hour; after
that, times are exact to the second only. Pods that are being deleted are left
out of a workload's. It exits with 1 if there is nothing of that name.

Example: sidecar-first timeline -n shop pod/web-6ddb87c549-9vlmv
`

const options = {
  namespace: { type: 'string', read: namespaceName, short: 'n' },
  context: { type: 'string' },
  output: { type: 'string', short: 'o', choices: ['text', 'json', 'html'], default: 'text' },
} as const

/** Those of a CronJob are its Jobs'. */
const kinds = ['Pod', 'Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job']

export const timeline = defineCommand({
  help,
  options,
  names: 'pods',
  async run({ context, output, ...flags }, words, terminal) {
    const found = parseSubject(words[0] ?? '')
    if (!found || words.length > 1 || !kinds.includes(found.kind.kind)) {
      const not = words.length > 0 ? `, not ${quote(words.join(' '))}` : ''
      throw new UsageError('wrong-arguments', `name one pod/NAME or deploy/NAME${not}`)
    }
    const { kind, name } = found
    const { kubeconfig } = await loadKubeconfig(context)
    const namespace = flags.namespace ?? namespaceOf(kubeconfig)
    const { connection } = await import('../kubernetes/connection.ts')
    const { now, heard } = createClock()
    const connected = connection(kubeconfig, { heard })
    const look = lookOf(terminal, process.env)
    const write = (text: string) => void terminal.stdout.write(text)
    const missing = () =>
      new ExpectedError(
        'not-there',
        `there is no ${kind.kind.toLowerCase()} ${name} in namespace ${namespace}; name it with -n`,
      )

    if (kind.kind !== 'Pod') {
      const { rawCalls } = await import('../kubernetes/raw.ts')
      const { readStarts } = await import('../timeline/read.ts')
      let expired = false
      const status = createStatusLine(terminal.stderr)
      const calls = rawCalls(connected, { busy: waitOut(status.say) })
      const starts = await readStarts(calls, { ...kind, namespace, name }, now, () => {
        expired = true
      }).finally(status.end)
      if (!starts) throw missing()
      const { together } = await import('../timeline/many.ts')
      const many = together(starts, { kind: kind.kind, namespace, name, expired })
      if (output === 'json') write((await import('../timeline/json.ts')).jsonMany(many))
      else if (output === 'html') write((await import('../timeline/html.ts')).htmlMany(many, { now: now(), version }))
      else write((await import('../timeline/draw-many.ts')).drawMany(many, look))
      return 0
    }
    const single = await readPod(connected, { namespace, name }, now)
    if (!single) throw missing()
    if (output === 'json') write((await import('../timeline/json.ts')).jsonTimeline(single))
    else if (output === 'html') {
      write((await import('../timeline/html.ts')).htmlTimeline(single, { now: now(), version }))
    } else write((await import('../timeline/draw.ts')).drawTimeline(single, look))
    return 0
  },
})

async function readPod(
  connected: ReturnType<typeof import('../kubernetes/connection.ts').connection>,
  metadata: { namespace: string; name: string },
  now: () => number,
): Promise<Timeline | undefined> {
  const { objects: objectsOf } = await import('../kubernetes/objects.ts')
  const { observe } = await import('../seen/observe.ts')
  const { timelineOf } = await import('../timeline/timeline.ts')
  const objects = objectsOf(connected)
  const pod = await objects.read<V1Pod>({ apiVersion: 'v1', kind: 'Pod', metadata })
  return pod && timelineOf(await observe(objects, pod, now))
}
