/**
 * node scripts/shipped/sbom.ts LIST SERVER_ROOT…: prints a CycloneDX SBOM of what a release is made of. LIST is what is bundled, from
 * scripts/bundle.ts. The roots are the server image's files for each architecture, from images/server-root.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { type Component, goComponent, nodeComponent } from './components.ts'

/** The system's packages in an image, as `/var/lib/dpkg/status.d` says. */
function systemComponents(root: string): object[] {
  const folder = join(root, 'var/lib/dpkg/status.d')
  const distribution = /^ID=(.*)$/m.exec(readFileSync(join(root, 'etc/os-release'), 'utf8'))?.[1] ?? 'debian'
  return readdirSync(folder).map((file) => {
    const text = readFileSync(join(folder, file), 'utf8')
    const field = (name: string) => {
      const value = new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
      if (!value) throw new Error(`${join(folder, file)} has no ${name}`)
      return value
    }
    const [version, architecture] = [field('Version'), field('Architecture')]
    const purl = `pkg:deb/${distribution}/${file}@${encodeURIComponent(version)}?arch=${architecture}`
    return { type: 'library', 'bom-ref': purl, name: file, version, purl }
  })
}

const componentOf = ({ name, version, licence, purl }: Component) => ({
  type: 'library',
  'bom-ref': purl,
  name,
  version,
  licenses: [licence.includes(' ') ? { expression: licence } : { license: { id: licence } }],
  purl,
})

/** What Node itself contains, as it says. */
const insideNode = Object.entries(process.versions)
  .filter(([name, version]) => !['node', 'modules', 'napi'].includes(name) && version)
  .map(([name, version]) => ({ type: 'library', 'bom-ref': `node/${name}`, name, version }))

const [list, ...roots] = process.argv.slice(2)
if (list === undefined) throw new Error('usage: sbom.ts LIST SERVER_ROOT…')
const bundled: Component[] = JSON.parse(readFileSync(list, 'utf8'))
const system = new Map(roots.flatMap((root) => systemComponents(root)).map((each) => [JSON.stringify(each), each]))
const { name, version, license } = manifest
const sbom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': name,
      name,
      version,
      licenses: [{ license: { id: license } }],
      purl: `pkg:npm/${name}@${version}`,
    },
  },
  components: [
    ...bundled.map(componentOf),
    { ...componentOf(nodeComponent()), components: insideNode },
    componentOf(goComponent()),
    ...system.values(),
  ],
}
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`)
