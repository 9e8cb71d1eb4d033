import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'

/** A review holds an object and its old version, 3 MB each at most (etcd's limit is half of that), and 1 MB of envelope. */
export const bodyLimit = 7 * 1024 * 1024

/** A request that can't be taken as it is: the status and the text to answer with. */
export interface BadRequest {
  readonly status: 400 | 405 | 413 | 415
  readonly error: string
  readonly headers?: Readonly<Record<string, string>>
}
export type Body = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly bad: BadRequest }

const bad = (status: BadRequest['status'], error: string, headers?: BadRequest['headers']): BadRequest =>
  headers ? { status, error, headers } : { status, error }

const tooLarge = bad(413, `the body is larger than ${bodyLimit} bytes`)

/** What the head of a POST already says against it. `types`: the media types taken, if not any. */
export function checkHead(request: IncomingMessage, types: readonly string[] | undefined): BadRequest | undefined {
  const { method, headers } = request
  if (method !== 'POST') return bad(405, `use POST, not ${method}`, { allow: 'POST' })
  const type = headers['content-type'] ?? ''
  const media = type.includes(';') ? type.slice(0, type.indexOf(';')).trim() : type
  if (types && !types.includes(media) && !types.includes(media.toLowerCase())) {
    return bad(415, `send the header Content-Type: ${types.join(' or ')}`)
  }
  // A few compressed kilobytes can unpack to gigabytes, and the API server compresses nothing.
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') return bad(415, 'send the body as it is: no Content-Encoding')
  if (Number(headers['content-length'] ?? 0) > bodyLimit) return tooLarge
  return undefined
}

/**
 * The whole body as text. Never rejects; of a request that ends early nothing comes, since nobody is left to answer.
 */
export function readBody(request: IncomingMessage, done: (body: Body) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const take = (chunk: Buffer) => {
    size += chunk.length
    chunks.push(chunk)
    if (size <= bodyLimit) return
    chunks.length = 0
    request.off('data', take).off('end', finish)
    dropBody(request, () => done({ ok: false, bad: tooLarge }))
  }
  const finish = () => {
    // Joined before it is decoded: a character may lie across two chunks.
    const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
    if (size === 0) done({ ok: false, bad: bad(400, 'the body is empty') })
    else if (!isUtf8(whole)) done({ ok: false, bad: bad(400, 'the body is not UTF-8') })
    else done({ ok: true, text: whole.toString('utf8') })
  }
  request.on('data', take).on('end', finish)
}

/**
 * Calls `then` when the rest of a body has come and gone, or when too much of it has: most clients look for an answer only once all is sent,
 * and a connection closed before that would take the answer with it.
 */
export function dropBody(request: IncomingMessage, then: () => void): void {
  let size = 0
  const drop = (chunk: Buffer) => {
    size += chunk.length
    if (size > bodyLimit) finish()
  }
  const finish = () => {
    request.off('data', drop).off('end', finish)
    then()
  }
  request.on('data', drop).on('end', finish)
}
