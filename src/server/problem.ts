import type { ServerResponse } from 'node:http'

/** Answers with the one shape all errors have: `{"error","problems"}`. Never HTML, never a stack. */
export function sendProblem(
  response: ServerResponse,
  status: number,
  error: string,
  { problems = [], headers = {} }: { problems?: readonly string[]; headers?: Readonly<Record<string, string>> } = {},
): void {
  sendJson(response, status, { error, problems }, headers)
}

/** Answers with a JSON text of a known length. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const text = `${JSON.stringify(value)}\n`
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  })
  response.end(text)
}
