import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseReview } from '../../src/server/managed-fields.ts'
import { runs } from '../runs.ts'

const path = ['request', 'object', 'metadata', 'managedFields']
const hostile = [
  ...path,
  'x"managedFields',
  '"managedFields":[',
  '\\"managedFields\\',
  '{"managedFields":',
  '',
  '__proto__',
  '≤',
]

/** Where keys of the path stand is everything; the rest only has to be in the way. Members may stand twice. */
const { value: text } = fc.letrec((tie) => {
  const word = fc.constantFrom(...hostile)
  const string = word.chain((each) =>
    fc.constantFrom(
      JSON.stringify(each),
      `"${[...each].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`,
    ),
  )
  const space = fc.constantFrom('', '', ' ', '\n\t')
  const joined = (parts: fc.Arbitrary<string[]>, [open, close]: readonly [string, string]) =>
    fc
      .tuple(parts, space)
      .map(([each, between]) => `${open}${between}${each.join(`${between},${between}`)}${between}${close}`)
  const member = fc
    .tuple(string, space, space, tie('value'))
    .map((parts) => [parts[0], parts[1], ':', parts[2], parts[3]].join(''))
  const object = joined(fc.array(member, { maxLength: 6 }), ['{', '}'])
  const list = joined(fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 3 }), ['[', ']'])
  const along = fc
    .tuple(fc.array(member, { maxLength: 2 }), space, tie('along'), fc.array(member, { maxLength: 2 }), fc.nat(3))
    .map(
      ([before, between, inner, after, at]) =>
        `{${[...before, `${JSON.stringify(path[at])}${between}:${between}${inner}`, ...after].join()}}`,
    )
  return {
    value: fc.oneof({ maxDepth: 6 }, fc.constantFrom('1', 'null', 'true'), string, object, list, along),
    along: fc.oneof({ maxDepth: 8 }, tie('value'), along, list),
  }
})

/** As the API server writes it, with anything else around and inside. */
const review = fc
  .array(fc.tuple(text as fc.Arbitrary<string>, text as fc.Arbitrary<string>), { minLength: 4, maxLength: 4 })
  .chain((around) => fc.tuple(fc.constant(around), text as fc.Arbitrary<string>, fc.boolean()))
  .map(([around, inner, asList]) =>
    path.reduceRight(
      (value, key, at) => `{"a":${around[at]?.[0]},${JSON.stringify(key)}:${value},"z":${around[at]?.[1]}}`,
      asList ? `[${inner}]` : inner,
    ),
  )

interface Read {
  readonly request?: { readonly object?: { readonly metadata?: unknown } | null } | null
}

/** Without what nobody reads. */
function rest(value: Read | null) {
  const last = value?.request?.object?.metadata
  if (typeof last === 'object' && last !== null && 'managedFields' in last) last.managedFields = null
  return value
}

test('what is read of a review is what a full parse reads, but for its managed fields', () => {
  let skipped = 0
  const check = (written: string) => {
    const [read, full] = [parseReview(Buffer.from(written)), JSON.parse(written)]
    if (JSON.stringify(read) !== JSON.stringify(full)) skipped++
    assert.deepEqual(rest(read as Read), rest(full))
  }
  fc.assert(fc.property(text as fc.Arbitrary<string>, check), runs(2000))
  fc.assert(fc.property(review, check), runs(2000))
  assert.ok(skipped > 0)
})

test('what is wrong is told of the whole review', () => {
  const managed = '{"request":{"object":{"metadata":{"managedFields":[{"a":{}}]}'
  for (const broken of [`${managed}}},}`, managed, managed.slice(0, -2), `[${managed}`]) {
    const message = (read: () => unknown) => {
      try {
        return read()
      } catch (error) {
        return String(error)
      }
    }
    assert.equal(
      message(() => parseReview(Buffer.from(broken))),
      message(() => JSON.parse(broken)),
    )
  }
})
