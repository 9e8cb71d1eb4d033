/**
 * Builds a container image as a tarball, without a container engine: an OCI layout that `docker load` understands too.
 * The same files always give the same bytes.
 *
 *     node scripts/image.ts OUT.tar docker.io/NAME:TAG ['{"Entrypoint":["/x"]}'] FILE:/path … TARGET@/link …
 *     node scripts/image.ts OUT.tar docker.io/NAME:TAG ['{…}'] --platform amd64 FILE:/path … --platform arm64 FILE:/path …
 *
 * With platforms it is one index of an image for each, layers gzipped, for a registry: untar it and `crane push FOLDER NAME`.
 */
import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path/posix'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'

/** How the image's process is started, in the terms of the OCI image configuration: `Entrypoint`, `User` and so on. */
type Config = Readonly<Record<string, unknown>>

/** One entry of the root file system, by absolute path. Its parent folders are created automatically, with mode 0755. */
export type Entry =
  | { path: string; data: Uint8Array; mode?: number }
  | { path: string; link: string }
  | { path: string; folder: true; mode?: number }

/** What an image is made of, for one architecture in Go's terms, such as `amd64`. */
interface Platform {
  readonly architecture: string
  readonly entries: readonly Entry[]
}

/**
 * One tarball of several images, each for one platform; what they share is in it once. A name is the full one with registry and tag
 * (`docker.io/sidecar-first/waiter:0.1.0`), as the kubelet normalises it.
 */
export function buildImages(
  images: readonly { readonly name: string; readonly config: Config; readonly platform: Platform }[],
): Uint8Array {
  const built = images.map(({ name, config, platform }) => ({ name, ...imageOf(config, platform, false) }))
  const dockers = json(
    built.map(({ name, layer, configuration }) => ({
      Config: blob(configuration),
      RepoTags: [name],
      Layers: [blob(layer)],
    })),
  )
  return layout(
    built.flatMap(({ layer, configuration, manifest }) => [layer, configuration, manifest]),
    built.map(({ name, descriptor }) => named(descriptor, name)),
    { 'manifest.json': dockers },
  )
}

/** The tarball of an OCI layout with one index of an image for each platform, layers gzipped. */
function buildIndex(name: string, config: Config, platforms: readonly Platform[]): Uint8Array {
  const images = platforms.map((platform) => imageOf(config, platform, true))
  const index = json({
    schemaVersion: 2,
    mediaType: INDEX,
    manifests: images.map(({ descriptor }) => descriptor),
  })
  const blobs = images.flatMap(({ layer, configuration, manifest }) => [layer, configuration, manifest])
  return layout([...blobs, index], [named(describe(INDEX, index), name)])
}

const INDEX = 'application/vnd.oci.image.index.v1+json'

function imageOf(config: Config, { architecture, entries }: Platform, gzip: boolean) {
  const files = tar(withParents(entries))
  const layer = gzip ? gzipSync(files, { level: 9 }) : files
  const configuration = json({
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(files)}`] },
  })
  const manifest = json({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: describe('application/vnd.oci.image.config.v1+json', configuration),
    layers: [describe(`application/vnd.oci.image.layer.v1.tar${gzip ? '+gzip' : ''}`, layer)],
  })
  const descriptor = {
    ...describe('application/vnd.oci.image.manifest.v1+json', manifest),
    platform: { architecture, os: 'linux' },
  }
  return { layer, configuration, manifest, descriptor }
}

const named = (descriptor: object, name: string) => ({
  ...descriptor,
  annotations: { 'io.containerd.image.name': name },
})

/** An OCI layout. What several platforms share is in it once. */
function layout(
  blobs: readonly Uint8Array[],
  manifests: readonly object[],
  more: Record<string, Uint8Array> = {},
): Uint8Array {
  const files = {
    ...Object.fromEntries(blobs.map((data) => [blob(data), data])),
    'oci-layout': json({ imageLayoutVersion: '1.0.0' }),
    'index.json': json({ schemaVersion: 2, manifests }),
    ...more,
  }
  return tar(Object.entries(files).map(([path, data]) => ({ path, data, mode: 0o644 })))
}

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex')
const blob = (data: Uint8Array): string => `blobs/sha256/${sha256(data)}`
const describe = (mediaType: string, data: Uint8Array) => ({
  mediaType,
  digest: `sha256:${sha256(data)}`,
  size: data.length,
})

function withParents(entries: readonly Entry[]): Entry[] {
  const all = new Map<string, Entry>()
  const add = (entry: Entry): void => {
    const above = dirname(entry.path)
    if (above !== '/' && !all.has(above)) add({ path: above, folder: true })
    all.set(entry.path, entry)
  }
  for (const entry of entries) add(entry)
  return [...all.values()]
}

/** A POSIX ustar archive. All files belong to root and are dated at the epoch. */
function tar(entries: readonly Entry[]): Uint8Array {
  const blocks: Uint8Array[] = []
  for (const entry of entries) {
    const data = 'data' in entry ? entry.data : new Uint8Array()
    blocks.push(header(entry, data.length), data, new Uint8Array(-data.length & 511))
  }
  return Buffer.concat([...blocks, new Uint8Array(1024)])
}

function header(entry: Entry, size: number): Uint8Array {
  const block = Buffer.alloc(512)
  const path = entry.path.replace(/^\//, '')
  const link = 'link' in entry ? entry.link : ''
  if (Buffer.byteLength(path) > 100 || Buffer.byteLength(link) > 100) throw new Error(`too long for ustar: ${path}`)
  const mode = 'mode' in entry && entry.mode !== undefined ? entry.mode : 0o755
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`
  block.write(path, 0)
  block.write(octal(mode, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(0, 12), 100)
  block.write(`        ${'link' in entry ? 2 : 'folder' in entry ? 5 : 0}`, 148)
  block.write(link, 157)
  block.write('ustar\x0000', 257)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

const GO_ARCHITECTURE: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

function main([out, name, ...rest]: string[]): void {
  if (!out || !name)
    throw new Error(
      "usage: node scripts/image.ts OUT.tar NAME ['CONFIG JSON'] [--platform ARCH] FILE:/path … TARGET@/link …",
    )
  const config: Config = rest[0]?.startsWith('{') ? JSON.parse(rest.shift() ?? '') : {}
  const ours = process.env.GOARCH ?? GO_ARCHITECTURE[process.arch] ?? process.arch
  const platforms = [{ architecture: ours, entries: [] as Entry[] }]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--platform') platforms.push({ architecture: rest.shift() ?? '', entries: [] })
    else platforms.at(-1)?.entries.push(entryOf(word))
  }
  const [only, ...each] = platforms
  if (!only || (each.length > 0 && only.entries.length > 0)) throw new Error('files stand before the first --platform')
  // Renamed into place, so that nobody ever reads half an image.
  const tarball = each.length > 0 ? buildIndex(name, config, each) : buildImages([{ name, config, platform: only }])
  writeFileSync(`${out}.partial`, tarball)
  renameSync(`${out}.partial`, out)
}

function entryOf(word: string): Entry {
  const [, from, kind, path] = /^(.+)([:@])(\/.+)$/.exec(word) ?? []
  if (!from || !path) throw new Error(`'${word}' is neither FILE:/path nor TARGET@/link`)
  return kind === '@' ? { path, link: from } : { path, data: readFileSync(from) }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href)
  main(process.argv.slice(2))
