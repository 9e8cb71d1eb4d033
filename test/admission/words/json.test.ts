import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { byteLength } from '../../../src/admission/words/json.ts'
import { codePoint } from '../arbitraries.ts'

test('the bytes of a text are those that UTF-8 has', () => {
  for (const text of ['', 'plain', '\u007f', '\u0080', 'naïve-✓', 'plain, then \u{1f600}', '\ud800']) {
    assert.equal(byteLength(text), Buffer.byteLength(text), JSON.stringify(text))
  }
  fc.assert(
    fc.property(fc.string({ unit: codePoint }), (text) => assert.equal(byteLength(text), Buffer.byteLength(text))),
  )
})
