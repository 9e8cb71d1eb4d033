import type { IncomingMessage } from 'node:http'
import { type Bad, wrongMethod } from './send.ts'

export type Body =
  | { readonly whole: true; readonly bytes: Buffer }
  /** Larger than the limit: its beginning, and how much has come, or was announced. */
  | { readonly whole: false; readonly bytes: Buffer; readonly size: number }

/** What the head of a POST already says against it. `types`: the accepted media types, if not all. */
export function checkHead(request: IncomingMessage, types: readonly string[] | undefined): Bad | undefined {
  const { method, headers } = request
  if (method !== 'POST') return wrongMethod(method, 'POST')
  const type = headers['content-type'] ?? ''
  const media = type.includes(';') ? type.slice(0, type.indexOf(';')).trim() : type
  if (types && !types.includes(media) && !types.includes(media.toLowerCase())) {
    return { kind: 'body-type', error: `send the header Content-Type: ${types.join(' or ')}` }
  }
  // A few compressed kilobytes can unpack to gigabytes, and the API server compresses nothing.
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    return { kind: 'body-type', error: 'send the body as it is: no Content-Encoding' }
  return undefined
}

/** Of a body over the limit, what is kept: metadata comes first in a review, so this says whose it is. */
const beginning = 64 * 1024
const empty: Buffer = Buffer.alloc(0)

/**
 * Reads a body of at most `limit` bytes. `progress` hears with each piece how many bytes are held; of a body that comes in one piece it hears
 * nothing. A request that ends early is never `done`, since nobody is left to answer. Returns a way to stop reading.
 */
export function readBody(
  request: IncomingMessage,
  limit: number,
  { progress, done }: { readonly progress: (held: number) => void; readonly done: (body: Body) => void },
): () => void {
  const announced = Number(request.headers['content-length'] ?? 0)
  let large = announced > limit
  // Pieces are copied into one buffer that doubles as it fills: a thousand tiny ones would each take far more memory than they hold.
  let held: Buffer = empty
  let size = 0

  function take(chunk: Buffer): void {
    const before = size
    size += chunk.length
    if (!large && size > limit) {
      large = true
      held = Buffer.from(held.subarray(0, beginning))
      progress(held.length)
    }
    if (large) {
      if (before >= beginning) return
      held = Buffer.concat([held.subarray(0, before), chunk.subarray(0, beginning - before)])
    } else if (before === 0) held = chunk
    else {
      if (size > held.length) held = grown(held, before)
      chunk.copy(held, before)
      progress(held.length)
    }
  }
  function grown(full: Buffer, used: number): Buffer {
    const wanted = Math.max(2 * size, beginning)
    const larger = Buffer.allocUnsafeSlow(Math.max(size, Math.min(wanted, announced || limit)))
    full.copy(larger, 0, 0, used)
    return larger
  }
  function finish(): void {
    const bytes = large ? held : held.subarray(0, size)
    stop()
    done(large ? { whole: false, bytes, size } : { whole: true, bytes })
  }
  function stop(): void {
    request.off('data', take).off('end', finish)
    held = empty
  }
  request.on('data', take).on('end', finish)
  return stop
}

/**
 * Reads the rest of a body away, then calls `then`: most clients look for an answer only when they have sent everything, and closing the
 * connection before that would lose it.
 */
export function dropBody(request: IncomingMessage, then: () => void): void {
  request.resume()
  if (request.readableEnded) then()
  else request.once('end', then)
}
