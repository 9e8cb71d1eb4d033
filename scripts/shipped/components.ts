/** What others wrote of what we ship: the packages in the bundle, Node, and Go's standard library in the waiter. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

const root = join(import.meta.dirname, '../..')

export interface Component {
  readonly name: string
  readonly version: string
  /** An SPDX expression. */
  readonly licence: string
  /** The licence's and notice's texts, as they came. */
  readonly texts: readonly string[]
  /** A package URL, as an SBOM has it. */
  readonly purl: string
}

/** Licences that ask only for their text to come along. Another one is for a person to read before it ships. */
const KNOWN: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'Unlicense',
])

/**
 * The packages that esbuild put something of into a bundle, by name and version.
 * @throws of a package whose licence isn't known here, or that brings no text of it
 */
export function bundledComponents(metafiles: readonly Metafile[]): Component[] {
  const outputs = metafiles.flatMap((metafile) => Object.values(metafile.outputs))
  const inputs = outputs.flatMap((output) => Object.entries(output.inputs))
  const folders = inputs.flatMap(([path, { bytesInOutput }]) => {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0]
    return folder && bytesInOutput > 0 ? [folder] : []
  })
  const components = [...new Set(folders)].map((folder) => npmComponent(join(root, folder)))
  const found = new Map(components.map((component) => [`${component.name}@${component.version}`, component]))
  return [...found.keys()].sort().flatMap((key) => found.get(key) ?? [])
}

/** Node, as the image has it. */
export function nodeComponent(): Component {
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/node/package.json'), 'utf8')) as {
    version: string
  }
  const platform = `node_modules/node/node_modules/node-linux-${process.arch}`
  // npm puts the platform's package beside `node` or below it.
  const folder = [platform, platform.replace('node/node_modules/', '')].find((each) => existsSync(join(root, each)))
  if (!folder) throw new Error(`no package of Node for ${process.arch}`)
  return {
    name: 'Node.js',
    version,
    licence: 'MIT',
    texts: textsOf(join(root, folder)),
    purl: `pkg:generic/node@${version}`,
  }
}

/** Go's runtime and standard library, all that the waiter is made of besides our own code. */
export function goComponent(): Component {
  const [goroot = '', version = ''] = execFileSync('go', ['env', 'GOROOT', 'GOVERSION'], { encoding: 'utf8' }).split(
    '\n',
  )
  const number = version.replace(/^go/, '')
  const texts = ['LICENSE', 'PATENTS'].map((name) => readFileSync(join(goroot, name), 'utf8'))
  return { name: 'Go', version: number, licence: 'BSD-3-Clause', texts, purl: `pkg:golang/stdlib@${number}` }
}

function npmComponent(folder: string): Component {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >
  if (typeof name !== 'string' || typeof version !== 'string')
    throw new Error(`${folder}: package.json has no name or version`)
  const licence = typeof license === 'string' ? license : ''
  const choices = licence.replace(/^\(|\)$/g, '').split(' OR ')
  if (!choices.some((each) => KNOWN.has(each)))
    throw new Error(`${name} ${version} has the licence ${licence || '(none)'}: read it before it ships`)
  const texts = textsOf(folder)
  if (texts.length === 0) throw new Error(`${name} ${version} brings no text of its licence, ${licence}`)
  return { name, version, licence, texts, purl: `pkg:npm/${name.replace('@', '%40')}@${version}` }
}

function textsOf(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /^(?:(?:un)?licen[cs]e|copying|notice)(?:\.\w+)?$/i.test(name))
  return names.sort().map((name) => readFileSync(join(folder, name), 'utf8'))
}
