import { parseArgs } from 'node:util'
import type { Checked } from '../check/checks.ts'
import type { Level } from '../check/finding.ts'
import { type ClusterError, failureKind } from '../kubernetes/failure.ts'
import { loadKubeconfig } from '../kubernetes/kubeconfig.ts'
import { version } from '../version.ts'
import { type Command, type ExitCode, type Terminal, UsageError } from './command.ts'
import { lookOf, type Style, styled } from './look.ts'

const help = `Examines what is installed in a cluster, or says why one pod was patched or wasn't.

Usage: sidecar-first check [flags]
       sidecar-first check pod/NAME | deploy/NAME [flags]      also sts, ds, job, cronjob

  -n, --namespace NAME  where the webhook runs (as its webhook configuration says); with pod/NAME, the pod's namespace
                        (the kubeconfig's)
  --context NAME        of the kubeconfig
  --no-pods             don't create the short-lived pod that tries to pull the waiter's image
  -o, --output FORMAT   text or json (text)

It ends with 1 where there is a problem; a warning alone is no problem.

Example: sidecar-first check
`

const options = {
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  'no-pods': { type: 'boolean', default: false },
  output: { type: 'string', short: 'o', default: 'text' },
} as const

export const check: Command = {
  help,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const { output, context } = values
    if (output !== 'text' && output !== 'json') throw new UsageError('--output takes text or json')
    if (positionals.length > 1) throw new UsageError('check takes one pod/NAME, or none')
    const { kubeconfig } = await loadKubeconfig(context)
    const { connection } = await import('../kubernetes/connection.ts')
    const { objects: objectsOf } = await import('../kubernetes/objects.ts')
    const { readInstalled } = await import('../check/site.ts')
    const objects = objectsOf(connection(kubeconfig))
    const [subject] = positionals
    const { installed, namespace } = await readInstalled(
      objects,
      subject === undefined ? values.namespace : undefined,
      version,
    )
    // Who can't be reached answers nothing else either.
    const silent = [installed.mutating, installed.configuration].find((each) => !each.ok && unreachable(each.error))
    if (silent?.ok === false) {
      terminal.stderr.write(`sidecar-first check: ${silent.error.message}\n`)
      return 1
    }
    const report = (checked: readonly Checked[]) => {
      terminal.stdout.write(output === 'json' ? json(checked) : text(checked, terminal))
      return checked.some(({ findings }) => findings.some(({ level }) => level === 'problem')) ? 1 : 0
    }
    const progress = createProgress(terminal)
    const stop = new AbortController()
    const interrupt = () => stop.abort()
    process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
    try {
      const { runChecks } = await import('../check/checks.ts')
      const pods = !values['no-pods']
      const site = { objects, kubeconfig, namespace, installed, pods, signal: stop.signal, progress: progress.say }
      const checked = await runChecks(site)
      progress.end()
      const code: ExitCode = report(checked)
      return stop.signal.aborted ? 1 : code
    } finally {
      progress.end()
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    }
  },
}

const unreachable = (error: ClusterError) => ['network', 'timeout'].includes(failureKind(error))

/** One line that is written over, on a terminal alone. */
function createProgress({ stderr }: Terminal): { say: (what: string) => void; end: () => void } {
  const shown = 'isTTY' in stderr && stderr.isTTY === true
  const columns = 'columns' in stderr && typeof stderr.columns === 'number' ? stderr.columns : 80
  let open = false
  return {
    say(what) {
      if (!shown) return
      stderr.write(`\r\u001b[K${what.slice(0, columns - 1)}`)
      open = true
    },
    end() {
      if (open) stderr.write('\r\u001b[K')
      open = false
    },
  }
}

const styles: Record<Level, Style> = { ok: 'green', warning: 'yellow', problem: 'red' }

function text(checked: readonly Checked[], terminal: Terminal): string {
  const look = lookOf(terminal, process.env)
  const width = Math.max(...checked.map(({ name }) => name.length))
  const lines = checked.flatMap(({ name, findings }) =>
    findings.flatMap(({ level, text, next }, index) => {
      const head = `${styled(look, styles[level], level.padEnd(8))} ${(index === 0 ? name : '').padEnd(width)}  `
      const indent = ' '.repeat(width + 11)
      return [`${head}${text}\n`, ...(next === undefined ? [] : [`${indent}${look.unicode ? '→' : '->'} ${next}\n`])]
    }),
  )
  const count = (level: Level) =>
    checked.flatMap(({ findings }) => findings).filter((each) => each.level === level).length
  const amount = (number: number, what: string) => `${number === 0 ? 'no' : number} ${what}${number === 1 ? '' : 's'}`
  return `${lines.join('')}\n${amount(count('problem'), 'problem')}, ${amount(count('warning'), 'warning')}\n`
}

function json(checked: readonly Checked[]): string {
  const findings = checked.flatMap(({ name, findings }) =>
    findings.map(({ level, text, next }) => ({ check: name, level, text, next })),
  )
  return `${JSON.stringify({ findings }, null, 2)}\n`
}
