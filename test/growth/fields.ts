/** Where a field is: keys from the root, `*` for any item of a list. */
export type Way = readonly string[]

/** `value`: a text, a number or a truth; nothing below it is read. `open`: a map of which every key is read. */
export interface Field {
  readonly way: Way
  readonly form: 'value' | 'list' | 'map' | 'open'
}

/**
 * The fields that a reader knows, found by watching it: each key that it asks for is offered as a map, a list and a text, and where it looks
 * inside, what it asks for there is offered in its turn. A field that somebody begins to read tomorrow is found the same way.
 * @param seed what the reader gets otherwise
 */
export function fieldsOf(read: (input: unknown) => void, seed: unknown): readonly Field[] {
  const found = new Map<string, Field>()
  explore(read, seed, found)
  return [...found.values()]
}

function explore(read: (input: unknown) => void, seed: unknown, found: Map<string, Field>): void {
  const waiting: Way[] = [[]]
  const seen = new Set<string>()
  const learn = (way: Way): Field['form'] => {
    const name = way.join(' ')
    const known = found.get(name)
    const form = !known || known.form === 'value' ? formOf(read, seed, way) : known.form
    found.set(name, { way, form })
    return form
  }
  for (let way = waiting.shift(); way !== undefined; way = waiting.shift()) {
    for (const key of keysRead(read, seed, way)) {
      const child = [...way, key]
      if (seen.has(child.join(' ')) || child.length > deepest) continue
      seen.add(child.join(' '))
      const form = learn(child)
      if (form === 'map' || form === 'open') waiting.push(child)
      if (form === 'list' && learn([...child, item]) !== 'value') waiting.push([...child, item])
    }
  }
}

export const item = '*'
/** Handlers of probes' headers are eight deep. */
const deepest = 14

function formOf(read: (input: unknown) => void, seed: unknown, way: Way): Field['form'] {
  if (touches(read, seed, way, [{}]).some((key) => key === length || key === '0')) return 'list'
  const keys = touches(read, seed, way, {})
  return keys.includes(all) ? 'open' : keys.length > 0 ? 'map' : 'value'
}

/** Some are only read where another one has a value. */
function keysRead(read: (input: unknown) => void, seed: unknown, way: Way): readonly string[] {
  const asked = (value?: unknown) =>
    touches(read, seed, way, value).filter((key) => key !== all && key !== length && key !== '0')
  const first = [...asked(), ...(way.length === 0 ? [] : asked({}))]
  if (way.length === 0) return first
  return [...first, ...first.flatMap((key) => ['x', 1].flatMap((value) => asked({ [key]: value })))]
}

const all = '\u0000all'
const length = 'length'

/** What a reader asks of the value at a way. */
function touches(read: (input: unknown) => void, seed: unknown, way: Way, value: unknown): readonly string[] {
  const place = way.join(' ')
  const heard = new Set<string>()
  const input = value === undefined ? seed : put(seed, way, value)
  try {
    read(watched(input, [], (at, key) => at.join(' ') === place && heard.add(key)))
  } catch {
    // What has been asked for by then counts: readers of what the API server has checked rely on its types.
  }
  return [...heard]
}

function watched(value: unknown, way: Way, hear: (way: Way, key: string) => void): unknown {
  if (typeof value !== 'object' || value === null) return value
  const isList = Array.isArray(value)
  return new Proxy(value, {
    get(target, key, receiver) {
      const got: unknown = Reflect.get(target, key, receiver)
      if (typeof key === 'symbol' || key === 'toJSON' || typeof got === 'function') return got
      hear(way, key)
      return watched(got, [...way, isList ? item : key], hear)
    },
    has(target, key) {
      if (typeof key === 'string') hear(way, key)
      return Reflect.has(target, key)
    },
    ownKeys(target) {
      hear(way, all)
      return Reflect.ownKeys(target)
    },
    getOwnPropertyDescriptor(target, key) {
      return Reflect.getOwnPropertyDescriptor(target, key)
    },
  })
}

/** What is at a way; of lists the first item. */
export function get(whole: unknown, way: Way): unknown {
  return way.reduce<unknown>((at, key) => {
    if (typeof at !== 'object' || at === null) return undefined
    return (at as Record<string, unknown>)[key === item ? '0' : key]
  }, whole)
}

/** A copy with a value at a way. Of a list it is the first item, unless `at` says which of the outermost. */
export function put(whole: unknown, way: Way, value: unknown, at = 0): unknown {
  const [key, ...rest] = way
  if (key === undefined) return value
  if (key === item) {
    const list = Array.isArray(whole) ? whole : []
    return list.length <= at ? [...list, put(undefined, rest, value)] : list.with(at, put(list[at], rest, value))
  }
  const map = typeof whole === 'object' && whole !== null && !Array.isArray(whole) ? whole : {}
  return { ...map, [key]: put((map as Record<string, unknown>)[key], rest, value, at) }
}
