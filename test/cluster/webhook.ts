import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { create, kubectl } from './cluster.ts'

/** A webhook that runs, and what ends it. */
export type Webhook = {
  /** Ends the server and waits for its end; the API server then finds nobody there. */
  stopServer(): Promise<void>
  /** Ends the server and removes its configuration. */
  remove(): Promise<void>
}

const main = join(import.meta.dirname, '../../src/main.ts')

/**
 * `sidecar-first serve` as a process of this machine, registered by URL for the namespaces labelled `test: <name>`.
 * @param name tells this webhook from those of test files that run beside this one
 * @param flags further ones for `serve`
 */
export async function startWebhook(
  name: string,
  { failurePolicy = 'Fail', flags = [] }: { failurePolicy?: 'Fail' | 'Ignore'; flags?: readonly string[] } = {},
): Promise<Webhook> {
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
  const at = new Date()
  const life = 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'cluster test', life, at })
  const leaf = await issueLeaf({ authority, names: [], ips: ['127.0.0.1'], life, at })
  const cert = join(folder, 'tls.crt')
  const key = join(folder, 'tls.key')
  await writeFile(cert, leaf.certificate)
  await writeFile(key, leaf.key, { mode: 0o600 })

  const { server, url } = await startServer(['--port', '0', '--cert', cert, '--key', key, '--drain', '0s', ...flags])
  const stopServer = async () => {
    if (server.exitCode !== null || server.signalCode !== null) return
    server.kill()
    await once(server, 'exit')
  }
  const configuration = `zz-sidecar-first-${name}`
  const removeConfiguration = () =>
    kubectl('delete', 'mutatingwebhookconfiguration', configuration, '--ignore-not-found')
  await removeConfiguration() // an interrupted run leaves it
  await create({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: configuration },
    webhooks: [
      {
        name: 'mutate.sidecar-first.dev',
        clientConfig: { url: `${url}/mutate`, caBundle: Buffer.from(authority.certificate).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
        namespaceSelector: { matchLabels: { test: name } },
        matchPolicy: 'Equivalent',
        reinvocationPolicy: 'IfNeeded',
        failurePolicy,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 5,
      },
    ],
  })
  return {
    stopServer,
    async remove() {
      await removeConfiguration()
      await stopServer()
      await rm(folder, { recursive: true })
    },
  }
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
