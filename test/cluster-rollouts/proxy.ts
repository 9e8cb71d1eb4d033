import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ApiServer } from '../cluster-certs/apiserver.ts'

export interface Passing {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly watches: boolean
}

/** What becomes of a call: passed on; answered with a status of ours; never answered; passed on and its answer lost; begun, and then silent. */
export type Fate = 'pass' | 'hang' | 'lose' | 'silent' | number

export interface FaultyProxy {
  readonly url: string
  stop(): Promise<void>
}

/** A proxy before the API server, with the same certificate; `fate` decides on each call, watches as well. */
export async function startProxy(api: ApiServer, fate: (call: Passing) => Fate): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true, ca: api.ca })

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const url = new URL(incoming.url ?? '/', api.url)
    const method = incoming.method ?? 'GET'
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const decided = fate({ method, path: url.pathname, watches: url.searchParams.get('watch') === 'true' })
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
    outgoing.on('close', () => onward.destroy())
    onward.end(Buffer.concat(chunks))
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    if (decided === 'lose') {
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
    async stop() {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}
