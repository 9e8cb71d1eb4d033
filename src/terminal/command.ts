import type { Readable, Writable } from 'node:stream'
import type { ParseArgsOptionDescriptor } from 'node:util'
import { type Failure, failures } from './failures.ts'

/** The streams a command reads and writes. `color`: only ever true on a terminal. */
export interface Terminal {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly color: boolean
}

/** 0: done; 1: refused, failed or incomplete; 2: wrong call. */
export type ExitCode = 0 | 1 | 2

/** A flag as `parseArgs` takes it, and what it takes: what `read` can make something of, or else one of its choices. */
export interface Flag extends ParseArgsOptionDescriptor {
  /** For completion, too. */
  readonly choices?: readonly string[]
  /** @throws UsageError that names the flag */
  readonly read?: (flag: string, text: string) => unknown
}

/** A subcommand of `sidecar-first`. Each has its own file, which is loaded only when it is called. */
export interface Command {
  /** `--help`: what it does, its flags, an example that works when pasted. */
  readonly help: string
  readonly options: Readonly<Record<string, Flag>>
  /** What stands without a flag, for completion. Contexts, namespaces and files are known by their flags. */
  readonly names?: 'pods' | 'files' | readonly string[]
  /** Takes the words after the command's name. Returns or throws; only main.ts ends the process. @throws ExpectedError */
  run(args: readonly string[], terminal: Terminal): Promise<ExitCode>
}

/** A failure that the user can do something about. It is printed without a stack; thrown where it arises, caught by `runCommand` alone. */
export class ExpectedError extends Error {
  readonly exitCode: ExitCode = 1
  readonly failure: Failure

  constructor(failure: Failure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }

  /** What a command that fails with it prints. */
  told(command: string): string {
    return `sidecar-first ${command}: ${failures[this.failure].code} ${this.message}\n`
  }
}

/** A wrong call. */
export class UsageError extends ExpectedError {
  override readonly exitCode = 2

  override told(command: string): string {
    return `${super.told(command)}See sidecar-first ${command} --help\n`
  }
}
