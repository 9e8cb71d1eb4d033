import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, test } from 'node:test'
import type { Metafile } from 'esbuild'
import { bundledComponents } from '../../scripts/shipped/components.ts'
import { notices, requireNotices } from '../../scripts/shipped/notices.ts'

const root = join(import.meta.dirname, '../..')
const work = mkdtempSync(join(tmpdir(), 'sidecar-first-notices-'))
after(() => rmSync(work, { recursive: true }))

/** A bundle that something of this package went into. */
function bundleOf(name: string, manifest: object, files: Record<string, string>, bytesInOutput = 1): Metafile[] {
  const folder = join(work, 'node_modules', name)
  mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries({ ...files, 'package.json': JSON.stringify(manifest) }))
    writeFileSync(join(folder, file), text)
  const path = join(relative(root, folder), 'deep/er/index.js')
  return [
    {
      inputs: {},
      outputs: { 'out.mjs': { bytes: 1, inputs: { [path]: { bytesInOutput } }, imports: [], exports: [] } },
    },
  ]
}

test('a package in the bundle, with a scope: its version, licence and text', () => {
  const metafiles = bundleOf(
    '@a/b',
    { name: '@a/b', version: '1.2.3', license: '(GPL-2.0 OR MIT)' },
    { 'LICENSE.md': 'Do what\r\nyou like.  \n' },
  )
  const [component, ...others] = bundledComponents(metafiles)
  assert.ok(component)
  assert.deepEqual(others, [])
  assert.equal(component.purl, 'pkg:npm/%40a/b@1.2.3')
  assert.match(notices([component]), /^@a\/b 1\.2\.3\nLicence: \(GPL-2\.0 OR MIT\)\n\nDo what\nyou like\.$/m)
  assert.throws(() => requireNotices([component]), /THIRD-PARTY-NOTICES lacks @a\/b 1\.2\.3: run npm run notices/)
})

test('a package that nothing was taken of is none of ours', () => {
  assert.deepEqual(bundledComponents(bundleOf('unused', {}, {}, 0)), [])
})

test('a licence that nobody has read, or whose text is missing, stops the build', () => {
  const manifest = { name: 'odd', version: '1.0.0', license: 'SSPL-1.0' }
  assert.throws(
    () => bundledComponents(bundleOf('odd', manifest, { LICENSE: 'x' })),
    /^Error: odd 1\.0\.0 has the licence SSPL-1\.0: read it before it ships$/,
  )
  assert.throws(
    () => bundledComponents(bundleOf('bare', { name: 'bare', version: '1.0.0' }, {})),
    /bare 1\.0\.0 has the licence \(none\)/,
  )
  const silent = { name: 'silent', version: '1.0.0', license: 'MIT' }
  assert.throws(
    () => bundledComponents(bundleOf('silent', silent, { README: 'MIT' })),
    /silent 1\.0\.0 brings no text of its licence, MIT/,
  )
})
