import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatDuration, longest, parseDuration, shortest } from '../../src/admission/duration.ts'

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

test('what is no duration is told so with the text', () => {
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
    '1d',
    '1e3s',
    '１s',
    'ms',
  ]) {
    const result = parseDuration(text)
    assert.ok(!result.ok, text)
    assert.match(result.problem, /is no duration; write it like 1m30s/)
    assert.ok(result.problem.includes(JSON.stringify(text)))
  }
})

test('a duration outside of 100ms to 10m is out of range', () => {
  for (const text of ['0s', '99ms', '10m1ms', '1h', '999999999h']) {
    const result = parseDuration(text)
    assert.ok(!result.ok, text)
    assert.match(result.problem, /out of range; use 100ms to 10m/)
  }
})

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.integer({ min: shortest, max: longest }), (value) => {
      assert.deepEqual(parseDuration(formatDuration(value)), { ok: true, value })
    }),
  )
})
