import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import type { Pair } from '../../certs/faults.ts'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { makeCage } from './cage.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The program as it is shipped, with the memory and the flags that the manifests give it. */
export interface Serving {
  readonly url: string
  readonly port: number
  /** Where and with what it runs, for people. */
  readonly about: string
  /** MiB; the process ends at more. */
  readonly memory: number
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
  readonly hasEnded: () => number | string | undefined
  /** Seconds of CPU so far. */
  cpu(): number
  /** MiB at most since the last call. */
  peak(): number
  /** MiB now. */
  resident(): number
  writeConfiguration(text: string): Promise<void>
  writePair(pair: Pair): Promise<void>
  /** A new pair for it, from the CA that good traffic trusts, valid at `at`. */
  issue(at?: Date): Promise<Pair>
  /** PEM of that CA, as a file. */
  readonly ca: string
  /** How often it has logged something. */
  logged(message: string): number
  /** Asks it to end. */
  terminate(): void
  /** What it said last on standard error. */
  said(): string
  /** Ends it if it still runs, and clears away. */
  stop(): Promise<void>
}

/** @param program the bundle's file; one is made where none is given */
export async function serveCaged(configuration: string, program?: string): Promise<Serving> {
  const folder = await mkdtemp(`${tmpdir()}/sidecar-first-hostile-`)
  const { args, env, memory } = shipped()
  const bundle = program ?? `${folder}/bundle/sidecar-first.mjs`
  if (program === undefined) await run([here('../../scripts/bundle.ts'), `${folder}/bundle`])
  const at = new Date()
  const life = 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'hostile', life, at })
  const issue = (from = at) => issueLeaf({ authority, names: ['localhost'], ips: ['127.0.0.1'], life, at: from })
  const [cert, key, ca] = [`${folder}/tls.crt`, `${folder}/tls.key`, `${folder}/ca.crt`]
  const config = `${folder}/config.yaml`
  await writeFile(ca, authority.certificate)
  const writePair = async (pair: Pair) => {
    await writeFile(cert, pair.certificate)
    await writeFile(key, pair.key)
  }
  await writePair(await issue())
  await writeFile(config, configuration)

  const cage = makeCage(memory * 2 ** 20)
  const caged = typeof cage === 'string' ? undefined : cage
  const flags = [...args, '--host=127.0.0.1', '--port=0', `--config=${config}`, `--cert=${cert}`, `--key=${key}`]
  // The shell puts itself into the cgroup before it becomes the server, so that not a byte is missed.
  const enter = caged === undefined ? '' : `echo $$ > '${caged.door}'; `
  const child = spawn('/bin/sh', ['-c', `${enter}exec "$@"`, 'sh', process.execPath, bundle, ...flags], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let ended: number | string | undefined
  const exited = once(child, 'exit').then(([code, signal]): number | string => {
    ended = code ?? signal
    return code ?? signal
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors = (errors + text).slice(-4000)
  })
  let log = ''
  const messages = new Map<string, number>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const [, message = ''] of text.matchAll(/"msg":"([^"]*)"/g))
      messages.set(message, (messages.get(message) ?? 0) + 1)
    log = (log + text).slice(-4000)
  })
  const stop = async () => {
    if (ended === undefined) child.kill('SIGKILL')
    await exited
    caged?.remove()
    await rm(folder, { recursive: true })
  }
  try {
    const url = await urlOf(child, () => log + errors, exited)
    const where =
      caged?.name ?? `NOT IN A CGROUP (${cage}): only measured, which misses what the kernel would count beside it`
    return {
      url,
      port: Number(new URL(url).port),
      about: `${memory} MiB, ${where}; ${Object.entries(env)
        .map(([name, value]) => `${name}=${value}`)
        .join(' ')} ${args.join(' ')}`,
      memory,
      ended: exited,
      hasEnded: () => ended,
      cpu: () => cpuOf(child.pid),
      peak: () => peakOf(child.pid),
      resident: () => kibibytes(child.pid, 'VmRSS') / 1024,
      writeConfiguration: (text) => writeFile(config, text),
      writePair,
      issue,
      ca,
      logged: (message) => messages.get(message) ?? 0,
      terminate: () => void child.kill('SIGTERM'),
      said: () => errors.slice(-1500),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The flags, the environment and the memory limit (MiB) of the manifests' container. */
function shipped(): { args: readonly string[]; env: Readonly<Record<string, string>>; memory: number } {
  const documents = parseAllDocuments(readFileSync(here('../../manifests/base/serve.yaml'), 'utf8'))
  const deployment = documents.map((document) => document.toJS()).find(({ kind }) => kind === 'Deployment')
  const container = deployment.spec.template.spec.containers[0]
  const args: string[] = container.args.filter((arg: string) => !/^--(?:host|port|config|cert|key)=/.test(arg))
  const variables: { name: string; value?: string }[] = container.env ?? []
  const env = variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value] as const]))
  return { args, env: Object.fromEntries(env), memory: Number.parseInt(container.resources.limits.memory, 10) }
}

async function urlOf(child: ChildProcess, output: () => string, ended: Promise<unknown>): Promise<string> {
  for (;;) {
    const url = /serves on (https:\/\/[^\s"]+)/.exec(output())?.[1]
    if (url !== undefined) return url
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`it did not start:\n${output()}`)
    await Promise.race([once(child.stdout ?? child, 'data'), ended])
  }
}

/** Runs `node ARGS` to its end. */
async function run(args: readonly string[]): Promise<void> {
  const [code] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`)
}

/** Of all threads, those that have ended among them; to a hundredth of a second. */
function cpuOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return (Number(fields[11]) + Number(fields[12])) / 100
  } catch {
    return Number.NaN
  }
}

function kibibytes(pid: number | undefined, what: 'VmHWM' | 'VmRSS'): number {
  try {
    return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

function peakOf(pid: number | undefined): number {
  const peak = kibibytes(pid, 'VmHWM') / 1024
  try {
    // proc(5): 5 sets the peak back to what is resident now.
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
  } catch {
    // It has ended.
  }
  return peak
}
