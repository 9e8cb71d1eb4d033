import type { Readable, Writable } from 'node:stream'

/** The streams a command reads and writes. `color`: only ever true on a terminal. */
export interface Terminal {
  readonly stdin: Readable
  readonly stdout: Writable
  readonly stderr: Writable
  readonly color: boolean
}

/** 0 done, 1 refused or falls short, 2 usage. */
export type ExitCode = 0 | 1 | 2

/** One subcommand of `sidecar-first`, in a file of its own, loaded only when it is called. */
export interface Command {
  /** `--help`: what it does, its flags, an example that works when pasted. */
  readonly help: string
  /** Takes the words after the command's name. Ends by returning; the process ends in main.ts alone. */
  run(args: readonly string[], terminal: Terminal): Promise<ExitCode>
}

/** A wrong call: printed as one line with a pointer to `--help`, exit code 2. */
export class UsageError extends Error {}
