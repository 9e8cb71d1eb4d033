import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Refused, RequestFault } from '../requests/faults.ts'

/** Answers with the one shape all errors have: `{"code","error","problems"}`. Never HTML, never a stack. */
export function sendProblem(
  response: ServerResponse,
  { code, status }: RequestFault,
  error: string,
  { problems = [], headers = {} }: { problems?: readonly string[]; headers?: Readonly<Record<string, string>> } = {},
): void {
  sendJson(response, status, { code, error, problems } satisfies Refused, headers)
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers?: Readonly<Record<string, string>>,
): void {
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
