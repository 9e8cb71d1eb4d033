import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The program's entry. */
export const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `sidecar-first` to its end, with a text on its standard input, in a folder, in a UTF-8 locale unless `env` says otherwise. */
export function run(
  args: readonly string[],
  { input = '', cwd, env = {} }: { input?: string | Buffer; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const options = { cwd, maxBuffer: 2 ** 26, env: { ...process.env, LC_ALL: 'C.UTF-8', ...env } }
  const child = execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
    resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, stdout, stderr })
  })
  child.stdin?.on('error', () => {}) // it may end before it has read
  child.stdin?.end(input)
  return promise
}
