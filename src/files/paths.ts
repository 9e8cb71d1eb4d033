import { glob, readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { UsageError } from '../terminal/command.ts'
import { unreadable } from './files.ts'

/** A file to read. */
export interface Found {
  readonly path: string
  /** Whether a person named it; a file found in a folder may not hold manifests. */
  readonly named: boolean
}

/**
 * The files that paths stand for, each once: files, folders with all `*.yaml`, `*.yml` and `*.json` below them, and globs (quoted, so
 * that no shell expands them). @throws UsageError if there is nothing
 */
export async function findFiles(paths: readonly string[]): Promise<readonly Found[]> {
  const found: Found[] = []
  const seen = new Set<string>()
  for (const path of paths) {
    for (const each of await findOne(path)) {
      const place = resolve(each.path)
      if (each.path === '-' || !seen.has(place)) found.push(each)
      seen.add(place)
    }
  }
  return found
}

async function findOne(path: string): Promise<readonly Found[]> {
  if (path === '-') return [{ path, named: true }]
  const kind = await kindOf(path)
  if (kind === 'folder') {
    const inside = await manifestsBelow(path)
    if (inside.length === 0) throw new UsageError(`no *.yaml, *.yml or *.json file in ${path}`)
    return inside
  }
  if (kind === 'file' || !/[*?[{]/.test(path)) return [{ path, named: true }]
  const matches: string[] = []
  for await (const match of glob(path, { exclude: (name) => isOthers(basename(name)) })) matches.push(match)
  const found: Found[] = []
  for (const match of matches.sort()) {
    if ((await kindOf(match)) === 'folder') found.push(...(await manifestsBelow(match)))
    else found.push({ path: match, named: false })
  }
  if (found.length === 0) throw new UsageError(`no file matches ${path}`)
  return found
}

async function kindOf(path: string): Promise<'file' | 'folder' | 'nothing'> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 'nothing' : found.isDirectory() ? 'folder' : 'file'
}

/** Hidden files and installed packages aren't manifests. */
const isOthers = (name: string): boolean => /^(\.[^./]|node_modules$)/.test(name)

/** In the order of their names. Links to folders aren't followed. */
async function manifestsBelow(folder: string): Promise<Found[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unreadable(folder))
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const found: Found[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (isOthers(entry.name)) continue
    if (entry.isDirectory()) found.push(...(await manifestsBelow(path)))
    else if (/\.(ya?ml|json)$/.test(entry.name) && (await kindOf(path)) === 'file') found.push({ path, named: false })
  }
  return found
}
