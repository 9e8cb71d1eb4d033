import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { faultText } from '../../src/configuration/faults.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { create, kubectl } from './cluster.ts'

/** A webhook that runs, and what ends it. */
export type Webhook = {
  /** Where the server answers, and has its page. */
  url: string
  /** Ends the server and waits for its end; the API server then finds nobody there. */
  stopServer(): Promise<void>
  /** Ends the server and removes its configuration. */
  remove(): Promise<void>
}

const main = join(import.meta.dirname, '../../src/main.ts')

/** What a test may say of its webhook. */
type WebhookOptions = {
  failurePolicy?: 'Fail' | 'Ignore'
  /** Further ones for `serve`. */
  flags?: readonly string[]
  /** The rules of a configuration, as YAML. */
  rules?: string
  /** The oldest node's, as `install` finds it. */
  kubernetesVersion?: string
  /** Whether the lock's files are leased (on). */
  lease?: 'on' | 'off'
}

/**
 * `sidecar-first serve` as a process of this machine, registered by URL with the webhook configurations that go with its rules, for
 * the namespaces labelled `test: <name>`.
 * @param name tells this webhook from those of test files that run beside this one
 */
export async function startWebhook(
  name: string,
  { failurePolicy = 'Fail', flags = [], rules = '[]', kubernetesVersion, lease = 'on' }: WebhookOptions = {},
): Promise<Webhook> {
  const oldest = kubernetesVersion ? `kubernetesVersion: "${kubernetesVersion}"\n` : ''
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${oldest}lock: {lease: ${lease}}\nrules: ${rules}`
  const read = readConfiguration(text, 'test')
  if (!read.ok) throw new Error(read.problems.map(({ line, fault }) => `${line}: ${faultText(fault)}`).join('\n'))

  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
  const { certificate, key, caBundle } = await issueLoopbackPair()
  const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), config: join(folder, 'config.yaml') }
  await writeFile(files.cert, certificate)
  await writeFile(files.key, key, { mode: 0o600 })
  await writeFile(files.config, text)

  const given = Object.entries(files).flatMap(([flag, file]) => [`--${flag}`, file])
  const { server, url } = await startServer(['--port', '0', '--drain', '0s', ...given, ...flags])
  const stopServer = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    server.kill()
    await once(server, 'exit')
  }
  const options = { mode: 'cluster-wide', namespace: 'sidecar-first', endpoint: { url }, caBundle } as const
  const made = webhookConfigurations(read.configuration, text, options)
  const narrowed = [made.mutating, made.validating].map(({ apiVersion, kind, metadata, webhooks }) => ({
    apiVersion: apiVersion ?? '',
    kind: kind ?? '',
    metadata: { ...metadata, name: `${metadata?.name}-${name}` },
    webhooks: webhooks?.map((webhook) => ({
      ...webhook,
      failurePolicy,
      namespaceSelector: {
        ...webhook.namespaceSelector,
        matchLabels: { ...webhook.namespaceSelector?.matchLabels, test: name },
      },
    })),
  }))
  const removeConfigurations = async () => {
    for (const { kind, metadata } of narrowed) await kubectl('delete', kind, metadata.name, '--ignore-not-found')
  }
  await removeConfigurations() // an interrupted run leaves them
  await create(...narrowed)
  return {
    url,
    stopServer,
    async remove() {
      await removeConfigurations()
      await stopServer()
      await rm(folder, { recursive: true })
    },
  }
}

/** PEM, for a server on 127.0.0.1; `caBundle` signed it. */
export async function issueLoopbackPair(): Promise<{ certificate: string; key: string; caBundle: string }> {
  const at = new Date()
  const life = 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'cluster test', life, at })
  const { certificate, key } = await issueLeaf({ authority, names: [], ips: ['127.0.0.1'], life, at })
  return { certificate, key, caBundle: authority.certificate }
}

/** Starts `serve` and waits for the line that names its address. */
async function startServer(flags: readonly string[]): Promise<{ server: ChildProcess; url: string }> {
  const server = spawn(process.execPath, [main, 'serve', ...flags], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output += text
      const [, found] = /(https:\/\/[\w.:[\]]+)[\s"]/.exec(output) ?? []
      if (found) resolve(found)
    }
    server.stdout.setEncoding('utf8').on('data', read)
    server.stderr.setEncoding('utf8').on('data', read)
    server.on('error', reject)
    server.on('exit', (code) => reject(new Error(`serve ended with code ${code}:\n${output}`)))
  })
  return { server, url }
}
