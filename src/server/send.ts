import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type RequestFaultKind, refusedAs, requestFaults } from '../requests/faults.ts'

/** Answers a request, whatever it is. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** What is wrong with a request, and what to say of it if the kind's own words are not exact. */
export interface Bad {
  readonly kind: RequestFaultKind
  readonly error?: string
  readonly problems?: readonly string[]
  readonly headers?: OutgoingHttpHeaders
}

/** Answers with the one shape all errors have: `{"code","error","problems"}`. Never HTML, never a stack. */
export function sendBad(response: ServerResponse, { kind, error, problems, headers }: Bad): void {
  sendJson(response, requestFaults[kind].status, refusedAs(kind, error, problems), headers)
}

export const wrongMethod = (method: string | undefined, allow: string): Bad => ({
  kind: 'wrong-method',
  error: `use ${allow.split(',')[0]}, not ${method}`,
  headers: { allow },
})

export function sendJson(response: ServerResponse, status: number, value: object, headers?: OutgoingHttpHeaders): void {
  sendText(response, status, 'application/json', `${JSON.stringify(value)}\n`, headers)
}

/** In bytes, of an answer of ours. */
const longestHead = 8192

/** Answers, unless that has happened already or nobody is left. */
export function sendText(
  response: ServerResponse,
  status: number,
  contentType: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): void {
  if (response.headersSent || response.destroyed) return
  const size = Buffer.byteLength(text)
  // Node stops reading a connection while its buffer is full, but what it has decrypted by then still reaches the parser, which takes it for an
  // error: the next request on the connection would be answered 400. So it has to come on another one.
  if (size + longestHead >= response.writableHighWaterMark) response.shouldKeepAlive = false
  response.writeHead(status, { 'content-type': contentType, 'content-length': size, ...headers })
  response.end(text)
}
