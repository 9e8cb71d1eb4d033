import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LabelSelector } from '../../src/admission/pod/selector.ts'
import { setOf } from '../../src/webhooks/set.ts'

test('a set is named by what its selector says, in whatever order', () => {
  const one: LabelSelector = {
    matchLabels: { team: 'a', stage: 'prod' },
    matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['x', 'y'] }],
  }
  const other: LabelSelector = {
    matchExpressions: [
      { key: 'zone', operator: 'NotIn', values: ['y', 'x', 'x'] },
      { key: 'stage', operator: 'In', values: ['prod'] },
    ],
    matchLabels: { team: 'a' },
  }
  assert.equal(setOf(one), setOf(other))
  // It stands in paths of configurations that are applied: a new version must name it the same.
  assert.equal(setOf(one), '25a3fffb33')
})

test('selectors that say something else have sets of their own', () => {
  const selectors: LabelSelector[] = [
    {},
    { matchLabels: { a: 'b' } },
    { matchLabels: { b: 'a' } },
    { matchLabels: { a: 'b', b: 'a' } },
    { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] },
    { matchExpressions: [{ key: 'a', operator: 'Exists' }] },
    { matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] },
    { matchExpressions: [{ key: 'a', operator: 'In', values: ['b,c'] }] },
  ]
  const sets = selectors.map(setOf)
  assert.equal(new Set(sets).size, selectors.length)
  for (const set of sets) assert.match(set, /^[0-9a-f]{10}$/)
})
