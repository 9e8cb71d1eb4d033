#!/usr/bin/env node
// No static imports: an old Node must get as far as the line that says what is wrong, and a command loads only what it needs.
import type { ExitCode } from './terminal/command.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(`sidecar-first: SF024 needs Node.js 22.19 or newer; this is ${process.versions.node}\n`)
  process.exit(1)
}

async function main([name, ...args]: readonly string[]): Promise<ExitCode> {
  const { stdin, stdout, stderr } = process
  const { commands, help } = await import('./commands.ts')
  if (name === '__complete') {
    const { complete } = await import('./completion/complete.ts')
    const cluster = () => import('./completion/cluster.ts').then((asked) => asked.cluster)
    stdout.write(await complete(args, commands, cluster))
    return 0
  }
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
    const { failures } = await import('./terminal/failures.ts')
    const { didYouMean } = await import('./terminal/run.ts')
    const hint = didYouMean(name, [...Object.keys(commands), '--version', '--help'])
    stderr.write(
      `sidecar-first: ${failures['unknown-command'].code} unknown command ${quote(name)}${hint}\nSee sidecar-first --help\n`,
    )
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

// kubectl asks a program of this name for what completes its plugin.
const asked = /kubectl_complete-sidecar_first$/.test(process.argv[1] ?? '') ? ['__complete'] : []

main([...asked, ...process.argv.slice(2)]).then(
  // Only once all output is written.
  (code) => process.stdout.write('', () => process.exit(code)),
  (error) => {
    process.stderr.write(`sidecar-first: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  },
)
