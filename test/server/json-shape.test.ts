import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Shape, scan } from '../../src/server/json-shape.ts'
import { codePoint } from '../admission/arbitraries.ts'

/** The same numbers, from what the text stands for. */
function shapeOf(value: unknown): Shape {
  if (typeof value !== 'object' || value === null) return { values: 1, members: 0, depth: 0 }
  const inner = Object.values(value).map(shapeOf)
  const sum = (of: (shape: Shape) => number) => inner.reduce((total, shape) => total + of(shape), 0)
  return {
    values: 1 + sum(({ values }) => values),
    members: (Array.isArray(value) ? 0 : inner.length) + sum(({ members }) => members),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  }
}

test('what is counted in the bytes is what JSON.parse would build', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: codePoint, maxDepth: 6 }),
      fc.constantFrom('', ' ', '\t\n'),
      (value, space) => {
        const text = JSON.stringify(value, undefined, space)
        assert.deepEqual(scan(Buffer.from(text)), shapeOf(JSON.parse(text)))
      },
    ),
  )
})

test('brackets, quotes and backslashes in strings count for nothing', () => {
  for (const value of ['[[{,:', '\\', '"', '\\"[', 'a\\\\"],[', '\u2028{', '≤[}']) {
    assert.deepEqual(scan(Buffer.from(JSON.stringify({ [value]: [value] }))), { values: 3, members: 1, depth: 2 })
  }
  assert.deepEqual(scan(Buffer.from('[ ]')), { values: 1, members: 0, depth: 1 })
})

test('of a text that breaks off, and of bytes that are not JSON, something is counted', () => {
  for (const text of ['', '"', '"\\', '[[[', ']]]]', '{"a":', '\u0000']) {
    const { values, depth } = scan(Buffer.from(text))
    assert.ok(values >= 0 && depth >= 0 && depth <= text.length, text)
  }
})
