import { parseArgs } from 'node:util'
import { type Shell, shells } from '../completion/shells.ts'
import { type Command, UsageError } from '../terminal/command.ts'

const names = Object.keys(shells) as Shell[]

const help = `Prints what makes a shell complete commands, flags and their values, contexts,
namespaces and pods.

Usage: sidecar-first completion bash | zsh | fish

As a kubectl plugin, kubectl's own completion asks
kubectl_complete-sidecar_first, which the package brings.

Example: source <(sidecar-first completion bash)
`

export const completion: Command = {
  help,
  options: {},
  names,
  async run(args, { stdout }) {
    const { positionals } = parseArgs({ args: [...args], options: {}, allowPositionals: true })
    const shell = names.find((name) => name === positionals[0])
    if (shell === undefined || positionals.length > 1)
      throw new UsageError('wrong-arguments', `name one shell: ${names.join(', ')}`)
    stdout.write(shells[shell])
    return 0
  },
}
