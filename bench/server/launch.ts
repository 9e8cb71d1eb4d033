import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'

/** A server process and the address that it printed. */
export interface Launched {
  readonly child: ChildProcess
  /** Without a path. */
  readonly url: string
}

/** Starts `node ARGS`, a server that prints "serves on https://…" when it is ready. */
export async function launch(args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Launched> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env })
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

export async function post(url: string, body: string): Promise<string> {
  const outgoing = request(url, {
    method: 'POST',
    agent: false,
    rejectUnauthorized: false,
    headers: { 'content-type': 'application/json' },
  })
  outgoing.end(body)
  const [response] = await once(outgoing, 'response')
  return text(response)
}

export async function get(url: URL): Promise<string> {
  const outgoing = request(url, { agent: false, rejectUnauthorized: false })
  outgoing.end()
  const [response] = await once(outgoing, 'response')
  return text(response)
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN
}

/** Rules for the benchmark: half name containers, half name an image. */
export function manyRules(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const match = index % 2 === 0 ? `container: sidecar-${index}` : `image: "*/sidecar-${index}:*"`
    return `- {name: rule-${index}, match: {${match}}, tier: ${index % 100}}\n`
  })
  return `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n${lines.join('')}`
}
