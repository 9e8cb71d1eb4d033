// node scripts/shipped/krew.ts TARBALL URL: the manifest for Krew, kubectl's plugin manager, of the npm package TARBALL, which will be at URL
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { stringify } from 'yaml'
import { version } from '../../src/version.ts'

/** @param archive the npm package, in which all is below `package/` */
export function krewManifest(archive: Buffer, uri: string): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'sidecar-first' },
      spec: {
        version: `v${version}`,
        shortDescription: "Have a pod's sidecars ready before its app starts",
        description:
          "Shows what sidecar-first's webhook would do to manifests, installs it, checks an installation or one pod,\nand draws how a pod started.\n",
        caveats: 'It needs Node.js 22.19 or newer on the PATH.\n',
        platforms: [
          {
            selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['darwin', 'linux'] }] },
            uri,
            sha256: createHash('sha256').update(archive).digest('hex'),
            bin: 'package/dist/sidecar-first.mjs',
          },
        ],
      },
    },
    { lineWidth: 0 },
  )
}

if (import.meta.main) {
  const [tarball, url] = process.argv.slice(2)
  if (tarball === undefined || url === undefined) throw new Error('usage: krew.ts TARBALL URL')
  process.stdout.write(krewManifest(await readFile(tarball), `${url.replace(/\/$/, '')}/${basename(tarball)}`))
}
