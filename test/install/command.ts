import { PassThrough } from 'node:stream'
import type { Command } from '../../src/cli/command.ts'

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end, as main.ts does, but that a wrong call throws. */
export async function run(command: Command, ...args: readonly string[]): Promise<Ended> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const text = (stream: PassThrough) => (stream.read() ?? '').toString()
  const code = await command.run(args, { stdin, stdout, stderr, color: false })
  return { code, stdout: text(stdout), stderr: text(stderr) }
}
