/** Where managed fields stand in a review, as keys with their quotes. */
const path = ['request', 'object', 'metadata', 'managedFields'].map((key) => Buffer.from(`"${key}"`))

const [quote, backslash, colon, openingBrace, openingBracket] = [0x22, 0x5c, 0x3a, 0x7b, 0x5b]
// `[` and `{`, and `]` and `}`, differ in this bit alone.
const brace = 0x20
const closing = 0x7d

/**
 * What a review says, but for `request.object.metadata.managedFields`: half of a real one, which nobody reads. Their text may also stand in strings
 * and keys that a pod's author or a user's name chose, so they are found by structure alone.
 * @throws SyntaxError
 */
export function parseReview(bytes: Buffer): unknown {
  const place = find(bytes)
  if (place !== undefined) {
    try {
      return JSON.parse(`${bytes.toString('utf8', 0, place.from)}null${bytes.toString('utf8', place.to)}`)
    } catch {
      // What is wrong, and where, is said of the whole.
    }
  }
  return JSON.parse(bytes.toString('utf8'))
}

/** From the list's first byte to behind its last one. */
function find(bytes: Buffer): { readonly from: number; readonly to: number } | undefined {
  if (!bytes.includes('"managedFields"')) return undefined
  let depth = 0
  // How many keys of the path lead to where we are; then we are among the members of an object at `inside + 1` levels.
  let inside = 0
  let from = -1
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === quote) {
      const start = at
      for (at++; at < bytes.length && bytes[at] !== quote; at++) if (bytes[at] === backslash) at++
      if (from !== -1 || depth !== inside + 1) continue
      const key = path[inside]
      if (key === undefined || at + 1 - start !== key.length || bytes.compare(key, 0, key.length, start, at + 1) !== 0)
        continue
      const value = valueAfter(bytes, at + 1)
      if (inside === path.length - 1) {
        if (bytes[value] === openingBracket) from = value
      } else if (bytes[value] === openingBrace) {
        inside++
        depth++
        at = value
      }
    } else if (byte > brace) {
      const bracket = byte | brace
      if (bracket === openingBrace) depth++
      else if (bracket === closing) {
        depth--
        if (from !== -1 && depth === path.length) return { from, to: at + 1 }
        if (depth === inside && inside > 0) inside--
      }
    }
  }
  return undefined
}

/** Where the value of a key begins that ends before `at`; a place where none can if it isn't a key. */
function valueAfter(bytes: Buffer, at: number): number {
  const afterKey = skipSpace(bytes, at)
  return bytes[afterKey] === colon ? skipSpace(bytes, afterKey + 1) : bytes.length
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while ((bytes[at] ?? quote) <= brace) at++
  return at
}
