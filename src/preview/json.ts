import type { Json } from '../admission/words/json.ts'

export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** No real manifest is this deep; the parsers and walkers here overflow the stack at three times as much. */
export const deepest = 256

// Source text access (ES2026) is in Node 22, but not yet in TypeScript's library.
declare global {
  interface JSON {
    parse(text: string, reviver: (key: string, value: Json, context: { source?: string }) => Json): Json
    rawJSON(text: string): object
  }
}

const integer = /^-?\d+$/

/** JSON text to a value in which integers that a number can't hold are bigints. Throws as `JSON.parse` does. */
export function parseJson(text: string): Json {
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && integer.test(source)
      ? BigInt(source)
      : value,
  )
}

/** The opposite of `parseJson`. */
export function formatJson(value: unknown, indent?: string | number): string {
  return JSON.stringify(
    value,
    (_key, inner: unknown) => (typeof inner === 'bigint' ? JSON.rawJSON(String(inner)) : inner),
    indent,
  )
}

/** A key, as written, that an object already has; line and column count from 1. */
interface Duplicate {
  readonly key: string
  readonly line: number
  readonly column: number
}

/** What `JSON.parse` hides: nesting too deep to work with, and the first duplicate keys, at most `most`. */
export function scanJson(text: string, most: number): { deep: boolean; duplicates: Duplicate[] } {
  const open: Set<string>[] = []
  const duplicates: Duplicate[] = []
  // counted as they pass: a text may have a duplicate in every few bytes
  let line = 1
  let lineStart = 0
  const interesting = /["{}[\]\n]/g
  for (let found = interesting.exec(text); found !== null; found = interesting.exec(text)) {
    const [character] = found
    if (character === '\n') {
      line++
      lineStart = interesting.lastIndex
    } else if (character === '{' || character === '[') open.push(new Set())
    else if (character === '"') {
      const end = stringEnd(text, found.index)
      interesting.lastIndex = end
      const keys = open.at(-1)
      if (keys === undefined || !colonAt(text, end)) continue
      const key = text.slice(found.index, end)
      if (keys.has(key) && duplicates.length < most) duplicates.push({ key, line, column: found.index - lineStart + 1 })
      keys.add(key)
    } else open.pop()
    if (open.length > deepest) return { deep: true, duplicates }
  }
  return { deep: false, duplicates }
}

/** Behind the string that begins at an offset. By hand: a regular expression with a loop in a loop overflows on megabytes. */
export function stringEnd(text: string, start: number): number {
  let end = start
  let escapes = 0
  do {
    end = text.indexOf('"', end + 1)
    if (end < 0) return text.length
    escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
  } while (escapes % 2 === 1)
  return end + 1
}

function colonAt(text: string, offset: number): boolean {
  let at = offset
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at++
  return text[at] === ':'
}
