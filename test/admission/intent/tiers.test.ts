import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSidecars } from '../../../src/admission/intent/tiers.ts'
import { textOf } from '../../../src/admission/words/messages.ts'

const good: readonly [string, readonly (readonly string[] | '*')[]][] = [
  ['envoy', [['envoy']]],
  ['vault-agent, envoy + otel', [['vault-agent'], ['envoy', 'otel']]],
  [' a\t+b ,\n*, c', [['a', 'b'], '*', ['c']]],
  ['*', ['*']],
  ['constructor,to-string', [['constructor'], ['to-string']]],
  ['a'.repeat(63), [['a'.repeat(63)]]],
]
for (const [text, tiers] of good) {
  test(`reads ${JSON.stringify(text)}`, () => assert.deepEqual(parseSidecars(text), { ok: true, value: tiers }))
}

const bad: readonly [string, number, RegExp][] = [
  ['', 1, /a container name/],
  ['   ', 4, /a container name/],
  ['a,,b', 3, /a container name/],
  ['a,', 3, /a container name/],
  ['+a', 1, /a container name/],
  ['a + ', 5, /a container name/],
  ['a, b, a', 7, /"a" is named twice/],
  ['*,*', 3, /twice/],
  ['a,b+*', 5, /"\*" has to stand alone/],
  ['*+b', 1, /"\*" has to stand alone/],
  ['a, Envoy', 4, /"Envoy" is not a container name/],
  ['a,-b', 3, /not a container name/],
  ['a b', 1, /not a container name/],
  ['__proto__', 1, /not a container name/],
  ['a'.repeat(64), 1, /not a container name/],
  ['naïve', 1, /not a container name/],
]
for (const [text, character, what] of bad) {
  test(`points at character ${character} of ${JSON.stringify(text)}`, () => {
    const result = parseSidecars(text)
    assert.ok(!result.ok)
    assert.match(textOf(result.problem), new RegExp(`character ${character} of`))
    assert.match(textOf(result.problem), what)
  })
}
