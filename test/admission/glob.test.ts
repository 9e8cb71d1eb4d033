import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchesGlob, surestWord, wordsOf } from '../../src/admission/glob.ts'

const pieces = fc.array(fc.constantFrom('*', '/', ':', '.', '-', 'a', 'ab', 'proxy', '2'), { maxLength: 8 })
const pattern = pieces.map((parts) => parts.join(''))
const text = pieces.map((parts) => parts.filter((part) => part !== '*').join(''))

test('* stands for any characters, / among them; nothing else is special', () => {
  assert.ok(matchesGlob('*/proxyv2:*', 'example/istio/proxyv2:1.2'))
  assert.ok(!matchesGlob('*/proxyv2:*', 'example/proxyv2x:1'))
  assert.ok(!matchesGlob('a.c', 'abc'))
})

test('matches as a regular expression would', () => {
  fc.assert(
    fc.property(pattern, text, (glob, value) => {
      const source = glob
        .split('*')
        .map((part) => part.replaceAll(/[.\\-]/g, '\\$&'))
        .join('.*')
      assert.equal(matchesGlob(glob, value), new RegExp(`^${source}$`).test(value))
    }),
  )
})

test('many stars take no time', () => {
  assert.ok(!matchesGlob(`${'*a'.repeat(2000)}b`, 'a'.repeat(4000)))
})

test('a text that fits has the surest word', () => {
  fc.assert(
    fc.property(pattern, text, (glob, value) => {
      const word = surestWord(glob)
      if (word !== undefined && matchesGlob(glob, value))
        assert.ok(wordsOf(value).includes(word), `${glob} ${value} ${word}`)
    }),
  )
  assert.equal(surestWord('*/proxyv2:*'), 'proxyv2')
  assert.equal(surestWord('*proxy*'), undefined)
})
