import type { ParseArgsOptionsConfig } from 'node:util'
import { quote } from '../admission/words/quote.ts'
import { UsageError } from '../terminal/command.ts'

/** Of several commands. */
export const ignoreOption = {
  ignore: { type: 'string', multiple: true, default: [] },
} as const satisfies ParseArgsOptionsConfig
export const ignoreHelp = `  --ignore CODE,...     warnings and notes that aren't told; never refusals or
                        problems. Can be repeated`

const grades = { refusal: 'a refusal', problem: 'a problem', ok: 'no warning' } as const

/** The codes of `--ignore`. All that is said is only loaded where one is named. @throws UsageError that names one that nobody can ignore */
export async function ignoredCodes(flags: readonly string[]): Promise<ReadonlySet<string>> {
  if (flags.length === 0) return new Set()
  const { catalogue } = await import('./catalogue.ts')
  const codes = flags.flatMap((flag) => flag.split(',')).map((code) => code.trim().toUpperCase())
  for (const code of codes) {
    const found = catalogue.find((each) => each.code === code)
    if (found === undefined) throw new UsageError('flag-value', `--ignore: no message has the code ${quote(code)}`)
    if (found.grade !== 'warning' && found.grade !== 'note')
      throw new UsageError('flag-value', `--ignore: ${code} is ${grades[found.grade]}, which can't be ignored`)
  }
  return new Set(codes)
}

/** What is left to be told. */
export const heard = <T extends { readonly code: string }>(said: readonly T[], ignored: ReadonlySet<string>) =>
  said.filter(({ code }) => !ignored.has(code))
