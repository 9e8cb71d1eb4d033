import { faultCode, remarkText } from '../configuration/faults.ts'
import { readConfiguration } from '../configuration/read.ts'
import { FileError, readInputs } from '../files/files.ts'
import { endpoint, objectKeys, objectNames } from '../kubernetes/names.ts'
import { heard, ignoredCodes, ignoreHelp, ignoreOption } from '../messages/ignore.ts'
import { UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { namespaceName } from '../terminal/flag.ts'
import { version } from '../version.ts'
import { chartValues } from '../webhooks/chart-values.ts'
import { installModes, webhookConfigurations, webhookYaml } from '../webhooks/configurations.ts'

const help = `Checks a configuration file: every problem with its line and column, and which
rules hide others.

Usage: sidecar-first config [flags] FILE        - is standard input

  --webhooks            print the webhook configurations that go with it, for
                        kubectl apply --server-side -f -
  --helm                print the values for the Helm chart: the configuration
                        and the webhooks that go with it
  --mode MODE           namespace-opt-in (default): namespaces labelled
                        ${objectKeys.injection}: enabled; pods
                        there that ask are refused during an outage.
                        cluster-wide: all namespaces but those labelled
                        disabled; pods start unpatched during an outage
  --namespace NAME      where the webhook and its Service sidecar-first are
                        (${objectNames.namespace})
${ignoreHelp}

It exits with 1 if there is a problem. The webhook configurations have no
caBundle: sidecar-first certs writes it.

Example:
sidecar-first config --webhooks - <<'EOF'
apiVersion: sidecar-first.dev/v1
kind: Configuration
defaults:
  timeout: 90s
EOF
`

const options = {
  webhooks: { type: 'boolean', default: false },
  helm: { type: 'boolean', default: false },
  mode: { type: 'string', choices: installModes, default: 'namespace-opt-in' },
  namespace: { type: 'string', read: namespaceName, default: objectNames.namespace },
  ...ignoreOption,
} as const

export const config = defineCommand({
  help,
  options,
  names: 'files',
  async run({ namespace, mode, webhooks, helm, ignore }, words, terminal) {
    if (helm && webhooks) throw new UsageError('flags-together', '--webhooks and --helm exclude each other')
    if (words.length !== 1) throw new UsageError('wrong-arguments', 'name one configuration file')
    const ignored = await ignoredCodes(ignore)
    const [file] = await readInputs(words, terminal)
    if (file === undefined) return 0

    const read = readConfiguration(file.text, version)
    if (!read.ok) throw new FileError(read.problems.map((problem) => remarkText(file.name, problem)))
    const { configuration, notices } = read
    const remarks = notices.filter(({ fault }) => !ignored.has(faultCode(fault)))
    for (const notice of remarks) terminal.stderr.write(`${remarkText(file.name, notice)}\n`)
    const where = { mode, namespace, endpoint }
    const made = webhookConfigurations(configuration, file.text, where)
    for (const { code, text } of heard(made.notices, ignored)) terminal.stderr.write(`${file.name}: ${code} ${text}\n`)
    const count = configuration.rules.rules.length
    const sound = `${file.name}: no problem, ${count} ${count === 1 ? 'rule' : 'rules'}\n`
    terminal.stdout.write(webhooks ? webhookYaml(made) : helm ? chartValues(configuration, file.text, where) : sound)
    return 0
  },
})
