import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { areaOf, areas, catalogue } from '../../src/messages/catalogue.ts'
import { messagesPage } from '../../src/messages/render.ts'

const update = process.env.UPDATE_GOLDEN === '1'
const page = new URL('../../docs/messages.md', import.meta.url)
const record = new URL('codes.txt', import.meta.url)

describe('the codes of messages', () => {
  test('no two messages share one, and each is in an area', () => {
    const codes = catalogue.map(({ code }) => code)
    assert.deepEqual(
      codes.filter((code, index) => codes.indexOf(code) !== index),
      [],
      'used twice: take the next free number of the hundred',
    )
    for (const code of codes) assert.ok(/^SF\d{3}$/.test(code) && areaOf(code) in areas, code)
  })

  // codes.txt only ever grows. What isn't there any more stays as retired.
  test('one never changes its meaning, and none that was given up is used again', () => {
    const today = new Map<string, string>(catalogue.map(({ code, kind }) => [code, kind]))
    const before = new Map(
      readFileSync(record, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split(' ') as [string, string]),
    )
    for (const [code, kind] of before) {
      const now = today.get(code)
      assert.ok(now === undefined || now === kind, `${code} was ${kind} and is ${now} now: take a new code for ${now}`)
    }
    const all = new Map([...before].map(([code, kind]) => [code, today.has(code) ? kind : 'retired']))
    for (const [code, kind] of today) all.set(code, kind)
    const lines = [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([code, kind]) => `${code} ${kind}\n`)
    if (update) writeFileSync(record, lines.join(''))
    assert.equal(readFileSync(record, 'utf8'), lines.join(''), 'stale: UPDATE_GOLDEN=1 refreshes it')
  })

  test('each has an entry that says what it means and what to do', () => {
    for (const { code, kind, grade, text, means, next } of catalogue) {
      assert.notEqual(text, '', code)
      if (grade === 'ok') continue
      assert.match(means, /\.$/, `${code} ${kind}`)
      assert.notEqual(next, '', `${code} ${kind}`)
    }
  })

  test('docs/messages.md has them all as they are today', () => {
    const text = messagesPage(catalogue)
    if (update) writeFileSync(page, text)
    assert.equal(readFileSync(page, 'utf8'), text, 'stale: UPDATE_GOLDEN=1 refreshes it')
  })
})
