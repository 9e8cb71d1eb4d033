import type { ClientRequest, IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'

/** Sends a body over a connection of its own; resolves to what came of it, for people. */
export async function post(url: string, body: Uint8Array, contentType = 'application/json'): Promise<string> {
  const headers = { 'content-type': contentType, 'content-length': body.length }
  const outgoing = request(url, { method: 'POST', agent: false, rejectUnauthorized: false, headers })
  outgoing.on('error', () => {})
  outgoing.end(body)
  const response = await answerOf(outgoing)
  if (response === undefined) return 'closed'
  const answer = await text(response).catch(() => 'cut off')
  return `${response.statusCode}${verdictOf(answer)}`
}

/** Undefined where the connection ends without one. */
export function answerOf(outgoing: ClientRequest): Promise<IncomingMessage | undefined> {
  return new Promise((resolve) => outgoing.on('response', resolve).on('close', () => resolve(undefined)))
}

/** What was said of a review, and how long the answer was. */
function verdictOf(answer: string): string {
  const size = answer.length > 100_000 ? `, ${(answer.length / 1e6).toFixed(1)} MB` : ''
  try {
    const { response } = JSON.parse(answer)
    if (response === undefined) return size
    return `${response.patch ? ' patched' : response.allowed ? ' as it is' : ' refused'}${size}`
  } catch {
    return size
  }
}
