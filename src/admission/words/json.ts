/** Any value JSON can hold. `bigint` stands for an integer that a JavaScript number can't hold (previews read those losslessly). */
export type Json = string | number | bigint | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** The operations of JSON Patch (RFC 6902) that we write. Paths and `from` are JSON Pointers. */
export type Operation =
  | { readonly op: 'add'; readonly path: string; readonly value: Json }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move'; readonly from: string; readonly path: string }

/** A JSON Pointer (RFC 6901) to a path of keys and indices. */
export function pointer(...path: readonly (string | number)[]): string {
  let text = ''
  for (const token of path) {
    const plain = typeof token === 'number' || !/[~/]/.test(token)
    text += `/${plain ? token : token.replaceAll('~', '~0').replaceAll('/', '~1')}`
  }
  return text
}

const encoder = new TextEncoder()

/** Of a text in UTF-8. Nearly all are ASCII, and encoding takes memory for each. */
export function byteLength(text: string): number {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return encoder.encode(text).length
  return text.length
}

/** Whether a text has at most so many bytes in UTF-8, where a character has up to three: short texts needn't be encoded to know. */
export function isWithin(most: number, text: string): boolean {
  return text.length * 3 <= most || byteLength(text) <= most
}
