import { type ExecFileException, execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assertCoded } from './coded.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs `sidecar-first` to its end, with a text on its standard input, in a folder, in a UTF-8 locale unless `env` says otherwise. */
export function run(
  args: readonly string[],
  { input = '', cwd, env = {} }: { input?: string | Buffer; cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const { promise, resolve, reject } = Promise.withResolvers<Ended>()
  const options = { cwd, maxBuffer: 2 ** 26, env: { ...process.env, LC_ALL: 'C.UTF-8', ...env } }
  const child = execFile(process.execPath, [main, ...args], options, (error, stdout, stderr) => {
    try {
      assertCoded(stderr)
      resolve({ code: codeOf(error), stdout, stderr })
    } catch (uncoded) {
      reject(uncoded)
    }
  })
  child.stdin?.on('error', () => {}) // it may end before it has read
  child.stdin?.end(input)
  return promise
}

const codeOf = (error: ExecFileException | null): number => (error === null ? 0 : Number(error.code ?? -1))

/** Runs commands as somebody pastes them into a shell in which `sidecar-first` is on the PATH. */
export async function paste(script: string, cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const bin = await mkdtemp(join(tmpdir(), 'sidecar-first-bin-'))
  await writeFile(join(bin, 'sidecar-first'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 })
  const { promise, resolve } = Promise.withResolvers<Ended>()
  const options = { cwd, env: { ...process.env, LC_ALL: 'C.UTF-8', ...env, PATH: `${bin}:${process.env.PATH}` } }
  execFile('sh', ['-ec', script], options, (error, stdout, stderr) => {
    resolve({ code: codeOf(error), stdout, stderr })
  })
  const ended = await promise
  await rm(bin, { recursive: true })
  return ended
}

/** What `sidecar-first` shows on a terminal of 100 columns; its standard error is among it. */
export async function onTerminal(args: string, cwd: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const command = `stty cols 100; exec '${process.execPath}' '${main}' ${args}`
  const env = { ...process.env, LC_ALL: 'C.UTF-8', SHELL: '/bin/sh' }
  const child = execFile('script', ['-qec', command, '/dev/null'], { cwd, env }, (_error, stdout) => resolve(stdout))
  child.stdin?.end()
  return promise
}
