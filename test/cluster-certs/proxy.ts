import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { ApiServer } from './apiserver.ts'

/** A call as it passes; `count` counts from 0. */
export interface Passing {
  readonly count: number
  readonly method: string
  readonly path: string
  readonly body: string
}

/** What becomes of a call: passed on, answered with a status of ours, never answered, or passed on and its answer lost. */
export type Fate = 'pass' | 'hang' | 'lose' | number

export interface FaultyProxy {
  readonly url: string
  readonly passed: readonly (Passing & { readonly status: number })[]
  stop(): Promise<void>
}

/** A proxy before the API server, with the same certificate; `fate` decides on each call and may take its time. */
export async function startProxy(api: ApiServer, fate: (call: Passing) => Fate | Promise<Fate>): Promise<FaultyProxy> {
  const agent = new Agent({ keepAlive: true, ca: api.ca })
  const passed: (Passing & { status: number })[] = []
  let count = 0

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse) {
    const path = incoming.url ?? '/'
    const method = incoming.method ?? 'GET'
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk
    // A watch is only a hint: the calls are what counts.
    const watches = path.includes('watch=true')
    const call: Passing = { count: watches ? -1 : count++, method, path, body }
    const decided = watches ? 'pass' : await fate(call)
    if (decided === 'hang') return
    if (typeof decided === 'number') {
      outgoing.writeHead(decided, { 'Content-Type': 'application/json' })
      const reason = { 403: 'Forbidden', 409: 'Conflict' }[decided] ?? 'InternalError'
      outgoing.end(JSON.stringify({ kind: 'Status', status: 'Failure', code: decided, reason, message: 'injected' }))
      return
    }
    const onward = request(`${api.url}${path}`, { method, headers: incoming.headers, agent })
    onward.end(body)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    if (!watches) passed.push({ ...call, status: answer.statusCode ?? 0 })
    if (decided === 'lose') {
      answer.resume()
      return
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
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
