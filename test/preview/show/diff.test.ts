import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { markedLines } from '../../../src/diff/lines.js'
import { runs } from '../../runs.ts'

const marksOf = (old: readonly string[], fresh: readonly string[]) => markedLines(old, fresh).map(({ mark }) => mark)

const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })

/** The most lines that two texts have in common, in order: by the textbook, in quadratic time. */
function common(old: readonly string[], fresh: readonly string[]): number {
  let row: number[] = Array(fresh.length + 1).fill(0)
  for (const line of old) {
    const next = [0]
    for (const [at, other] of fresh.entries()) {
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(next[at] ?? 0, row[at + 1] ?? 0))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

test('the marks turn one text into the other, and keep as many lines as can be kept', () => {
  fc.assert(
    fc.property(lines, lines, (old, fresh) => {
      const marks = marksOf(old, fresh)
      const [from, to] = [old.values(), fresh.values()]
      for (const mark of marks) {
        const [before, after] = [mark === '+' ? undefined : from.next(), mark === '-' ? undefined : to.next()]
        if (before && after) assert.equal(before.value, after.value)
      }
      assert.ok(from.next().done && to.next().done)
      assert.equal(marks.filter((mark) => mark === ' ').length, common(old, fresh))
    }),
    runs(2000),
  )
})

test('texts with more than a thousand changed lines are shown as replaced', () => {
  const numbered = (letter: string) => Array.from({ length: 600 }, (_, index) => letter + index)
  assert.deepEqual(new Set(marksOf(numbered('a'), numbered('b')).slice(0, 600)), new Set(['-']))
})
