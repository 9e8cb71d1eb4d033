import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  durationRange,
  formatDuration,
  formatLockRestarts,
  parseDuration,
  parseLockRestarts,
  waitRange,
} from '../../../src/admission/check/duration.ts'
import { textOf } from '../../../src/admission/words/messages.ts'

test('a duration is read to the millisecond', () => {
  const good = {
    '100ms': 100,
    '1s': 1000,
    '1m30s': 90_000,
    '1s500ms': 1500,
    '10m': 600_000,
    '1m1ms': 60_001,
    '0m5s': 5000,
  }
  for (const [text, value] of Object.entries(good)) assert.deepEqual(parseDuration(text), { ok: true, value }, text)
})

test('what is not a duration is told so with the text and an example', () => {
  for (const text of [
    '',
    '5',
    's',
    '1.5s',
    '-1s',
    '+1s',
    ' 1s',
    '1s ',
    '1S',
    '1s1m',
    '1ms1s',
    '1s1s',
    '1e3s',
    '１s',
    'ms',
  ]) {
    const result = parseDuration(text)
    assert.ok(!result.ok, text)
    assert.match(textOf(result.problem), /is not a duration; use 100ms to 10m, such as 1m30s/)
    assert.ok(textOf(result.problem).includes(JSON.stringify(text)))
  }
})

test('a duration outside of 100ms to 10m is out of range', () => {
  for (const text of ['0s', '99ms', '10m1ms', '1h', '1d', '999999999h', '999999999d']) {
    const result = parseDuration(text)
    assert.ok(!result.ok, text)
    assert.match(textOf(result.problem), /out of range; use 100ms to 10m/)
  }
})

test('a range says what else is accepted, both ends included', () => {
  const range = durationRange('1s', '7d')
  const problemOf = (text: string) => {
    const result = parseDuration(text, range)
    return result.ok ? undefined : textOf(result.problem)
  }
  const good = { '1s': 1000, '7d': 604_800_000, '6d23h59m59s999ms': 604_799_999, '1d12h': 129_600_000, '11m': 660_000 }
  for (const [text, value] of Object.entries(good))
    assert.deepEqual(parseDuration(text, range), { ok: true, value }, text)
  for (const text of ['0d', '999ms', '7d1ms', '8d']) {
    assert.equal(problemOf(text), `"${text}" is out of range; use 1s to 7d`)
  }
  for (const text of ['1h1d', '1d1d', '1.5d', '7D']) {
    assert.equal(problemOf(text), `"${text}" is not a duration; use 1s to 7d, such as 1m30s`)
  }
})

test('a later start waits up to 30s, or always; what is meant otherwise is named', () => {
  const good = { '0s': 0, '0ms': 0, '5s': 5000, '1s500ms': 1500, '30s': 30_000, '0m30s': 30_000, always: 'always' }
  for (const [text, value] of Object.entries(good)) assert.deepEqual(parseLockRestarts(text), { ok: true, value }, text)
  const wrong = {
    '31s': '30s',
    '30s1ms': '30s',
    '10m': '30s',
    '5': '5s',
    '0': '0s',
    '90': '30s',
    Always: 'always',
    alway: 'always',
    '': undefined,
    never: undefined,
    '-1s': undefined,
    '1.5s': undefined,
    '5 s': undefined,
  }
  for (const [text, near] of Object.entries(wrong)) {
    const result = parseLockRestarts(text)
    assert.ok(!result.ok, text)
    const meant = near === undefined ? '' : `; did you mean ${near}?`
    assert.equal(
      textOf(result.problem),
      `${JSON.stringify(text)} is neither a duration from 0s to 30s nor always${meant}`,
    )
  }
  fc.assert(
    fc.property(fc.nat(30_000), (value) => {
      assert.deepEqual(parseLockRestarts(formatLockRestarts(value)), { ok: true, value })
    }),
  )
})

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: waitRange.least, max: waitRange.most }), (value) => {
      assert.deepEqual(parseDuration(formatDuration(value)), { ok: true, value })
    }),
  )
})
