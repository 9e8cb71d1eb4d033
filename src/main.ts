#!/usr/bin/env node
// No static imports: an old Node must get as far as the line that says what is wrong, and a command loads only what it needs.
import type { Command, ExitCode } from './terminal/command.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`sidecar-first needs Node.js 22.19 or newer; this is ${process.versions.node}\n`)
  process.exit(1)
}

const commands: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>> = {
  serve: {
    summary: 'answer admission requests and previews',
    load: () => import('./cli/serve.ts').then(({ serve }) => serve),
  },
  preview: {
    summary: 'show what the webhook would do to manifests, without a cluster',
    load: () => import('./cli/preview.ts').then(({ preview }) => preview),
  },
  inject: {
    summary: 'print the patched manifests',
    load: () => import('./cli/inject.ts').then(({ inject }) => inject),
  },
  install: {
    summary: 'print or apply the manifests, and wait until a pod has been patched',
    load: () => import('./cli/install.ts').then(({ install }) => install),
  },
  uninstall: {
    summary: 'remove it from a cluster, the webhook configurations first',
    load: () => import('./cli/uninstall.ts').then(({ uninstall }) => uninstall),
  },
  check: {
    summary: 'examine an installation, or why a pod was patched or was not',
    load: () => import('./cli/check.ts').then(({ check }) => check),
  },
  timeline: {
    summary: "show a pod's start as a chart: what waited for what, and how long",
    load: () => import('./cli/timeline.ts').then(({ timeline }) => timeline),
  },
  rollout: {
    summary: 'upgrade a sidecar in place, a few pods at a time',
    load: () => import('./cli/rollout.ts').then(({ rollout }) => rollout),
  },
  rollouts: {
    summary: 'run the controller behind rollout',
    load: () => import('./cli/rollouts.ts').then(({ rollouts }) => rollouts),
  },
  certs: {
    summary: "keep the webhook's certificate and caBundle valid",
    load: () => import('./cli/certs.ts').then(({ certs }) => certs),
  },
  explain: {
    summary: 'say what the code of a message means, and what to do',
    load: () => import('./cli/explain.ts').then(({ explain }) => explain),
  },
  config: {
    summary: 'check a configuration file, print its webhook configurations',
    load: () => import('./cli/config.ts').then(({ config }) => config),
  },
}

const help = `Makes a pod's sidecars ready before its app starts.

Usage: sidecar-first COMMAND [flags]

${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)}${summary}\n`)
  .join('')}
  --help, --version; each command has its own --help
`

async function main([name, ...args]: readonly string[]): Promise<ExitCode> {
  const { stdin, stdout, stderr } = process
  if (name === 'help' && args[0] !== undefined) return await main([args[0], '--help'])
  if (name === '--help' || name === '-h' || name === 'help') {
    stdout.write(help)
    return 0
  }
  if (name === '--version') {
    const { version } = await import('./version.ts')
    stdout.write(`${version}\n`)
    return 0
  }
  if (name === undefined) {
    stderr.write(help)
    return 2
  }
  const found = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (found === undefined) {
    const { quote } = await import('./admission/words/quote.ts')
    const { didYouMean } = await import('./terminal/run.ts')
    const hint = didYouMean(name, [...Object.keys(commands), '--version', '--help'])
    stderr.write(`sidecar-first: unknown command ${quote(name)}${hint}\nSee sidecar-first --help\n`)
    return 2
  }
  const command = await found.load()
  if (args.includes('--help') || args.includes('-h')) {
    stdout.write(command.help)
    return 0
  }
  const { runCommand } = await import('./terminal/run.ts')
  const color = stdout.isTTY === true && !process.env.NO_COLOR
  return await runCommand(name, command, args, { stdin, stdout, stderr, color })
}

// `sidecar-first preview | head`: the reader closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

main(process.argv.slice(2)).then(
  // Only once all output is written.
  (code) => process.stdout.write('', () => process.exit(code)),
  (error) => {
    process.stderr.write(`sidecar-first: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  },
)
