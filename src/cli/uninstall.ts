import { createInterface } from 'node:readline/promises'
import { connect } from '../install/connect.ts'
import { ownNamespace } from '../install/namespace.ts'
import { findInstalled, rehearse, uninstall as remove } from '../install/uninstall.ts'
import { objectKeys } from '../kubernetes/names.ts'
import { ExpectedError, type Terminal } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'
import { duration } from '../terminal/flag.ts'
import { interrupted } from '../terminal/interrupted.ts'
import { createProgress } from '../terminal/progress.ts'

const help = `Removes what install has put into a cluster: first the webhook configurations,
then the pods, the namespace last.

Usage: sidecar-first uninstall [flags]

  --context NAME        kubeconfig context (default: the current one)
  -n, --namespace NAME  where it runs (default: where the webhook configurations
                        say)
  --keep-namespace      keep the namespace and what others have put into it
  --crds                also remove the kind SidecarRollout, and with it all
                        rollouts
  --dry-run             only say what would be removed
  --yes                 don't ask; without a terminal it never asks
  --timeout DURATION    how long to wait (5m)

Running pods stay as they are. If nothing is installed, it exits with 0.

Example: sidecar-first uninstall --context staging --yes
`

const options = {
  context: { type: 'string' },
  namespace: { type: 'string', read: ownNamespace, short: 'n' },
  'keep-namespace': { type: 'boolean', default: false },
  crds: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  yes: { type: 'boolean', default: false },
  timeout: { type: 'string', read: duration, default: '5m' },
} as const

export const uninstall = defineCommand({
  help,
  options,
  async run(flags, _, terminal) {
    const { objects, context, server } = await connect(flags.context)
    const installed = await findInstalled(objects, flags.namespace)
    if (installed.found.length === 0) {
      terminal.stdout.write(`${context}, ${server}: sidecar-first is not installed\n`)
      return 0
    }
    const where = `from ${context}, ${server}, namespace ${installed.namespace}`
    if (flags['dry-run']) {
      const choices = { objects, keepNamespace: flags['keep-namespace'], definitions: flags.crds }
      const lines = await rehearse(installed, choices)
      terminal.stdout.write(
        `This would remove sidecar-first ${where}:\n${lines.map((line) => `  ${line}\n`).join('')}Nothing was removed\n`,
      )
      return 0
    }
    if (!flags.yes && !(await agrees(`Remove sidecar-first ${where}?`, terminal))) {
      throw new ExpectedError('declined', 'nothing was removed')
    }
    terminal.stdout.write(`Removing sidecar-first ${where}\n`)
    await remove(installed, {
      objects,
      progress: createProgress(terminal.stdout),
      keepNamespace: flags['keep-namespace'],
      definitions: flags.crds,
      signal: AbortSignal.any([AbortSignal.timeout(flags.timeout), interrupted()]),
    })
    const labelSelector = objectKeys.injection
    const labelled = await objects.list({ apiVersion: 'v1', kind: 'Namespace' }, { labelSelector })
    const names = labelled.map(({ metadata }) => metadata?.name).join(', ')
    terminal.stdout.write('Done. Running pods keep what they have; those made from now on start in their own order.\n')
    if (names !== '') terminal.stdout.write(`These namespaces keep the label ${labelSelector}: ${names}\n`)
    return 0
  },
})

/** Asks the person at the terminal; without one, the call itself is consent. */
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
