import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { parseDuration } from '../admission/duration.ts'
import { connect } from '../install/connect.ts'
import { InstallError } from '../install/error.ts'
import { createProgress } from '../install/progress.ts'
import { findInstalled, uninstall as remove } from '../install/uninstall.ts'
import { ClusterError } from '../kubernetes/failure.ts'
import { type Command, type Terminal, UsageError } from './command.ts'
import { interrupted } from './interrupted.ts'
import { checkNamespace } from './namespace.ts'

const help = `Removes what install has put into a cluster: first what calls the pods, then the pods, the namespace last.

Usage: sidecar-first uninstall [flags]

  --context NAME        the kubeconfig's context (default: its current one)
  -n, --namespace NAME  where it runs (default: where the webhook configurations say)
  --keep-namespace      leave the namespace, and what others have put into it
  --crds                also the kind SidecarRollout, and with it all rollouts
  --yes                 don't ask; without a terminal it isn't asked anyhow
  --timeout DURATION    how long to wait (5m, at most 10m)

Running pods keep what they have. Where nothing is installed it ends with 0.

Example: sidecar-first uninstall --context staging --yes
`

const options = {
  context: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  'keep-namespace': { type: 'boolean', default: false },
  crds: { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  timeout: { type: 'string', default: '5m' },
} as const

export const uninstall: Command = {
  help,
  async run(args, terminal) {
    const { values: flags } = parseArgs({ args: [...args], options })
    const timeout = parseDuration(flags.timeout)
    if (!timeout.ok) throw new UsageError(`--timeout: ${timeout.problem}`)
    if (flags.namespace !== undefined) checkNamespace(flags.namespace)
    try {
      const { objects, context, server } = await connect(flags.context)
      const installed = await findInstalled(objects, flags.namespace)
      if (installed.found.length === 0) {
        terminal.stdout.write(`${context}, ${server}: nothing of sidecar-first is there\n`)
        return 0
      }
      const where = `from ${context}, ${server}, namespace ${installed.namespace}`
      if (!flags.yes && !(await agrees(`Remove sidecar-first ${where}?`, terminal))) {
        terminal.stderr.write('Nothing was removed\n')
        return 1
      }
      terminal.stdout.write(`Removing sidecar-first ${where}\n`)
      await remove(installed, {
        objects,
        progress: createProgress(terminal.stdout),
        keepNamespace: flags['keep-namespace'],
        definitions: flags.crds,
        signal: AbortSignal.any([AbortSignal.timeout(timeout.value), interrupted()]),
      })
      const labelSelector = 'sidecar-first.dev/injection'
      const labelled = await objects.list({ apiVersion: 'v1', kind: 'Namespace' }, { labelSelector })
      const names = labelled.map(({ metadata }) => metadata?.name).join(', ')
      terminal.stdout.write(
        'Done. Running pods keep what they have; those made from now on start in their own order.\n',
      )
      if (names !== '') terminal.stdout.write(`These namespaces keep the label ${labelSelector}: ${names}\n`)
      return 0
    } catch (error) {
      if (!(error instanceof InstallError || error instanceof ClusterError)) throw error
      terminal.stderr.write(`sidecar-first: ${error.message}\n`)
      return 1
    }
  },
}

/** Asks whoever sits at the terminal; where nobody does, the call itself is the word. */
async function agrees(question: string, { stdin, stdout }: Terminal): Promise<boolean> {
  const asked = 'isTTY' in stdin && stdin.isTTY === true && 'isTTY' in stdout && stdout.isTTY === true
  if (!asked) return true
  const lines = createInterface({ input: stdin, output: stdout, terminal: false })
  try {
    return /^y(es)?$/i.test(await lines.question(`${question} [y/N] `))
  } finally {
    lines.close()
  }
}
