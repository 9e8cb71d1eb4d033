import { parseArgs } from 'node:util'
import { quote } from '../admission/words/quote.ts'
import { catalogue, type Listed } from '../messages/catalogue.ts'
import { explained } from '../messages/render.ts'
import { type Command, UsageError } from '../terminal/command.ts'
import { oneOf } from '../terminal/flag.ts'

const help = `Says what the code of a message means, and what to do about it.

Usage: sidecar-first explain [CODE...]     without a code: lists them all

  -o, --output FORMAT   text or json (text)

Example: sidecar-first explain SF101
`

const options = { output: { type: 'string', short: 'o', default: 'text' } } as const

const outputs = ['text', 'json'] as const

export const explain: Command = {
  help,
  options,
  names: catalogue.map(({ code }) => code),
  choices: { output: outputs },
  async run(args, { stdout }) {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const output = oneOf('--output', values.output, outputs)
    const found = positionals.length === 0 ? catalogue : positionals.map(find)
    if (output === 'json') stdout.write(`${JSON.stringify(found, null, 2)}\n`)
    else stdout.write(found.map(explained).join('\n'))
    return 0
  },
}

function find(text: string): Listed {
  const found = catalogue.find(({ code }) => code === text.toUpperCase())
  if (found === undefined)
    throw new UsageError('wrong-arguments', `no message has the code ${quote(text)}; codes are like SF101`)
  return found
}
