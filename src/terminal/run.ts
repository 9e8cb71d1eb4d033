import { nearest } from '../admission/words/nearest.ts'
import { type Command, type ExitCode, ExpectedError, type Terminal, UsageError } from './command.ts'
import type { Failure } from './failures.ts'
import { harmless } from './look.ts'

/** Runs a command. The one place that turns an expected error into a message and an exit code; any other error is a bug and is thrown on. */
export async function runCommand(
  name: string,
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  try {
    return await command.run(args, terminal)
  } catch (error) {
    const expected = error instanceof ExpectedError ? error : wrongFlag(error, command)
    if (expected === undefined) throw error
    // It may quote what anyone has written: an object's name, an answer of the API server.
    terminal.stderr.write(harmless(expected.told(name)))
    return expected.exitCode
  }
}

const parseFailures: Partial<Record<string, Failure>> = {
  ERR_PARSE_ARGS_INVALID_OPTION_VALUE: 'flag-value',
  ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL: 'wrong-arguments',
}

/** What node:util's parseArgs throws. Its advice on values that begin with a dash doesn't apply here. */
function wrongFlag(error: unknown, { help }: Command): UsageError | undefined {
  if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))) return undefined
  const [message = ''] = error.message.split(/\n|\. To specify /)
  const [, flag] = /^Unknown option '(--[^']+)'/.exec(message) ?? []
  const hint = flag === undefined ? '' : didYouMean(flag, help.match(/--[a-z][a-z-]+/g) ?? [])
  return new UsageError(parseFailures[String(error.code)] ?? 'unknown-flag', message + hint)
}

/** `; did you mean X?`, or nothing. */
export function didYouMean(text: string, choices: readonly string[]): string {
  const near = nearest(text, choices)
  return near === undefined ? '' : `; did you mean ${near}?`
}
