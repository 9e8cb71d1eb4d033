import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { krewManifest } from '../../scripts/shipped/krew.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

// Krew's rules: pkg/index/validation.
test("Krew's manifest names this version, the archive's checksum, and the program in it", () => {
  const archive = Buffer.from('an archive')
  const { metadata, spec } = parse(krewManifest(archive, 'https://example.com/sidecar-first-0.1.0.tgz'))
  const [platform] = spec.platforms
  assert.equal(metadata.name, 'sidecar-first')
  assert.equal(spec.version, `v${manifest.version}`)
  assert.ok(spec.shortDescription.length <= 50 && !spec.shortDescription.endsWith('.'))
  assert.equal(platform.sha256, createHash('sha256').update(archive).digest('hex'))
  assert.equal(platform.bin, `package/${manifest.bin['kubectl-sidecar_first']}`)
})
