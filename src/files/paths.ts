import type { Dirent } from 'node:fs'
import { glob, readdir, stat } from 'node:fs/promises'
import { basename, join, resolve, sep } from 'node:path'
import { matchesGlob } from '../admission/intent/glob.ts'
import { UsageError } from '../terminal/command.ts'
import { unreadable } from './files.ts'

/** A file to read. */
interface Found {
  readonly path: string
  /** Whether a person named it; a file found in a folder may not hold manifests. */
  readonly named: boolean
}

/**
 * The files that paths stand for, each once: files, folders with all `*.yaml`, `*.yml` and `*.json` below them, and globs (quoted, so
 * that no shell expands them). What a glob of `exclude` matches is left out and named, a folder with all below it.
 * @throws UsageError if there is nothing
 */
export async function findFiles(
  paths: readonly string[],
  exclude: readonly string[] = [],
): Promise<{ readonly found: readonly Found[]; readonly excluded: readonly string[] }> {
  const found: Found[] = []
  const seen = new Set<string>()
  const excluding = createExcluding(exclude)
  for (const path of paths) {
    for (const each of await findOne(path, excluding)) {
      const place = resolve(each.path)
      if (each.path === '-' || !seen.has(place)) found.push(each)
      seen.add(place)
    }
  }
  if (paths.length > 0 && found.length === 0)
    throw new UsageError('no-manifest', `--exclude leaves nothing of ${paths.join(', ')}`)
  return { found, excluded: [...excluding.met] }
}

type Excluding = ReturnType<typeof createExcluding>

/** What is to be left out, and what of it was met. */
function createExcluding(globs: readonly string[]) {
  const met = new Set<string>()
  return {
    met,
    /** Whether a glob matches the path or what follows one of its slashes: `templates` is a folder anywhere. `*` also stands for slashes. */
    leavesOut(path: string): boolean {
      const parts = path.split(sep)
      const ends = parts.map((_, index) => parts.slice(index).join('/'))
      const matched = globs.some((glob) => ends.some((end) => matchesGlob(glob.replace(/\/+$/, ''), end)))
      if (matched) met.add(path)
      return matched
    },
  }
}

async function findOne(path: string, excluding: Excluding): Promise<readonly Found[]> {
  if (path === '-') return [{ path, named: true }]
  if (excluding.leavesOut(path)) return []
  const kind = await kindOf(path)
  if (kind === 'folder') {
    const inside = await manifestsBelow(path, excluding)
    if (inside.length === 0 && excluding.met.size === 0)
      throw new UsageError('no-manifest', `no *.yaml, *.yml or *.json file in ${path}`)
    return inside
  }
  if (kind === 'file' || !/[*?[{]/.test(path)) return [{ path, named: true }]
  const matches: string[] = []
  for await (const match of glob(path, { exclude: (name) => isOthers(basename(name)) })) matches.push(match)
  const found: Found[] = []
  for (const match of matches.sort()) {
    if (excluding.leavesOut(match)) continue
    if ((await kindOf(match)) === 'folder') found.push(...(await manifestsBelow(match, excluding)))
    else found.push({ path: match, named: false })
  }
  if (found.length === 0 && excluding.met.size === 0) throw new UsageError('no-manifest', `no file matches ${path}`)
  return found
}

async function kindOf(path: string): Promise<'file' | 'folder' | 'nothing'> {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 'nothing' : found.isDirectory() ? 'folder' : 'file'
}

/** Hidden files and installed packages aren't manifests. */
const isOthers = (name: string): boolean => /^(\.[^./]|node_modules$)/.test(name)

const isManifestName = (name: string): boolean => /\.(ya?ml|json)$/.test(name)
const isLookedAt = (entry: Dirent): boolean => entry.isDirectory() || isManifestName(entry.name)

/** In the order of their names. Links to folders aren't followed. */
async function manifestsBelow(folder: string, excluding: Excluding): Promise<Found[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(unreadable(folder))
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  const found: Found[] = []
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (isOthers(entry.name)) continue
    if (isLookedAt(entry) && excluding.leavesOut(path)) continue
    if (entry.isDirectory()) found.push(...(await manifestsBelow(path, excluding)))
    else if (isManifestName(entry.name) && (await kindOf(path)) === 'file') found.push({ path, named: false })
  }
  return found
}
