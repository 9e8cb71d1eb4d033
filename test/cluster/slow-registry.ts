import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A registry on loopback, which containerd asks in plain HTTP. */
interface SlowRegistry extends AsyncDisposable {
  /** The image `app` of the tests, which takes so many seconds to pull. Each `tag` is pulled anew. */
  image(seconds: number, tag: string): string
}

/** What it waits before it names an image: the layers are on the node already, so they aren't pulled. */
export async function startSlowRegistry(): Promise<SlowRegistry> {
  const { stdout } = await run(join(import.meta.dirname, 'images/build'))
  const archive = stdout.split('\n').find((path) => path.endsWith('/app.tar'))
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-registry-'))
  await run('tar', ['xf', archive ?? '', '-C', folder])
  const stored = (digest: string) => readFile(join(folder, 'blobs', ...digest.split(':')))
  const [{ digest: known, mediaType }] = JSON.parse(await readFile(join(folder, 'index.json'), 'utf8')).manifests
  // An image of its own: to containerd, one that it has under another name is the same.
  const made = new Map<string, Buffer>()
  const add = (content: object) => {
    const bytes = Buffer.from(JSON.stringify(content))
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
    made.set(digest, bytes)
    return { digest, size: bytes.length }
  }
  const original = JSON.parse(String(await stored(known)))
  const config = JSON.parse(String(await stored(original.config.digest)))
  const slow = add({ ...config, config: { ...config.config, Labels: { slow: 'true' } } })
  const latest = add({ ...original, config: { ...original.config, ...slow } }).digest

  const server = createServer(async ({ url = '', method }, response) => {
    const [, seconds, what, name = ''] = /^\/v2\/app-(\d+)\/(manifests|blobs)\/(.+)$/.exec(url) ?? []
    const digest = name.startsWith('sha256:') ? name : latest
    if (what === 'manifests' && digest !== name) await sleep(Number(seconds) * 1000)
    const body =
      what === undefined ? Buffer.from('{}') : (made.get(digest) ?? (await stored(digest).catch(() => undefined)))
    if (body === undefined) return void response.writeHead(404).end()
    const type = what === 'manifests' ? mediaType : 'application/octet-stream'
    response.writeHead(200, {
      'content-type': type,
      'content-length': body.length,
      'docker-content-digest': digest,
    })
    response.end(method === 'HEAD' ? undefined : body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    image: (seconds, tag) => `127.0.0.1:${port}/app-${seconds}:${tag}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    },
  }
}
