import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createItemReader } from '../../src/kubernetes/list-items.ts'
import { runs } from '../runs.ts'

/** A list in chunks of that many bytes, taken apart and put together again. */
function taken(text: string, size: number): unknown {
  const bytes = Buffer.from(text)
  const reader = createItemReader()
  const items: string[] = []
  for (let at = 0; at < bytes.length; at += size) {
    const chunk = Buffer.from(bytes.subarray(at, at + size))
    items.push(...reader.read(chunk))
    // As a socket's buffer is used again.
    chunk.fill(0)
  }
  return { ...reader.rest(), items: items.map((item) => JSON.parse(item)) }
}

test('a list is the same whether it is parsed as a whole or taken apart, wherever its chunks end', () => {
  const value = fc.jsonValue({ maxDepth: 4 })
  const item = fc.dictionary(fc.string(), value)
  const list = fc.record({
    kind: fc.constant('PodList'),
    metadata: fc.record({ continue: fc.string(), resourceVersion: fc.string() }),
    items: fc.array(item),
  })
  fc.assert(
    fc.property(list, fc.integer({ min: 1, max: 200 }), fc.constantFrom(undefined, 2), (value, size, indent) => {
      const text = JSON.stringify(value, null, indent)
      assert.deepEqual(taken(text, size), JSON.parse(text))
    }),
    runs(1000),
  )
})

test('what stands in texts is no bracket, and characters of several bytes may be cut', () => {
  const text = JSON.stringify({ items: [{ a: '}],"items":[{\\"' }, { b: 'Größe 🦊' }], metadata: { continue: 'x' } })
  for (let size = 1; size < 12; size++) assert.deepEqual(taken(text, size), JSON.parse(text))
})

test('a list that was cut off is an error, not an end', () => {
  assert.throws(() => taken('{"kind":"PodList","metadata":{"continue":"x"},"items":[{"a":1},{"b"', 9), SyntaxError)
})
