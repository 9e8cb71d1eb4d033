import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** A real `sidecar-first serve` process. */
export interface ServeProcess extends AsyncDisposable {
  readonly child: ChildProcess
  readonly url: string
  readonly port: number
  /** Everything on standard output so far. */
  output(): string
  /** Everything on standard error so far. */
  errors(): string
  /** Resolves when standard output matches. */
  seen(pattern: RegExp): Promise<void>
  /** Exit code, or the signal's name. */
  readonly ended: Promise<number | string>
}

/**
 * Starts `serve --port 0` and waits for its ready line; it is killed when the test ends. `node`: flags for Node itself; `program`: another
 * one than src/main.ts.
 */
export async function startServe(
  flags: readonly string[] = [],
  node: readonly string[] = [],
  program = main,
): Promise<ServeProcess> {
  const child = spawn(process.execPath, [...node, program, 'serve', '--port', '0', ...flags])
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  async function seen(pattern: RegExp): Promise<void> {
    while (!pattern.test(output)) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`it ended without ${pattern}\n${output}${errors}`)
      }
      await Promise.race([once(child.stdout, 'data'), ended])
    }
  }
  await seen(/serves on https:\/\/\S+?:\d+/)
  const url = /serves on (https:\/\/[^\s"]+)/.exec(output)?.[1] ?? ''
  return {
    child,
    url,
    port: Number(new URL(url).port),
    output: () => output,
    errors: () => errors,
    seen,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}
