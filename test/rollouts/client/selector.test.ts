import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSelector } from '../../../rollouts/client/selector.ts'
import type { LabelSelector } from '../../../src/admission/pod/selector.ts'
import { selectorText } from '../../../src/kubernetes/selector.ts'

const read = (text: string) => {
  const parsed = parseSelector(text)
  return parsed.ok ? parsed.value : parsed.problem
}

test('selectors as kubectl takes them', () => {
  assert.deepEqual(read('app=shop'), { matchLabels: { app: 'shop' } })
  assert.deepEqual(read('app==shop, example.com/tier = web'), {
    matchLabels: { app: 'shop', 'example.com/tier': 'web' },
  })
  assert.deepEqual(read('tier in (web, api),track notin (canary),!legacy,app,zone!=b,empty='), {
    matchLabels: { empty: '' },
    matchExpressions: [
      { key: 'tier', operator: 'In', values: ['web', 'api'] },
      { key: 'track', operator: 'NotIn', values: ['canary'] },
      { key: 'legacy', operator: 'DoesNotExist' },
      { key: 'app', operator: 'Exists' },
      { key: 'zone', operator: 'NotIn', values: ['b'] },
    ],
  })
})

test('one label asked for twice stays asked for twice', () => {
  const twice = { matchLabels: { app: 'a' }, matchExpressions: [{ key: 'app', operator: 'In', values: ['b'] }] }
  assert.deepEqual(read('app=a,app=b'), twice)
})

test('what is not a requirement is quoted', () => {
  for (const wrong of ['', 'app=shop,', '=shop', 'app=a b', 'tier in ()x', 'tier in (a', '-x', 'tier of (a)']) {
    assert.match(String(read(wrong)), /is not a label requirement; write it like app=shop/, wrong)
  }
})

test('what is written is read back', () => {
  const key = fc.constantFrom('app', 'example.com/tier', 'a.b_c')
  const value = fc.constantFrom('shop', 'v1.2', 'x_y-z')
  const plain = { noNullPrototype: true }
  const among = fc.record(
    { key, operator: fc.constantFrom('In', 'NotIn'), values: fc.array(value, { minLength: 2 }) },
    plain,
  )
  const presence = fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }, plain)
  const selector = fc.record(
    {
      matchLabels: fc.dictionary(key, value, { minKeys: 1, ...plain }),
      matchExpressions: fc.array(fc.oneof(among, presence), { minLength: 1 }),
    },
    plain,
  )
  fc.assert(fc.property(selector, (one) => assert.deepEqual(read(selectorText(one as LabelSelector)), one)))
})
