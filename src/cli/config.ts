import { parseArgs } from 'node:util'
import { type Remark, readConfiguration } from '../configuration/read.ts'
import { version } from '../version.ts'
import { installModes, webhookConfigurations, webhookYaml } from '../webhooks/configurations.ts'
import { type Command, UsageError } from './command.ts'
import { readInputs } from './files.ts'
import { oneOf } from './flag.ts'
import { checkNamespaceName } from './namespace.ts'

const help = `Checks a configuration file: every problem with its line and column, and what rules take from each other.

Usage: sidecar-first config [flags] FILE        - is standard input

  --webhooks            print the webhook configurations that go with it, for kubectl apply --server-side -f -
  --mode MODE           namespace-opt-in (default): namespaces labelled sidecar-first.dev/injection: enabled, and no pod
                        starts unseen there; cluster-wide: all but those labelled disabled, and pods start in an outage
  --namespace NAME      where the webhook runs, behind the Service sidecar-first (default: sidecar-first)

It ends with 1 where there is a problem. The webhook configurations carry no caBundle: sidecar-first certs writes it.

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
  mode: { type: 'string', default: 'namespace-opt-in' },
  namespace: { type: 'string', default: 'sidecar-first' },
} as const

export const config: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { namespace, webhooks } = values
    const mode = oneOf('--mode', values.mode, installModes)
    checkNamespaceName(namespace)
    if (positionals.length !== 1) throw new UsageError('name one configuration file')
    const [file] = await readInputs(positionals, terminal)
    if (file === undefined) return 0

    const read = readConfiguration(file.text, version)
    if (!read.ok) {
      terminal.stderr.write(read.problems.map((problem) => remark(file.name, problem)).join(''))
      return 1
    }
    const { configuration, notices } = read
    for (const notice of notices) terminal.stderr.write(remark(file.name, notice))
    const endpoint = { service: 'sidecar-first', port: 443 }
    const made = webhookConfigurations(configuration, file.text, { mode, namespace, endpoint })
    for (const notice of made.notices) terminal.stderr.write(`${file.name}: ${notice}\n`)
    const count = configuration.rules.rules.length
    const sound = `${file.name}: no problem, ${count} ${count === 1 ? 'rule' : 'rules'}\n`
    terminal.stdout.write(webhooks ? webhookYaml(made) : sound)
    return 0
  },
}

const remark = (file: string, { line, column, message }: Remark) => `${file}:${line}:${column}: ${message}\n`
