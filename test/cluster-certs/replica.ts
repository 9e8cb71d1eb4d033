import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../../certs/cluster.ts'
import { PORT } from './fixture.ts'

export interface Replica {
  readonly host: string
  /** What the replica's log says. */
  readonly log: readonly string[]
  stop(): Promise<void>
}

/**
 * A real `serve`, with a stand-in for the kubelet, a fake: it shows the replica `tls.crt` and `tls.key` of the Secret alone, swapped by
 * a symlink as the kubelet does, `delay` ms after they were written.
 */
export async function startReplica({
  cluster,
  host,
  delay,
  config,
}: {
  cluster: Cluster
  host: string
  delay: number
  /** A configuration file. */
  config?: string
}): Promise<Replica> {
  const folder = mkdtempSync(join(tmpdir(), 'replica-'))
  const stop = new AbortController()
  const mounted = Promise.withResolvers<void>()
  const kubelet = mount({ cluster, folder, delay, signal: stop.signal, mounted: mounted.resolve })
  await mounted.promise

  const log: string[] = []
  const flags = ['--host', host, '--port', String(PORT), '--drain', '1s']
  const files = [
    '--cert',
    join(folder, 'tls.crt'),
    '--key',
    join(folder, 'tls.key'),
    ...(config ? ['--config', config] : []),
  ]
  const child = spawn(process.execPath, ['src/main.ts', 'serve', ...flags, ...files], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const hear = (chunk: string) => {
    for (const line of chunk.split('\n')) if (line && !line.includes('"uid"')) log.push(line)
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  for (let i = 0; !log.some((line) => line.includes('serves on')); i++) {
    if (i > 2000 || child.exitCode !== null) throw new Error(`serve did not start: ${log.join('\n')}`)
    await sleep(50)
  }
  return {
    host,
    log,
    async stop() {
      stop.abort()
      await Promise.all([end(child), kubelet])
    },
  }
}

/** @param mounted called once the files are there for the first time */
async function mount(options: {
  cluster: Cluster
  folder: string
  delay: number
  signal: AbortSignal
  mounted: () => void
}) {
  const { cluster, folder, delay, signal, mounted } = options
  let version = ''
  while (!signal.aborted) {
    const data = (await cluster.readSecret().catch(() => undefined))?.data
    const [certificate, key] = [data?.['tls.crt'], data?.['tls.key']]
    if (certificate && key && certificate !== version) {
      if (version !== '') await sleep(delay, undefined, { signal }).catch(() => {})
      const next = mkdtempSync(join(folder, '..data-'))
      writeFileSync(join(next, 'tls.crt'), certificate)
      writeFileSync(join(next, 'tls.key'), key)
      symlinkSync(next, join(folder, '..new'))
      renameSync(join(folder, '..new'), join(folder, '..data'))
      if (version === '')
        for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name))
      version = certificate
      mounted()
    }
    await sleep(100, undefined, { signal }).catch(() => {})
  }
}

/** SIGTERM, and SIGKILL for who doesn't listen. */
export async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 5000)
  await gone
  clearTimeout(late)
}
