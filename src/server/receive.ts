import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Body, checkHead, dropBody, readBody } from './body.ts'
import { type Bad, sendBad } from './send.ts'
import type { Serving } from './serving.ts'

/** The bodies that a path takes. */
interface Accepted {
  /** Media types; all of them if left out. */
  readonly types?: readonly string[]
  /** Bytes of a body. */
  readonly limit: number
  /** Gives way to all others. */
  readonly yields?: boolean
}

/**
 * In bytes. What is no larger is answered at once: an admission of this size costs 2 ms at the very worst, 5 to 9 with `end: last` and five hundred
 * containers. Larger bodies wait for a turn of the event loop each, so that nobody waits for more than one of them.
 */
const small = 16 * 1024

/** Passes on the body of a POST that is in order, and answers every other request itself. */
export function receive(
  request: IncomingMessage,
  response: ServerResponse,
  { types, limit, yields }: Accepted,
  { inFlight, turns }: Serving,
  take: (body: Body) => void,
): void {
  const bad = checkHead(request, types)
  const client = request.socket.remoteAddress ?? ''
  const place = bad ? undefined : inFlight.enter(client, response, giveWay, yields)
  if (place === undefined) {
    dropBody(request, () => {
      sendBad(response, bad ?? overload)
    })
    return
  }
  const { hold } = place
  const stop = readBody(request, limit, { progress: (held) => hold(held, giveWay), done: finish })
  response.once('close', place.leave)
  // A client that doesn't read its answer holds it.
  response.once('prefinish', () => hold(response.writableLength, () => request.destroy()))

  function giveWay(): void {
    stop()
    dropBody(request, () => sendBad(response, overload))
  }

  function finish(body: Body): void {
    if (body.bytes.length <= small) work(body)
    else {
      const leaveQueue = turns.wait(client, () => work(body))
      place?.hold(body.bytes.length, () => {
        leaveQueue()
        sendBad(response, overload)
      })
    }
  }

  function work(body: Body): void {
    place?.hold(body.bytes.length)
    if (body.bytes.length === 0) sendBad(response, { kind: 'body-empty' })
    else if (body.whole && !isUtf8(body.bytes))
      sendBad(response, { kind: 'body-unreadable', error: 'the body is not UTF-8' })
    else if (!response.destroyed) take(body)
  }
}

/** The API server tries again within the webhook's timeout. */
const overload: Bad = { kind: 'too-many-requests', headers: { 'retry-after': '1' } }
