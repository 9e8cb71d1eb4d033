import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createKeeper, readHandover } from '../../src/starts/handover.ts'

const now = Date.parse('2026-01-01T10:00:00Z')

test('what is left is what the next one finds; of many writes at once the last one stays, and no half', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'handover-'))
  const path = join(folder, 'counted.json')
  const keeper = createKeeper(path, assert.fail)
  for (let index = 0; index < 100; index++) keeper.keep({ until: now - 1000 + index, except: new Set(['a', 'b']) })
  await keeper.done()
  assert.deepEqual(await readHandover(path, now), { until: now - 901, except: new Set(['a', 'b']) })
  assert.deepEqual(readdirSync(folder), ['counted.json'])
  rmSync(folder, { recursive: true })
})

test('a file that is missing, broken, too old or from the future counts from now on', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'handover-'))
  const path = join(folder, 'counted.json')
  const nothing = { until: now, except: new Set() }
  assert.deepEqual(await readHandover(undefined, now), nothing)
  assert.deepEqual(await readHandover(path, now), nothing)
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"until":"x","except":[]}',
    `{"until":${now - 7_200_000},"except":[]}`,
    `{"until":${now + 7_200_000},"except":[]}`,
    `{"until":${now}}`,
  ]) {
    writeFileSync(path, text)
    assert.deepEqual(await readHandover(path, now), nothing, text)
  }
  rmSync(folder, { recursive: true })
})

test('a folder that takes no file is told, and stops nothing', async () => {
  const told: string[] = []
  const keeper = createKeeper('/nowhere/at/all', ({ message }) => void told.push(message))
  keeper.keep({ until: now, except: new Set() })
  await keeper.done()
  assert.match(told.join(), /ENOENT/)
})
