import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

interface Registry {
  /** The name of its one image. */
  readonly image: string
  /** It asks everybody for patience. */
  overloaded: boolean
  /** How often it has. */
  readonly refused: number
  stop(): Promise<void>
}

/** A registry with one of test/cluster-rollouts/images, on the loopback of the node, where the runtime takes it over plain HTTP. */
export async function startRegistry(version: string): Promise<Registry> {
  const run = promisify(execFile)
  const { stdout } = await run('test/cluster-rollouts/images')
  const tarball = stdout.split('\n').find((path) => path.endsWith(`/${version}.tar`)) ?? ''
  const layout = mkdtempSync(join(tmpdir(), 'registry-'))
  await run('tar', ['-xf', tarball, '-C', layout])
  const [manifest] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests
  let refused = 0
  const server = createServer(({ url = '', method }, answer) => {
    if (registry.overloaded) {
      refused++
      answer.writeHead(429, { 'Content-Type': 'application/json' })
      return void answer.end(JSON.stringify({ errors: [{ code: 'TOOMANYREQUESTS', message: 'slow down' }] }))
    }
    if (url === '/v2/') return void answer.writeHead(200).end()
    const [, kind, reference = ''] = /^\/v2\/.*\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? []
    const digest = reference.startsWith('sha256:') ? reference : manifest.digest
    const file = join(layout, 'blobs', digest.replace(':', '/'))
    if (!kind || !existsSync(file)) return void answer.writeHead(404).end()
    const body = readFileSync(file)
    const type = kind === 'manifests' ? manifest.mediaType : 'application/octet-stream'
    answer.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length, 'Docker-Content-Digest': digest })
    answer.end(method === 'HEAD' ? undefined : body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const registry = {
    image: `127.0.0.1:${(server.address() as AddressInfo).port}/test-rollout:${version}`,
    overloaded: false,
    get refused() {
      return refused
    },
    async stop() {
      server.close()
      server.closeAllConnections()
      rmSync(layout, { recursive: true, force: true })
    },
  }
  return registry
}
