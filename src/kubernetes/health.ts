import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { type Refused, type RequestFaultKind, requestFaults } from '../requests/faults.ts'

/** Serves `/metrics`, `/healthz` and `/readyz` over HTTP; resolves to the port once it listens. @param port 0 picks a free one */
export async function serveHealth(
  { registry, alive }: { registry: Registry; alive: () => boolean },
  { port, signal }: { port: number; signal: AbortSignal },
): Promise<number> {
  const server = createServer(async ({ url }, response) => {
    const path = url?.split('?')[0]
    if (path === '/metrics') {
      response.setHeader('Content-Type', registry.contentType).end(await registry.metrics())
    } else if (path === '/healthz' || path === '/readyz') {
      const well = alive()
      response.writeHead(well ? 200 : requestFaults['loop-stalled'].status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(well ? { status: 'ok' } : refused('loop-stalled', 'the loop has stalled')))
    } else {
      response.writeHead(404, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(refused('unknown-path', 'not found')))
    }
  })
  server.listen({ port, signal })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const refused = (kind: RequestFaultKind, error: string): Refused => ({
  code: requestFaults[kind].code,
  error,
  problems: [],
})
