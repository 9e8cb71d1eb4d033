import { quote } from '../admission/words/quote.ts'
import { catalogue, type Listed } from '../messages/catalogue.ts'
import { explained } from '../messages/render.ts'
import { UsageError } from '../terminal/command.ts'
import { defineCommand } from '../terminal/define-command.ts'

const help = `Says what the code of a message means, and what to do about it.

Usage: sidecar-first explain [CODE...]     without a code: lists them all

  -o, --output FORMAT   text or json (text)

Example: sidecar-first explain SF101
`

export const explain = defineCommand({
  help,
  options: { output: { type: 'string', short: 'o', choices: ['text', 'json'], default: 'text' } },
  names: catalogue.map(({ code }) => code),
  async run({ output }, words, { stdout }) {
    const found = words.length === 0 ? catalogue : words.map(find)
    if (output === 'json') stdout.write(`${JSON.stringify(found, null, 2)}\n`)
    else stdout.write(found.map(explained).join('\n'))
    return 0
  },
})

function find(text: string): Listed {
  const found = catalogue.find(({ code }) => code === text.toUpperCase())
  if (found === undefined)
    throw new UsageError('wrong-arguments', `no message has the code ${quote(text)}; codes are like SF101`)
  return found
}
