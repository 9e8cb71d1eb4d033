import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { imageTexts, matchesGlob, matchesImage } from '../../../src/admission/intent/glob.ts'

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

const fits = (glob: string, image: string) => matchesImage(glob, imageTexts(image))

test('a glob for images without a tag, or with any, takes any tag, any digest, and neither', () => {
  const digest = `@sha256:${'0'.repeat(64)}`
  for (const glob of ['*/proxyv2', '*/proxyv2:*']) {
    for (const name of ['proxyv2', 'istio/proxyv2', 'registry:5000/istio/proxyv2']) {
      for (const rest of ['', ':1.27', digest, `:1.27${digest}`]) assert.ok(fits(glob, name + rest), name + rest)
    }
    for (const other of ['notproxyv2', 'proxyv2/x', 'proxyv2x:1', 'proxyv2:1/x'])
      assert.ok(!fits('*/proxyv2', other), other)
  }
  assert.ok(!fits('proxyv2', 'istio/proxyv2'))
  assert.ok(!fits('registry', 'registry:5000/x'), 'a port is not a tag')
  assert.ok(fits('registry:*', 'registry:5000/x'), 'unless somebody wrote it')
})

test('a glob with a tag takes it with a digest, and no other tag', () => {
  assert.ok(fits('*/proxyv2:1.27', 'istio/proxyv2:1.27@sha256:00'))
  assert.ok(!fits('*/proxyv2:1.27', 'istio/proxyv2:1.28'))
  assert.ok(!fits('*/proxyv2:1.27', 'istio/proxyv2'))
  assert.ok(!fits('*/proxyv2@*', 'istio/proxyv2:1.27'))
})

test('many stars take no time', () => {
  assert.ok(!matchesGlob(`${'*a'.repeat(2000)}b`, 'a'.repeat(4000)))
})
