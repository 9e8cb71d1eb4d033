import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { imageTexts, matchesGlob, matchesImage } from '../../../src/admission/intent/glob.ts'
import type { Rule } from '../../../src/admission/intent/rule.ts'
import { containerCandidates, indexRules, labelCandidates } from '../../../src/admission/intent/rule-index.ts'
import { findRules } from '../../../src/admission/intent/rules.ts'
import { selects } from '../../../src/admission/pod/selector.ts'

type Sought = Parameters<ReturnType<typeof findRules>>[0]

const rule = (match: Partial<Rule['match']>): Rule =>
  ({ match: { containers: undefined, images: undefined, podSelector: undefined, ...match } }) as Rule
const container = (name: string, image: string) => ({ name, image }) as Sought

const pieces = (...parts: readonly string[]) => fc.array(fc.constantFrom(...parts), { maxLength: 6 })
const glob = pieces('*', '*', '/', ':', ':*', '@', 'a', 'b', 'ab', 'proxy', '-1').map((parts) => parts.join(''))
const text = pieces('/', ':', '@', 'a', 'b', 'ab', 'proxy', '-1').map((parts) => parts.join(''))
const key = fc.constantFrom('k', 'l')
const value = fc.constantFrom('x', 'y')
const selector = fc.record(
  {
    matchLabels: fc.dictionary(key, value, { maxKeys: 2 }),
    matchExpressions: fc.array(
      fc.oneof(
        fc.record({
          key,
          operator: fc.constantFrom('In' as const, 'NotIn' as const),
          values: fc.array(value, { minLength: 1 }),
        }),
        fc.record({ key, operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const) }),
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
)
const globs = fc.option(fc.array(glob, { minLength: 1, maxLength: 3 }), { nil: undefined })
const anyRule = fc
  .record({ containers: globs, images: globs, podSelector: fc.option(selector, { nil: undefined }) })
  .map(rule)

test('finds the rule that looking at each in turn finds', () => {
  fc.assert(
    fc.property(
      fc.array(anyRule, { maxLength: 12 }),
      text,
      text,
      fc.dictionary(key, value),
      (rules, name, image, labelled) => {
        const labels = new Map(Object.entries(labelled))
        const first = rules.find(
          ({ match: { containers, images, podSelector } }) =>
            (containers === undefined || containers.some((each) => matchesGlob(each, name))) &&
            (images === undefined || images.some((each) => matchesImage(each, imageTexts(image)))) &&
            (podSelector === undefined || selects(podSelector, labels)),
        )
        assert.equal(findRules(indexRules(rules), labels, [], () => false)(container(name, image)), first)
      },
    ),
  )
})

test('among ten thousand rules that no word narrows, few are looked at', () => {
  const numbered = (match: (n: number) => Partial<Rule['match']>) =>
    indexRules(Array.from({ length: 10_000 }, (_, n) => rule(match(n))))
  const labels = new Map([['team', 'team77']])
  for (const index of [
    numbered((n) => ({ containers: [`*side${n}car*`] })),
    numbered((n) => ({ images: [`*/proxy*${n}x*`] })),
    numbered((n) => ({ images: [`*${n}*`], containers: [`s*${n}`] })),
    numbered((n) => ({ podSelector: { matchLabels: { team: `team${n}` } } })),
    numbered((n) => ({
      containers: ['*'],
      podSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: [`team${n}`] }] },
    })),
  ]) {
    const looked = [
      ...labelCandidates(index, labels),
      ...containerCandidates(index, { name: 'side77car', image: 'example/proxy77x:1' }),
    ].flat()
    assert.ok(looked.length <= 100, `${looked.length} of 10,000`)
  }
})

test('what no registry and no cluster takes as a name is compared with nothing', () => {
  const long = `example/${'a'.repeat(600)}`
  const find = findRules(indexRules([rule({ images: ['*'] })]), new Map(), [], () => false)
  assert.equal(find(container('c', long)), undefined)
})
