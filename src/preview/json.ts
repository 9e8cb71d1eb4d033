import type { Json } from '../admission/operation.ts'

export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Nobody's manifest is this deep; the parsers and walkers here overflow the stack at three times as much. */
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

/** What `JSON.parse` hides: nesting too deep to be worked with, and keys that an object has twice (by offset). */
export function scanJson(text: string): { deep: boolean; duplicates: { key: string; offset: number }[] } {
  const token = /[{}[\]]|("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g
  const open: Set<string>[] = []
  const duplicates = []
  for (const match of text.matchAll(token)) {
    const [found, string, colon] = match
    if (found === '{' || found === '[') open.push(new Set())
    else if (found === '}' || found === ']') open.pop()
    else if (string !== undefined && colon !== undefined) {
      const keys = open.at(-1)
      if (keys?.has(string)) duplicates.push({ key: string, offset: match.index })
      keys?.add(string)
    }
    if (open.length > deepest) return { deep: true, duplicates }
  }
  return { deep: false, duplicates }
}
