import { randomUUID } from 'node:crypto'
import { access, chmod, constants, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { readText } from '../files/files.ts'
import { findFiles } from '../files/paths.ts'
import { UsageError } from '../terminal/command.ts'
import { type FixFile, fixesFor } from './fix.ts'
import type { Fix } from './fix-words.ts'
import type { ScannedWorkload } from './survey.ts'

/** YAML takes seconds and hundreds of megabytes for so many bytes. */
const most = 8_000_000

/** Where a file really is, so that no link leads out of the folder. */
interface Placed extends FixFile {
  readonly path: string
}

/**
 * Writes the lines of a scan into the manifests below a folder, each file whole or not at all.
 * @throws UsageError if the folder can't be read
 */
export async function fixFolder(
  folder: string,
  exclude: readonly string[],
  workloads: readonly ScannedWorkload[],
): Promise<readonly Fix[]> {
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new UsageError('flag-value', '--fix takes a folder with manifests')
  const root = await realpath(folder)
  const { found } = await findFiles([folder], exclude)
  const { files, told } = await readAll(
    found.map(({ path }) => path),
    { folder, root },
  )
  const fixes = fixesFor(workloads, files)
  const written: Fix[] = []
  for (const { file, text, told } of fixes.changed) {
    const why = await replace(file as Placed, text, root)
    written.push(...(why === undefined ? told : [why]))
  }
  // What wasn't read matters only where something was found nowhere.
  const isMissing = fixes.told.some(({ kind }) => kind === 'no-file')
  return [...written, ...fixes.told, ...fixes.unread, ...(isMissing ? told : [])]
}

async function readAll(
  paths: readonly string[],
  { folder, root }: { folder: string; root: string },
): Promise<{ files: Placed[]; told: Fix[] }> {
  const files: Placed[] = []
  const told: Fix[] = []
  const seen = new Set<string>()
  for (const name of paths) {
    const left = (why: 'link' | 'unreadable', detail?: string) =>
      told.push({ kind: 'not-written', place: name, why, ...(detail !== undefined && { detail }) })
    try {
      const path = await realpath(name)
      if (seen.has(path)) continue
      seen.add(path)
      const { size } = await stat(path)
      if (!isBelow(path, root)) left('link')
      else if (size > most) left('unreadable', `it is over ${most / 1e6} MB`)
      else {
        // It goes by its own name where links lead to it, too.
        const own = join(folder, relative(root, path))
        files.push({ name: paths.includes(own) ? own : name, path, text: await readText(path) })
      }
    } catch (error) {
      left('unreadable', error instanceof Error ? error.message : String(error))
    }
  }
  return { files, told }
}

function isBelow(path: string, root: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`)
}

/** A file of the new text takes the old one's place, so that nobody sees half of it. Returns why it did not. */
async function replace({ name, path, text: old }: Placed, text: string, root: string): Promise<Fix | undefined> {
  const failed = (why: 'unwritable' | 'changed' | 'link', detail?: string): Fix => ({
    kind: 'not-written',
    place: name,
    why,
    ...(detail !== undefined && { detail }),
  })
  const folder = dirname(path)
  const half = join(folder, `.sidecar-first-${randomUUID()}`)
  try {
    await access(path, constants.W_OK)
    const { mode } = await stat(path)
    const file = await open(half, 'wx', mode)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    // The umask has taken some of it away.
    await chmod(half, mode)
    if ((await realpath(path)) !== path || !isBelow(path, root)) return failed('link')
    if (!(await readFile(path)).equals(Buffer.from(old))) return failed('changed')
    await rename(half, path)
    return undefined
  } catch (error) {
    return failed('unwritable', error instanceof Error ? error.message : String(error))
  } finally {
    await rm(half, { force: true })
  }
}
