import { keys, perContainer } from '../../src/admission/words/keys.ts'
import { type Field, item, put, type Way } from './fields.ts'

/** What a field can be filled with, as long or as often as one likes. */
export interface Content {
  readonly name: string
  readonly fill: (n: number) => unknown
}

/** Of each class of characters that a grammar of ours, a shell's, a URL's, JSON's or the kubelet's has a use for, and what isn't ASCII. */
const units = [
  'x',
  '9',
  ' ',
  '\n',
  '"',
  '\\',
  '$',
  '$(',
  '$(A)',
  ')',
  '/',
  '//',
  ':',
  '[',
  ']',
  '{',
  '%',
  '#',
  '?',
  '@',
].concat(['&', ',', '+', '-', '.', '_', '=', '*', '~', '<', 'é', '語', '\u0001', '\ud800'])

/** What stands around a text where it has a form: what it is read for comes behind the form's beginning. */
const frames: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  [`${perContainer.check}s`]: [
    ['http://', ''],
    ['http://x:1/', ''],
    ['grpc://:1/', ''],
    ['unix:///', ''],
    ['exec:["', '"]'],
    ['hook:["x","', '"]'],
  ],
  [keys.status]: [['{"gate":"hook","tiers":[["', '"]]}']],
}

export function textsFor(way: Way): readonly Content[] {
  const around = [['', ''] as const, ...(frames[way.at(-1) ?? ''] ?? [])]
  return around.flatMap(([before, behind]) =>
    units.map((unit) => ({
      name: JSON.stringify(`${before}${unit}…${behind}`),
      // By way of its bytes: a text that V8 keeps as a tree of its parts isn't what JSON.parse makes.
      fill: (n: number) => flat(before + unit.repeat(Math.ceil(n / unit.length)) + behind),
    })),
  )
}

const flat = (text: string) => Buffer.from(text, 'utf16le').toString('utf16le')

/** What lists hold in pods that we have written, by their way; a command is kept whole. */
export type Ours = ReadonlyMap<string, readonly unknown[]>

export function itemsFor(field: Field, fields: readonly Field[], ours: Ours): readonly Content[] {
  const below = fields.filter(({ way, form }) => startsWith(way, [...field.way, item]) && form === 'value')
  const own = ours.get(field.way.join(' ')) ?? []
  if (below.some(({ way }) => way.length === field.way.length + 1)) return [...words, ...own.flatMap(grown)]
  const maps: Content[] = [
    { name: '{}', fill: (n) => Array.from({ length: n }, () => ({})) },
    { name: 'null', fill: (n) => Array.from({ length: n }, () => null) },
    ...[1, 'x', undefined].map((value) => ({
      name: `{all: ${value ?? 'another'}}`,
      fill: (n: number) => Array.from({ length: n }, (_, at) => filled(below, field.way.length + 1, value ?? `k${at}`)),
    })),
  ]
  // As we write it, and with one of its fields alone: a client that doesn't know the others drops them.
  const alike = own
    .filter(isMap)
    .flatMap((one) => [one, ...Object.entries(one).map(([key, value]) => ({ [key]: value }))])
  const distinct = [...new Set(alike.map((one) => JSON.stringify(one)))]
  return [
    ...maps,
    ...distinct.map((json) => ({ name: json, fill: (n: number) => Array.from({ length: n }, () => JSON.parse(json)) })),
  ]
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const startsWith = (way: Way, start: Way) => start.every((key, at) => way[at] === key)

function filled(values: readonly Field[], from: number, value: unknown): unknown {
  const whole = {}
  for (const { way } of values) {
    const rest = way.slice(from)
    if (rest.includes(item) || rest.length === 0) continue
    Object.assign(whole, put(whole, rest, value))
  }
  return whole
}

const words: readonly Content[] = ['', 'x', '1', '$(A)', 'é', '"'].map((word) => ({
  name: `[${JSON.stringify(word)}…]`,
  fill: (n) => Array.from({ length: n }, () => word),
}))

/** A command of ours, cut anywhere and gone on with: with its own rest over and over, with empty words, or with a long word. */
function grown(command: unknown): readonly Content[] {
  if (!Array.isArray(command) || !command.every((word) => typeof word === 'string')) return []
  const name = (at: number) => `${JSON.stringify(command.map((word: string) => word.slice(0, 8)))} from ${at}`
  return command.flatMap((last: string, at: number) => {
    if (at % 3 !== 0 && !last.startsWith('{')) return []
    const start = command.slice(0, at)
    const rest = command.slice(at)
    const cases: Content[] = [
      {
        name: `${name(at)} again`,
        fill: (n) => [...start, ...Array.from({ length: n }, (_, next) => rest[next % rest.length])],
      },
      { name: `${name(at)} empty`, fill: (n) => [...start, ...Array.from({ length: n }, () => '')] },
    ]
    if (last.startsWith('{'))
      cases.push(...grownJson(last).map((json) => ({ ...json, fill: (n: number) => [...start, json.fill(n)] })))
    return cases
  })
}

/** JSON of ours with each of its lists and texts grown. */
function grownJson(text: string): readonly Content[] {
  const found: Content[] = []
  const whole: unknown = JSON.parse(text)
  const walk = (value: unknown, replaced: (by: unknown) => unknown): void => {
    if (typeof value === 'string') {
      found.push({
        name: `${text.slice(0, 40)}: ${value}`,
        fill: (n) => JSON.stringify(replaced(value + 'x'.repeat(n))),
      })
    } else if (Array.isArray(value)) {
      const fill = (n: number) =>
        JSON.stringify(replaced(Array.from({ length: n }, (_, at) => value[at % value.length] ?? {})))
      found.push({ name: `${text.slice(0, 40)}: list`, fill })
      for (const [at, one] of value.entries()) walk(one, (by) => replaced(value.with(at, by)))
    } else if (isMap(value)) {
      for (const [key, one] of Object.entries(value)) walk(one, (by) => replaced({ ...value, [key]: by }))
    }
  }
  walk(whole, (by) => by)
  return found
}

/** Members of a map: any keys, and those that look like ours. */
export const members: readonly Content[] = ['k', ...Object.values(keys), ...Object.values(perContainer)].flatMap(
  (prefix) =>
    ['x', ''].map((value) => ({
      name: `{${prefix}…: ${JSON.stringify(value)}}`,
      fill: (n: number) => Object.fromEntries(Array.from({ length: n }, (_, at) => [`${prefix}${at}`, value])),
    })),
)
