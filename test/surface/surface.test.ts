import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { version } from '../../src/version.ts'
import { lost, surface } from './surface.ts'

// RECORD_SURFACE=1 records the present surface: with each release, and only then. (UPDATE_GOLDEN would do it unasked, with other files.)
const file = join(import.meta.dirname, 'released.txt')
const page = readFileSync(join(import.meta.dirname, '../../docs/compatibility.md'), 'utf8')

test('nothing that a release had has gone without having been deprecated', async () => {
  const now = await surface()
  if (process.env.RECORD_SURFACE) writeFileSync(file, `${[`# ${version}`, ...now].join('\n')}\n`)
  const released = readFileSync(file, 'utf8').trimEnd().split('\n').slice(1)
  assert.ok(released.length > 200)
  assert.deepEqual(lost(released, now, page), [])
})

test('every metric that the docs name is on the list, with its labels', async () => {
  const now = new Set(await surface())
  const pages = ['operating', 'certificates', 'rollouts', 'starts'].map((page) =>
    readFileSync(join(import.meta.dirname, `../../docs/${page}.md`), 'utf8'),
  )
  const named = [...pages.join('\n').matchAll(/`(sidecar_first_[a-z_]+[a-z])(?:\{([a-z,]+)\})?`/g)]
  assert.ok(named.length > 30)
  const missing = named.flatMap(([, name = '', labels = '']) =>
    [`metric ${name}`, ...labels.split(',').flatMap((label) => (label ? [`metric ${name}{${label}}`] : []))].filter(
      (line) => !now.has(line),
    ),
  )
  assert.deepEqual(missing, [])
})

test('a name that is gone is told; what is new is free, and so is what the page says was removed', () => {
  assert.deepEqual(lost(['flag a', 'flag b'], ['flag b', 'flag c'], page), ['flag a'])
  const said = '## Removed\n\n| what | since |\n|---|---|\n| `flag a` | 0.3 |\n\n## Next\n| `flag d` | |\n'
  assert.deepEqual(lost(['flag a', 'flag b'], ['flag b'], said), [])
  assert.deepEqual(lost(['flag d'], [], said), ['flag d'])
})
