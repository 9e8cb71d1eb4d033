import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { readMetadata, readSpec } from '../../src/admission/pod/read.ts'
import { review, reviewFinal, reviewMark, reviewUnlocked } from '../../src/admission/review.ts'
import { keys, perContainer } from '../../src/admission/words/keys.ts'
import { costly, share } from '../runs.ts'
import { type Content, itemsFor, members, type Ours, textsFor } from './contents.ts'
import { cpu, Judge, sizeOf } from './cost.ts'
import { type Field, fieldsOf, item } from './fields.ts'
import { type Context, crossed, manySidecars, oursIn, podWith, podWithAll, reviewOf, sampled } from './pods.ts'

/** GROWTH=16: the largest that a review can have, and everything crossed. */
const times = Number(process.env.GROWTH ?? 1)
/** Characters, and items. What many sidecars share is less for each. */
const lengths = { text: 48_000 * times, shared: 40_000, items: 4000 * times }

const configuration = defaultConfiguration('0.0.0-test')
const fields = fieldsOf(
  (body) => {
    for (const ask of [review, reviewUnlocked, reviewFinal, reviewMark]) ask(body, configuration)
    const { object } = (body as { request: { object: unknown } }).request
    everything(readMetadata(object))
    everything(readSpec(object))
  },
  reviewOf({ spec: { containers: [{}] } }),
)
  .filter(({ way }) => way[0] === 'request' && way[1] === 'object' && way.length > 2)
  .map(({ way, form }): Field => ({ way: way.slice(2), form }))

/** Some of a pod is only read when somebody asks for it. */
function everything(value: unknown): void {
  if (typeof value === 'function') everything(value())
  else if (value instanceof Map) for (const each of value.values()) everything(each)
  else if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) everything(each)
}

const annotations = [...Object.values(keys), ...Object.values(perContainer).map((key) => `${key}s`)].map(
  (key): Field => ({ way: ['metadata', 'annotations', key], form: 'value' }),
)

test('the fields of a pod are found by watching who reads it', () => {
  const found = new Map(fields.map(({ way, form }) => [way.join('.'), form]))
  assert.equal(found.get('spec.containers.*.lifecycle.postStart.exec.command'), 'list')
  assert.equal(found.get('spec.containers.*.env.*.valueFrom.fileKeyRef.key'), 'value')
  assert.equal(found.get('spec.containers.*.livenessProbe.httpGet.path'), 'value')
  assert.equal(found.get('spec.tolerations.*.key'), 'value')
  assert.equal(found.get('metadata.annotations'), 'open')
})

test('what an admission costs grows with the size of what stands in a pod, whatever that is', costly, () => {
  const plain = plainCost()
  const judge = new Judge(ask, (bytes) => plain * bytes)
  const ours = oursIn()
  // A share of the share: each field takes a tenth of a second.
  const tried = share(share([...fields, ...annotations]))
  for (const field of tried) for (const place of placesOf(field)) run(judge, field, place, ours)
  assert.deepEqual(judge.excesses, [])
  assert.ok(judge.read > 5 * tried.length, `${judge.read} cases`)
})

interface Asked {
  readonly body: unknown
  readonly context: Context
}

/** As the API server does, one after the other. */
function ask(input: unknown): void {
  const { body, context } = input as Asked
  for (const each of [reviewUnlocked, review, reviewFinal]) each(body, context.configuration)
}

/** In which containers a field is filled: by their place, or in each of many sidecars. */
type Place = number | 'each'

function placesOf({ way }: Field): readonly Place[] {
  if (way[2] !== item) return [0]
  return way[1] === 'containers' ? [0, 1, 'each'] : times > 1 ? [0, 1] : [1]
}

let turn = 0

function run(judge: Judge, field: Field, place: Place, ours: Ours): void {
  const { way, form } = field
  const contents = contentsOf(field, ours)
  const share = place === 'each' ? manySidecars.length : 1
  const n = form === 'value' ? (share > 1 ? lengths.shared : lengths.text) : Math.ceil(lengths.items / share)
  // What we write stands in sidecars; the other containers' fields are the same.
  const isOurs = way[1] === 'containers' && place === 1 && ours.has(way.join(' '))
  const crossings = times > 1 || isOurs ? crossed(contents.length) : sampled(contents.length, share > 1 ? 3 : 6, turn)
  turn += 13
  const made = new Map<string, { readonly value: unknown; readonly bytes: number }>()
  const filled = (content: Content, size: number) => {
    const key = `${content.name} ${size}`
    const known = made.get(key)
    if (known !== undefined) return known
    const value = content.fill(size)
    const one = { value, bytes: share * sizeOf(value) + 2000 }
    made.set(key, one)
    return one
  }
  for (const { content: index, context } of crossings) {
    const content = contents[index]
    if (content === undefined) continue
    const make = (size: number): Asked => {
      const { value } = filled(content, size)
      const pod = place === 'each' ? podWithAll(way, value, context) : podWith(way, value, place, context)
      return { body: reviewOf(pod), context }
    }
    const family = `${way.join('.')} ${place} ${content.name}`
    judge.judge({ name: `${family} ${context.name}`, make, bytes: (size) => filled(content, size).bytes }, n, family)
  }
}

function contentsOf(field: Field, ours: Ours): readonly Content[] {
  switch (field.form) {
    case 'value':
      return textsFor(field.way)
    case 'list':
      return itemsFor(field, fields, ours)
    case 'open':
      return members
    case 'map':
      return []
    default:
      return field.form satisfies never
  }
}

/** ms for each byte of a body that nobody wrote to hurt: parsed, and asked about. */
function plainCost(): number {
  const env = Array.from({ length: 20_000 }, (_, at) => ({ name: `VARIABLE_${at}`, value: `the value of ${at}` }))
  const [crossing] = crossed(1)
  if (crossing === undefined) throw new Error('there is no context')
  const { context } = crossing
  const text = JSON.stringify(reviewOf(podWith(['spec', 'containers', item, 'env'], env, 0, context)))
  let least = Number.POSITIVE_INFINITY
  for (let at = 0; at < 10; at++)
    least = Math.min(
      least,
      cpu(() => ask({ body: JSON.parse(text), context })),
    )
  return least / text.length
}
