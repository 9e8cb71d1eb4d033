import { parseArgs } from 'node:util'
import type { Command, ExitCode, Flag, Terminal } from './command.ts'
import { oneOf } from './flag.ts'

type Options = Command['options']

type Parsed<O extends Options> = ReturnType<typeof parseArgs<{ options: O }>>['values']
type Read<F> = F extends { readonly read: (flag: string, text: string) => infer T }
  ? T
  : F extends { readonly choices: readonly (infer T)[] }
    ? T
    : string
type With<T, V> = V extends readonly string[] ? readonly T[] : V extends string ? T : V

/** The values of a command's flags, checked and read. */
export type Values<O extends Options> = { readonly [F in keyof O & keyof Parsed<O>]: With<Read<O[F]>, Parsed<O>[F]> }

interface Definition<O extends Options> extends Pick<Command, 'help' | 'names'> {
  readonly options: O
  /** @param words what stands without a flag; none where nothing is named */
  run(flags: Values<O>, words: readonly string[], terminal: Terminal): Promise<ExitCode>
}

/** A command that runs only once each of its flags has a value that it takes. */
export function defineCommand<const O extends Options>({ run, ...command }: Definition<O>): Command {
  const { options, names } = command
  return {
    ...command,
    async run(args, terminal) {
      const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: names !== undefined })
      const read = Object.entries(options).map(([flag, how]) => {
        const one = (text: unknown) => (typeof text === 'string' ? readOne(`--${flag}`, how, text) : text)
        const value = (values as Record<string, unknown>)[flag]
        return [flag, Array.isArray(value) ? value.map(one) : one(value)]
      })
      return await run(Object.fromEntries(read) as Values<O>, positionals, terminal)
    },
  }
}

function readOne(flag: string, { choices, read }: Flag, text: string): unknown {
  if (read !== undefined) return read(flag, text)
  return choices === undefined ? text : oneOf(flag, text, choices)
}
