import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { type RequestFaultKind, refusedAs, requestFaults } from '../requests/faults.ts'

export interface Health {
  readonly registry: Registry
  /** Whether the loop still turns: otherwise a restart may help. */
  alive(): boolean
}

/** What a process lacks before it is ready, where a restart doesn't help. */
type Lack = Extract<RequestFaultKind, 'pods-not-listed' | 'lease-not-read'>

/**
 * Serves `/metrics`, `/healthz` and `/readyz` over HTTP; resolves once it listens.
 * @param port 0 picks a free one
 * @param lacks makes it unready until `ready` is called, and never again
 */
export async function serveHealth(
  { registry, alive }: Health,
  { port, signal, lacks }: { port: number; signal: AbortSignal; lacks: Lack },
): Promise<{ readonly port: number; readonly ready: () => void }> {
  let lack: Lack | undefined = lacks
  const server = createServer(async ({ url }, response) => {
    const path = url?.split('?')[0]
    if (path === '/metrics') {
      response.setHeader('Content-Type', registry.contentType).end(await registry.metrics())
    } else if (path === '/healthz' || path === '/readyz') {
      answer(!alive() ? 'loop-stalled' : path === '/readyz' ? lack : undefined)
    } else answer('unknown-path', 'not found')

    function answer(fault: RequestFaultKind | undefined, error?: string): void {
      response.writeHead(fault ? requestFaults[fault].status : 200, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(fault ? refusedAs(fault, error) : { status: 'ok' }))
    }
  })
  server.listen({ port })
  await once(server, 'listening')
  const { port: found } = server.address() as AddressInfo
  // Given to `listen`, one that is over already would keep it from ever listening.
  if (signal.aborted) server.close()
  else signal.addEventListener('abort', () => server.close(), { once: true })
  return {
    port: found,
    ready() {
      lack = undefined
    },
  }
}
