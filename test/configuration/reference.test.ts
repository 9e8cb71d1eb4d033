import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatDuration } from '../../src/admission/check/duration.ts'
import { type Check, formatCheck } from '../../src/admission/check/grammar.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { configurationKeys } from '../../src/configuration/keys.ts'
import { readConfiguration } from '../../src/configuration/read.ts'

const page = await readFile(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8')
const rows = new Map(
  [...page.matchAll(/^\| `([^`]+)` \| (.*?) \| (.*?) \| .*\|$/gm)].map(([, key = '', takes = '', standard = '']) => [
    key,
    { takes, standard },
  ]),
)
const keys = Object.entries(configurationKeys).flatMap(([object, names]) =>
  names.map((name) => (object === '' ? name : `${object}.${name}`)),
)

test('docs/configuration.md has every key of the configuration, and no other', () => {
  assert.deepEqual([...rows.keys()].toSorted(), keys.toSorted())
})

test('docs/configuration.md has the defaults of a configuration that says nothing', () => {
  const standard: Record<string, unknown> = { ...defaultConfiguration('VERSION') }
  for (const [key, row] of rows) {
    const [object = '', name] = key.split('.')
    if (key.includes('[]') || object.startsWith('rules') || !(object in standard)) continue
    const section = standard[object] as Record<string, unknown>
    const value = name === undefined ? section : section[name]
    if (['waiter', 'defaults', 'annotations', 'enforced'].includes(key)) continue
    assert.equal(row.standard, shown(key, value), key)
  }
})

function shown(key: string, value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return 'none'
  if (value instanceof Set) return value.size === 0 ? 'none' : 'all'
  if (/\.(?:timeout|lockRestarts|endAppear)$/.test(key)) return `\`${formatDuration(Number(value))}\``
  if (key.endsWith('.check')) return `\`${formatCheck(value as Check)}\``
  return `\`${value}\``
}

test('docs/configuration.md has every value of a key that takes one of some', () => {
  let compared = 0
  for (const [key, { takes }] of rows) {
    const isList = takes.startsWith('a list')
    const [object = '', ...names] = key.split('.')
    const written = names.reduceRight((inner, name) => `{${name}: ${inner}}`, isList ? '[zz]' : 'zz')
    const list = object.endsWith('[]')
    const text = list ? `rules: [${written}]` : `${object}: ${written}`
    const read = readConfiguration(`apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${text}\n`, 'VERSION')
    for (const { fault } of read.ok ? [] : read.problems) {
      if (fault.kind !== 'wrong-value' || fault.problem.kind !== 'unknown-choice') continue
      compared++
      assert.deepEqual(
        [...takes.matchAll(/`([^`]+)`/g)].map(([, value]) => value).toSorted(),
        [...fault.problem.choices].toSorted(),
        key,
      )
    }
  }
  assert.ok(compared >= 15, `${compared}`)
})
