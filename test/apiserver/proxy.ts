import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ApiServer } from './apiserver.ts'

/** A call as it passes. */
export interface Passing {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly watches: boolean
  readonly body: string
}

/** What becomes of a call: passed on; answered with a status of ours; never answered; passed on and its answer lost; begun, and then silent. */
export type Fate = 'pass' | 'hang' | 'lose' | 'silent' | number

export interface FaultyProxy {
  readonly url: string
  /** What the API server has answered, in that order. */
  readonly passed: readonly (Passing & { readonly status: number })[]
  stop(): Promise<void>
}

/** A proxy before the API server, with the same certificate; `fate` decides on each call, watches as well, and may take its time. */
export async function startProxy(api: ApiServer, fate: (call: Passing) => Fate | Promise<Fate>): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true, ca: api.ca })
  const passed: (Passing & { status: number })[] = []

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = new URL(incoming.url ?? '/', api.url)
    const method = incoming.method ?? 'GET'
    const body = await text(incoming)
    const call = { method, path: url.pathname, watches: url.searchParams.get('watch') === 'true', body }
    const decided = await fate(call)
    if (decided === 'hang') return
    if (typeof decided === 'number') {
      const reason = { 403: 'Forbidden', 409: 'Conflict' }[decided] ?? 'InternalError'
      outgoing.writeHead(decided, { 'Content-Type': 'application/json' })
      outgoing.end(JSON.stringify({ kind: 'Status', status: 'Failure', code: decided, reason, message: 'injected' }))
      return
    }
    if (decided === 'silent') {
      outgoing.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders()
      return
    }
    const onward = request(url, { method, headers: incoming.headers, agent })
    // A watch ends with who watches; any other call gets there and is counted, whoever has gone meanwhile.
    if (call.watches && decided === 'pass') outgoing.on('close', () => onward.destroy())
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    passed.push({ ...call, status: answer.statusCode ?? 0 })
    if (decided === 'lose' || outgoing.destroyed) {
      answer.resume()
      return
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
    answer.pipe(outgoing)
  }

  const server = createServer({ cert: api.pair.certificate, key: api.pair.key }, (incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    async stop() {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}
