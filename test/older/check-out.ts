import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
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
 * The source of a version before; its packages are the present ones.
 * @returns its program
 */
export async function checkOut(version: keyof typeof older, to: string): Promise<string> {
  const archive = `${to}.tar`
  const commit = older[version]
  const parts = ['package.json', 'src', 'certs', 'rollouts', 'manifests']
  await run('git', ['-c', 'safe.directory=*', '-C', root, 'archive', '-o', archive, commit, ...parts]).catch(
    (cause) => {
      const why = `the commit ${commit}, a version before, isn't in this clone: fetch the whole history (git fetch --unshallow)`
      throw new Error(why, { cause })
    },
  )
  await mkdir(to)
  await run('tar', ['-xf', archive, '-C', to])
  await symlink(join(root, 'node_modules'), join(to, 'node_modules'))
  // Until a release this one has the same version.
  const manifest = await readFile(join(to, 'package.json'), 'utf8')
  await writeFile(join(to, 'package.json'), manifest.replace(/"version": ".*"/, '"version": "0.0.9"'))
  return join(to, 'src/main.ts')
}
