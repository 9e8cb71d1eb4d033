import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pauseOf } from '../../src/page/asking.js'

const now = Date.parse('2026-11-22T12:00:00Z')
const date = (milliseconds: number) => new Date(now + milliseconds).toUTCString()

for (const [said, pause] of [
  ['1', 1000],
  ['5', 5000],
  ['1.5', 1500],
  [date(5000), 5000],
  // The server is never asked in a tight loop, nor forgotten: a timer of over 2³¹ ms would end at once.
  ['0', 1000],
  ['', 1000],
  ['-5', 1000],
  [date(-60_000), 1000],
  [date(86_400_000), 30_000],
  ['9999999', 30_000],
  ['1e999', 30_000],
  ['NaN', 2000],
  ['soon', 2000],
] as const) {
  test(`a server that is too busy and says Retry-After ${JSON.stringify(said)} is asked again after ${pause} ms`, () => {
    assert.equal(pauseOf(said, now), pause)
  })
}
