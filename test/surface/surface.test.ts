import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { version } from '../../src/version.ts'
import { lost, surface } from './surface.ts'

// UPDATE_GOLDEN=1 records the present surface: with each release, and only then.
const file = join(import.meta.dirname, 'released.txt')
const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8')

test('nothing that a release had has gone without having been deprecated', async () => {
  const now = await surface()
  if (process.env.UPDATE_GOLDEN) writeFileSync(file, `${[`# ${version}`, ...now].join('\n')}\n`)
  const released = readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)
  assert.ok(released.length > 200)
  assert.deepEqual(lost(released, now, page), [])
})

test('a name that is gone is told; what is new is free, and so is what the page says was removed', () => {
  assert.deepEqual(lost(['flag a', 'flag b'], ['flag b', 'flag c'], page), ['flag a'])
  const said = '## Removed\n\n| what | since |\n|---|---|\n| `flag a` | 0.3 |\n\n## Next\n| `flag d` | |\n'
  assert.deepEqual(lost(['flag a', 'flag b'], ['flag b'], said), [])
  assert.deepEqual(lost(['flag d'], [], said), ['flag d'])
})
