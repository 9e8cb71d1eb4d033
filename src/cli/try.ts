import { quote } from '../admission/words/quote.ts'
import { connect } from '../check/connect.ts'
import { parseSubject } from '../check/pod/subject.ts'
import { namespaceOf } from '../kubernetes/kubeconfig.ts'
import { ExpectedError, UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { containerName, namespaceName } from '../terminal/flag.ts'
import { exact, lookOf } from '../terminal/look.ts'

const help = `Shows what would become of a workload's pods with sidecar-first, and changes
nothing: the verdict on a pod of its template, which the API server dry-runs as
it is and with our patch; the annotations to add; the last real start, beside
the one that would have been; and how many seconds that would cost.

Usage: sidecar-first try deploy/NAME [flags]   (sts, ds, rs, job, cronjob)

  -n, --namespace NAME  its namespace (default: the kubeconfig's)
  --sidecar NAME        containers of this name are sidecars, too, though no
                        preset knows them; can be repeated
  --context NAME        kubeconfig context (default: the current one)
  -o, --output FORMAT   text or json (text)

It needs no installation, but rights: to get the workload, to list its pods and
their events, and to create pods for the dry run. What it may not see it says.
It exits with 1 if a pod would be refused.

Example: sidecar-first try -n shop deploy/web
`

const options = {
  namespace: { type: 'string', read: namespaceName, short: 'n' },
  sidecar: { type: 'string', read: containerName, multiple: true, default: [] as string[] },
  context: { type: 'string' },
  output: { type: 'string', choices: ['text', 'json'], short: 'o', default: 'text' },
} as const

const command = defineCommand({
  help,
  options,
  names: [],
  async run(values, words, terminal) {
    const [subject = '', ...others] = words
    const found = parseSubject(subject)
    if (!found || others.length > 0 || found.kind.kind === 'Pod') {
      const not = words.length > 0 ? `, not ${quote(words.join(' '))}` : ''
      throw new UsageError('wrong-arguments', `name one workload, such as deploy/NAME${not}`)
    }
    const { kubeconfig, ...cluster } = await connect(values.context)
    const { tryWorkload } = await import('../try/try.ts')
    const { tryJson, tryText } = await import('../try/text.ts')
    const { trialText } = await import('../try/words.ts')
    const namespace = values.namespace ?? namespaceOf(kubeconfig)
    const asked = { ...found, namespace, own: new Set(values.sidecar) }
    const tried = await tryWorkload(cluster, asked)
    const kind = found.kind.kind.toLowerCase()
    if (!tried)
      throw new ExpectedError(
        'not-there',
        `there is no ${kind} ${found.name} in namespace ${namespace}; name it with -n`,
      )
    const look = lookOf(terminal, process.env)
    terminal.stdout.write(values.output === 'json' ? exact(tryJson(tried), look) : tryText(tried, look))
    return tried.told.some((each) => trialText(each).level === 'problem') ? 1 : 0
  },
})

// As a word of the language it can only be a name outside.
export { command as try }
