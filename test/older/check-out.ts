import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** The last commits of versions before. */
const older = {
  /** Knows no lock. */
  '0.1': 'f4d68a1bdb7a1345671d90df82a8d50a78f5e65c',
  /** Refuses a lock that names a sidecar. */
  unnamed: 'a1ec815827c1fa425da8926531e801ea50405dd3',
  /** Knows no lease, and writes the variables of the first tier first. */
  unleased: 'bf74432834a2ed5c91b239dd4e783c30cd633331',
} as const

/**
 * The source of a version before; its packages are the present ones. It stays where it is: what Node keeps of what it has compiled goes by that
 * place, and not below node_modules, where Node strips no types.
 * @returns its program
 */
export async function checkOut(version: keyof typeof older): Promise<string> {
  const commit = older[version]
  const cache = join(root, '.older')
  const place = join(cache, commit)
  const program = join(place, 'src/main.ts')
  if (existsSync(program)) return program
  await mkdir(cache, { recursive: true })
  const made = await mkdtemp(join(cache, 'made-'))
  const archive = join(made, 'tar')
  const parts = ['package.json', 'src', 'certs', 'rollouts', 'manifests']
  await run('git', ['-c', 'safe.directory=*', '-C', root, 'archive', '-o', archive, commit, ...parts]).catch(
    (cause) => {
      const why = `the commit ${commit}, a version before, isn't in this clone: fetch the whole history (git fetch --unshallow)`
      throw new Error(why, { cause })
    },
  )
  await run('tar', ['-xf', archive, '-C', made])
  await rm(archive)
  // Until a release this one has the same version.
  const manifest = join(made, 'package.json')
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace(/"version": ".*"/, '"version": "0.0.9"'))
  // Another test may have been faster.
  await rename(made, place).catch((error) => existsSync(program) || Promise.reject(error))
  return program
}
