import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { type Agent, type RequestOptions, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { catalogue } from '../../src/messages/catalogue.ts'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body where it is JSON. */
  readonly json: unknown
}

const codes = new Set<string>(catalogue.map(({ code }) => code))

/** One real HTTPS request; certificates are looked at only where `ca` is given. Whatever is called: an error has a code that users can look up. */
export async function call(
  url: string,
  {
    method = 'POST',
    body,
    headers = {},
    agent,
    ...tls
  }: {
    method?: string
    body?: string | Uint8Array
    headers?: OutgoingHttpHeaders
    agent?: Agent | false
  } & Pick<RequestOptions, 'ca' | 'cert' | 'key'> = {},
): Promise<Reply> {
  const outgoing = request(url, {
    method,
    agent: agent ?? false,
    rejectUnauthorized: tls.ca !== undefined,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...tls,
  })
  // A server may answer and close before it has read everything.
  outgoing.on('error', () => {})
  outgoing.end(body)
  const [response] = await Promise.race([
    once(outgoing, 'response'),
    once(outgoing, 'close').then(() => Promise.reject(new Error('closed without an answer'))),
  ])
  const answer = await text(response)
  let json: unknown
  try {
    json = JSON.parse(answer)
  } catch {}
  if (response.statusCode >= 400 && !url.includes('/readyz')) {
    const { code } = json as { code: string }
    assert.ok(codes.has(code), `without a known code: ${answer}`)
  }
  return { status: response.statusCode, headers: response.headers, text: answer, json }
}
