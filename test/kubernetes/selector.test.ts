import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectorText } from '../../src/kubernetes/selector.ts'

test('a selector as kubectl and the API server take it', () => {
  assert.equal(selectorText(undefined), '')
  assert.equal(
    selectorText({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
        { key: 'new', operator: 'Exists' },
        { key: 'zone', operator: 'NotIn', values: ['c'] },
      ],
    }),
    'app=web,tier in (a, b),!old,new,zone notin (c)',
  )
})
