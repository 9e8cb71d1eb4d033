import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { imageTexts, matchesImage } from '../../src/admission/intent/glob.ts'
import { clausesOf } from '../../src/webhooks/clauses.ts'
import { runs } from '../runs.ts'
import { rule } from './rules.ts'

const pieces = (...parts: readonly string[]) => fc.array(fc.constantFrom(...parts), { minLength: 1, maxLength: 6 })
const glob = pieces('*', '*', '*/', ':*', '/', ':', '@', 'a', 'b.', '1').map((parts) => parts.join(''))
const image = pieces('/', ':', '@', 'a', 'b.', '1').map((parts) => parts.join(''))

/** What the API server searches an image for; RE2 and JavaScript read it alike. */
function regexOf(globs: readonly string[]): RegExp {
  const [clause] = clausesOf([rule({ images: globs })])
  const literal = /c\.image\.matches\((".*")\)/s.exec(clause?.text ?? '')?.[1] ?? assert.fail(clause?.text)
  return new RegExp(JSON.parse(literal))
}

test('the API server finds the images that a rule matches', () => {
  fc.assert(
    fc.property(fc.array(glob, { minLength: 1, maxLength: 4 }), image, (globs, text) => {
      const wanted = globs.some((each) => matchesImage(each, imageTexts(text)))
      assert.equal(regexOf(globs).test(text), wanted)
    }),
    runs(5000),
  )
})

test('what many globs share is written once', () => {
  assert.equal(regexOf(['*/a:*', '*/b:*']).source, String.raw`(^|\/)(a|b)(:|$|@[^/@]*$)`)
})
