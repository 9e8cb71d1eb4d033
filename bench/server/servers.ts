import { type ChildProcess, fork, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { bundle } from '../../scripts/bundle.ts'
import { call } from '../../test/server/call.ts'
import { folder, issue, writePair } from '../../test/server/pairs.ts'
import type { Load, Loaded } from './client.ts'
import { realisticReview } from './review.ts'

/** A server process and the address that it printed. */
export interface Running {
  readonly child: ChildProcess
  /** Without a path. */
  readonly url: string
}

/** What is compared: our server and a bare handler with a fixed answer, with one certificate, and a client that loads them. */
export async function prepareServers() {
  const files = await folder()
  const at = (name: string) => join(files.path, name)
  await bundle(at('bundle'))
  // Plain JavaScript, like the bundle: Node's type stripping would cost time and memory.
  await writeFile(at('bare.mjs'), stripTypeScriptTypes(await readFile(join(import.meta.dirname, 'bare.ts'), 'utf8')))
  const { authority, leaf } = await issue()
  const pair = await writePair(files.path, leaf)
  const children = new Set<ChildProcess>()
  let client: ChildProcess | undefined

  /** The arguments that have Node run ours. */
  async function ours(configuration?: string): Promise<string[]> {
    const args = [at('bundle/sidecar-first.mjs'), 'serve', '--port=0', '--drain=0', ...pair]
    if (configuration === undefined) return args
    const file = at(`${randomUUID()}.yaml`)
    await writeFile(file, configuration)
    return [...args, '--config', file]
  }
  /** The same of the bare handler. */
  async function bare(answer: string): Promise<string[]> {
    const file = at(`${randomUUID()}.json`)
    await writeFile(file, answer)
    return [at('bare.mjs'), at('tls.crt'), at('tls.key'), file]
  }
  /** Starts a server, which prints "serves on https://…" when it is ready. */
  async function start(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Running> {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
    children.add(child)
    let output = ''
    for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
      output += chunk
      const url = /serves on (https:\/\/[\d.]+:\d+)/.exec(output)?.[1]
      if (url === undefined) continue
      // The log isn't needed, but it must be read, or the server would block.
      child.stdout.resume()
      return { child, url }
    }
    throw new Error(`${args[0]} did not start`)
  }
  async function stop(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    children.delete(child)
  }
  async function load(how: Load): Promise<Loaded> {
    client ??= fork(join(import.meta.dirname, 'client.ts'))
    children.add(client)
    client.send(how)
    const [loaded] = (await once(client, 'message')) as [Loaded]
    return loaded
  }
  /** Our answer to a realistic review. */
  async function patched(): Promise<string> {
    const { child, url } = await start(await ours())
    const { text } = await call(`${url}/mutate`, { body: realisticReview() })
    await stop(child)
    if (!text.includes('JSONPatch')) throw new Error(`the review is not patched: ${text}`)
    return text
  }
  async function end(): Promise<void> {
    for (const child of children) child.kill('SIGKILL')
    await files[Symbol.asyncDispose]()
  }
  const caBundle = authority.certificate
  return { caBundle, cache: at('cache'), ours, bare, patched, start, stop, load, [Symbol.asyncDispose]: end }
}

/** Rules for the benchmark: half name containers, half name an image. */
export function manyRules(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const match = index % 2 === 0 ? `container: sidecar-${index}` : `image: "*/sidecar-${index}:*"`
    return `- {name: rule-${index}, match: {${match}}, tier: ${index % 100}}\n`
  })
  return `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${lines.join('')}`
}
