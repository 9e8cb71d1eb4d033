import type { Json } from '../words/json.ts'
import { mostProblems } from '../words/limits.ts'
import type { Problem, Shape } from '../words/messages.ts'

/** None of the fields read here is a property that all objects inherit, so a key like `constructor` in a manifest is only a key. */
export type Fields = { readonly [key: string]: Json }

/**
 * Reads fields of unknown shape and collects what doesn't fit. Null counts as absent, as in the API. The current place is kept as a stack
 * of keys, so that a path is only written for a problem.
 */
export class Reader {
  readonly problems: Problem[] = []
  readonly #place: (string | number)[] = []

  map<T>(fields: Fields, key: string, read: (fields: Fields, reader: Reader) => T): T | undefined {
    const value = fields[key]
    if (value === undefined || value === null) return undefined
    this.#place.push(key)
    const result = isMap(value) ? read(value, this) : this.expected('map')
    this.#place.pop()
    return result
  }

  /** A null item is read as an empty map. */
  maps<T>(fields: Fields, key: string, read: (fields: Fields, reader: Reader, index: number) => T): readonly T[] {
    return this.#list(fields, key, (item, index) => {
      if (!isMap(item) && item !== null) this.expected('map')
      return read(isMap(item) ? item : nothing, this, index)
    })
  }

  texts(fields: Fields, key: string): readonly string[] {
    return this.#list(fields, key, (item) => {
      if (typeof item === 'string') return item
      if (item !== null) this.expected('text')
      return ''
    })
  }

  text(fields: Fields, key: string): string {
    const value = fields[key]
    if (typeof value === 'string') return value
    if (value !== undefined && value !== null) this.expected('text', key)
    return ''
  }

  number(fields: Fields, key: string, absent: number): number {
    const value = fields[key]
    if (value === undefined || value === null || value === 0) return absent
    if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= 2_147_483_647) return value
    this.expected('number', key)
    return absent
  }

  /** An int64, as far as JSON has whole numbers. */
  long(fields: Fields, key: string): number {
    const value = fields[key] ?? 0
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
    this.expected('number', key)
    return 0
  }

  port(fields: Fields, key: string): number | string {
    const value = fields[key]
    if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value
    this.expected('port', key)
    return 0
  }

  /** Whether a command can run is only checked where it is used: the API accepts more, and other containers don't concern us. */
  command(fields: Fields, key: string): readonly string[] {
    const words = this.texts(fields, key)
    if (words.length === 0) this.expected('command', key)
    return words
  }

  expected(expected: Shape, key?: string): undefined {
    this.problem({ kind: 'unexpected-value', expected }, key)
  }

  problem(problem: Problem, key?: string): undefined {
    if (this.problems.length >= mostProblems) return
    const place = key === undefined ? this.#place : [...this.#place, key]
    const path = place.map((part, at) => (typeof part === 'number' ? `[${part}]` : at === 0 ? part : `.${part}`))
    this.problems.push({ ...problem, path: path.join('') })
  }

  #list<T>(fields: Fields, key: string, read: (item: Json, index: number) => T): readonly T[] {
    const value = fields[key]
    if (value === undefined || value === null) return []
    if (!Array.isArray(value)) {
      this.expected('list', key)
      return []
    }
    const items: T[] = []
    this.#place.push(key)
    for (let index = 0; index < value.length; index++) {
      this.#place.push(index)
      items.push(read(value[index], index))
      this.#place.pop()
    }
    this.#place.pop()
    return items
  }
}

export const nothing: Fields = {}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isPresent(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}
