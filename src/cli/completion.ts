import { type Shell, shells } from '../completion/shells.ts'
import { UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'

const names = Object.keys(shells) as Shell[]

const help = `Prints what makes a shell complete commands, flags and their values, contexts,
namespaces and pods.

Usage: sidecar-first completion bash | zsh | fish

As a kubectl plugin, kubectl's own completion asks
kubectl_complete-sidecar_first, which the package brings.

Example: source <(sidecar-first completion bash)
`

export const completion = defineCommand({
  help,
  options: {},
  names,
  async run(_, [word, ...others], { stdout }) {
    const shell = names.find((name) => name === word)
    if (shell === undefined || others.length > 0)
      throw new UsageError('wrong-arguments', `name one shell: ${names.join(', ')}`)
    stdout.write(shells[shell])
    return 0
  },
})
