import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { kubectl, tryKubectl, until } from '../../cluster/cluster.ts'

export interface Controller {
  readonly process: ChildProcess
  /** What it has logged, a line each. */
  readonly lines: string[]
  readonly metricsPort: Promise<number>
  /** SIGKILL. */
  kill(): Promise<void>
  /** SIGTERM. */
  stop(): Promise<void>
}

const account = 'sidecar-first-rollouts'
/** What is tried: this checkout, or one of version 0.1 (commit f4d68a1), by which it's seen that a test can fail. */
const checkout = process.env.VERSION_0_1 ?? '.'

/** All of manifests/rollouts but the Deployment: its process is run from the sources. Done by several test files at once. */
export async function prepare(): Promise<void> {
  await tryKubectl(['create', 'namespace', 'sidecar-first'])
  const documents = parseAllDocuments(await kubectl('kustomize', `${checkout}/manifests/rollouts`)).map((one) =>
    one.toJS(),
  )
  const items = documents.filter(({ kind }) => kind !== 'Deployment')
  const { code, stderr } = await tryKubectl(
    ['apply', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  )
  if (code !== 0) throw new Error(stderr)
  await kubectl('wait', '--for=condition=Established', 'crd/sidecarrollouts.sidecar-first.dev')
  const own = ['-n', 'sidecar-first', `--as=system:serviceaccount:sidecar-first:${account}`, '--dry-run=server']
  await until('the policy to be in force', async () => {
    const { stderr } = await tryKubectl(['run', 'refused', '--image=none', ...own])
    return stderr.includes(`${account} may touch no pod`) || undefined
  })
}

/** The administrator's kubeconfig. */
export const adminConfig = async () => JSON.parse(await kubectl('config', 'view', '--raw', '--flatten', '-o', 'json'))

/** `sidecar-first rollouts run` as a process of its own with the rights of its manifests and no others. @param by another way to the API server */
export async function startController(lease: string, by?: { url: string; ca: string }): Promise<Controller> {
  const dir = mkdtempSync(join(tmpdir(), 'rollouts-'))
  const file = join(dir, 'kubeconfig')
  const token = (await kubectl('create', 'token', '-n', 'sidecar-first', account)).trim()
  const config = await adminConfig()
  if (by) {
    const ca = Buffer.from(by.ca).toString('base64')
    config.clusters[0].cluster = { server: by.url, 'certificate-authority-data': ca }
  }
  config.users = config.users.map(({ name }: { name: string }) => ({ name, user: { token } }))
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
  const flags = ['--lease', lease, '--resync', '10s', '--metrics-port', '0']
  const child = spawn(process.execPath, [`${checkout}/src/main.ts`, 'rollouts', 'run', ...flags], {
    env: { ...process.env, KUBECONFIG: file },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const port = Promise.withResolvers<number>()
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
    const serving = parts.map((line) => JSON.parse(line)).find((line) => line.port)
    if (serving) port.resolve(serving.port)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill(signal)
      await once(child, 'close')
    }
    rmSync(dir, { recursive: true, force: true })
  }
  return {
    process: child,
    lines,
    metricsPort: port.promise,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
  }
}
