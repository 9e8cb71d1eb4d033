import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../manifests/', import.meta.url))

/** The text of each file below manifests/, by its path there. In the bundle, the texts replace this module (scripts/bundle.ts). */
export const manifests: Readonly<Record<string, string>> = Object.fromEntries(
  globSync('**/*.yaml', { cwd: folder }).map((path) => [path, readFileSync(folder + path, 'utf8')]),
)
