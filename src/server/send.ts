import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** Answers with the one shape all errors have: `{"error","problems"}`. Never HTML, never a stack. */
export function sendProblem(
  response: ServerResponse,
  status: number,
  error: string,
  { problems = [], headers = {} }: { problems?: readonly string[]; headers?: Readonly<Record<string, string>> } = {},
): void {
  sendJson(response, status, { error, problems }, headers)
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers?: Readonly<Record<string, string>>,
): void {
  sendText(response, status, 'application/json', `${JSON.stringify(value)}\n`, headers)
}

/** Answers, unless that has happened already or nobody is left. */
export function sendText(
  response: ServerResponse,
  status: number,
  contentType: string,
  text: string,
  headers?: OutgoingHttpHeaders,
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(text), ...headers })
  response.end(text)
}
