import { coded } from '../admission/words/messages.ts'
import { printable } from '../admission/words/printable.ts'
import type { Preview } from './preview.ts'

/** In characters. Node's client takes a head of 16 KiB; the API server stops at this for the same reason. */
const most = 4096
/** A warning has at most 256; the name before it is user input. */
const longest = 640

/**
 * The warnings of previews as values of the header `Warning` (RFC 9111, 5.5), in the form that kubectl knows from an API server: one each,
 * `299 - "text"`. Of several objects each says which one it is about.
 */
export function warningHeader(previews: readonly Preview[]): string[] {
  const texts = previews.flatMap(({ object: { kind, name }, decision: { warnings } }) =>
    warnings.map(coded).map((text) => (previews.length > 1 ? `${kind}${name && ` ${name}`}: ${text}` : text)),
  )
  const values: string[] = []
  let length = 0
  for (const [index, text] of texts.entries()) {
    const value = headerValue(text)
    length += value.length
    if (length > most) return [...values, headerValue(`and ${texts.length - index} more warnings`)]
    values.push(value)
  }
  return values
}

/** Headers are bytes to Node: UTF-8 goes as the bytes that it is. A kind or a name may hold anything. */
function headerValue(text: string): string {
  const line = printable(text, longest).replaceAll(/["\\]/g, '\\$&')
  return `299 - "${Buffer.from(line).toString('latin1')}"`
}
