// node scripts/shipped/krew.ts TARBALL URL: the manifest for Krew, kubectl's plugin manager, of the npm package TARBALL, which will be at URL
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { version } from '../../src/version.ts'

/** @param archive the npm package, in which all is below `package/` */
export function krewManifest(archive: Buffer, uri: string): string {
  const sha256 = createHash('sha256').update(archive).digest('hex')
  const template = readFileSync(join(import.meta.dirname, 'krew.yaml'), 'utf8')
  return template.replace('VERSION', version).replace('URI', uri).replace('SHA256', sha256)
}

if (import.meta.main) {
  const [tarball, url] = process.argv.slice(2)
  if (tarball === undefined || url === undefined) throw new Error('usage: krew.ts TARBALL URL')
  process.stdout.write(krewManifest(readFileSync(tarball), `${url.replace(/\/$/, '')}/${basename(tarball)}`))
}
