import { quote } from '../admission/words/quote.ts'
import type { Checked } from '../check/checks.ts'
import { connect } from '../check/connect.ts'
import { parseSubject } from '../check/pod/subject.ts'
import { namespaceOf } from '../kubernetes/kubeconfig.ts'
import { ignoredCodes, ignoreOption } from '../messages/ignore.ts'
import { type Terminal, UsageError } from '../terminal/command.ts'
import { defineCommand, type Values } from '../terminal/define-command.ts'
import { namespaceName } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { lookOf } from '../terminal/look.ts'
import { createStatusLine } from '../terminal/status-line.ts'

const help = `Examines an installation, or says why one pod was patched or was not.

Usage: sidecar-first check [flags]
       sidecar-first check pod/NAME | deploy/NAME [flags]
                           also sts, ds, rs, job, cronjob

  -n, --namespace NAME  only the pods and rollouts of this namespace; with
                        pod/NAME, the pod's namespace (default: the current
                        one of the kubeconfig)
  --context NAME        kubeconfig context (default: the current one)
  --no-pods             don't create the short-lived pod that tries to pull the
                        waiter's image
  --ignore CODE,...     warnings that aren't told; never problems. Can be
                        repeated
  -o, --output FORMAT   text or json (text)

It exits with 1 if there is a problem; warnings alone don't count.

Example: sidecar-first check
`

const options = {
  namespace: { type: 'string', read: namespaceName, short: 'n' },
  context: { type: 'string' },
  'no-pods': { type: 'boolean', default: false },
  output: { type: 'string', short: 'o', choices: ['text', 'json'], default: 'text' },
  ...ignoreOption,
} as const

type Flags = Values<typeof options>

export const check = defineCommand({
  help,
  options,
  names: 'pods',
  async run(flags, [subject, ...others], terminal) {
    if (others.length > 0) throw new UsageError('wrong-arguments', 'check takes one pod/NAME, or none')
    const ignored = await ignoredCodes(flags.ignore)
    const stop = interrupted()
    const all = subject === undefined ? await everything(flags, terminal, stop) : await one(subject, flags)
    const checked = withoutIgnored(all, ignored)
    const { hasProblem, jsonReport, textReport } = await import('../check/report.ts')
    terminal.stdout.write(
      flags.output === 'json' ? jsonReport(checked) : textReport(checked, lookOf(terminal, process.env)),
    )
    return hasProblem(checked) || stop.aborted ? 1 : 0
  },
})

/** Without the warnings of these codes. */
function withoutIgnored(checked: readonly Checked[], ignored: ReadonlySet<string>): readonly Checked[] {
  const isHeard = ({ level, code }: Checked['findings'][number]) => level !== 'warning' || !ignored.has(code)
  return checked.map(({ name, findings }) => ({ name, findings: findings.filter(isHeard) }))
}

async function one(subject: string, flags: Flags): Promise<readonly Checked[]> {
  const found = parseSubject(subject)
  if (!found) throw new UsageError('wrong-arguments', `check takes pod/NAME or deploy/NAME, not ${quote(subject)}`)
  const { kubeconfig, ...cluster } = await connect(flags.context)
  const { examineOne } = await import('../check/pod/one.ts')
  const namespace = flags.namespace ?? namespaceOf(kubeconfig)
  const findings = await examineOne(cluster, { ...found, namespace })
  return [{ name: `${namespace}/${found.name}`, findings }]
}

async function everything(flags: Flags, terminal: Terminal, signal: AbortSignal): Promise<readonly Checked[]> {
  const site = await connect(flags.context)
  // With a wrong token, or none, "no problems" would be a lie.
  const { configuration, ...others } = site.installed
  if (!configuration.ok && Object.values(others).every(({ ok }) => !ok)) throw configuration.error
  const { runChecks } = await import('../check/checks.ts')
  const progress = createStatusLine(terminal.stderr)
  try {
    return await runChecks({ ...site, only: flags.namespace, pods: !flags['no-pods'], signal, progress: progress.say })
  } finally {
    progress.end()
  }
}
