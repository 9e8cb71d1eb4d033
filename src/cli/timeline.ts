import type { V1Pod } from '@kubernetes/client-node'
import { quote } from '../admission/words/quote.ts'
import { parseSubject } from '../check/pod/subject.ts'
import type { Made } from '../html/report.ts'
import { createClock } from '../kubernetes/clock.ts'
import { loadKubeconfig, namespaceOf } from '../kubernetes/kubeconfig.ts'
import { observe } from '../seen/observe.ts'
import { ExpectedError, UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { namespaceName } from '../terminal/flag.ts'
import { type Look, lookOf } from '../terminal/look.ts'
import { createStatusLine, waitOut } from '../terminal/status-line.ts'
import { drawTimeline } from '../timeline/draw.ts'
import { drawMany } from '../timeline/draw-many.ts'
import { htmlMany, htmlTimeline } from '../timeline/html.ts'
import { jsonMany, jsonTimeline } from '../timeline/json.ts'
import type { Many } from '../timeline/many.ts'
import { readStarts } from '../timeline/read.ts'
import { type Timeline, timelineOf } from '../timeline/timeline.ts'
import { version } from '../version.ts'

const help = `Shows a pod's start as a chart: when each container started, and what the app
waited for. Of a workload it shows the starts of its pods together: the median,
the slowest, and how many were held, too early, stuck or not known.

Usage: sidecar-first timeline pod/NAME [flags]
       sidecar-first timeline deploy/NAME [flags]   (sts/, ds/, rs/, job/)

  -n, --namespace NAME  their namespace (default: the kubeconfig's)
  --context NAME        kubeconfig context (default: the current one)
  -o, --output FORMAT   text, json or html, a page that needs no network (text)

It reads the pods and their events, which a cluster keeps for an hour (after
that, times are exact to the second only), and the configuration, whose rules
may name sidecars. Pods that are being deleted are left out of a workload's. It
exits with 1 if there is nothing of that name.

Example: sidecar-first timeline -n shop pod/web-6ddb87c549-9vlmv
`

const options = {
  namespace: { type: 'string', read: namespaceName, short: 'n' },
  context: { type: 'string' },
  output: { type: 'string', short: 'o', choices: ['text', 'json', 'html'], default: 'text' },
} as const

type Output = Values<typeof options>['output']

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
    const { objects: objectsOf } = await import('../kubernetes/objects.ts')
    const { sidecarsFor } = await import('../check/pod/circumstances.ts')
    const { now, heard } = createClock()
    const status = createStatusLine(terminal.stderr)
    const objects = objectsOf(connection(kubeconfig, { heard }), { busy: waitOut(status.say) })
    try {
      const object = await objects.read({ ...kind, metadata: { name, namespace } })
      if (!object)
        throw new ExpectedError(
          'not-there',
          `there is no ${kind.kind.toLowerCase()} ${name} in namespace ${namespace}; name it with -n`,
        )
      const { sidecars, unread } = await sidecarsFor({ object, kind, namespace }, { objects, version })
      const shown = { look: lookOf(terminal, process.env), version, now: now() }
      const text =
        kind.kind === 'Pod'
          ? ofPod[output](timelineOf(await observe(objects, object as V1Pod, now), sidecars), shown)
          : ofWorkload[output](await readStarts(objects, { kind: kind.kind, object }, now, sidecars), shown)
      status.end()
      if (unread) terminal.stderr.write(`${unread.code} ${unread.text}\n`)
      terminal.stdout.write(text)
      return 0
    } finally {
      status.end()
    }
  },
})

type Shown = Made & { readonly look: Look }

const ofPod: Record<Output, (timeline: Timeline, shown: Shown) => string> = {
  text: (timeline, { look }) => drawTimeline(timeline, look),
  json: jsonTimeline,
  html: htmlTimeline,
}
const ofWorkload: Record<Output, (many: Many, shown: Shown) => string> = {
  text: (many, { look }) => drawMany(many, look),
  json: jsonMany,
  html: htmlMany,
}
