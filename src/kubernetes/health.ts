import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { type Refused, type RequestFaultKind, requestFaults } from '../requests/faults.ts'

export interface Health {
  readonly registry: Registry
  /** Whether the loop still turns: otherwise a restart may help. */
  alive(): boolean
}

/** What a process lacks before it is ready, where a restart doesn't help. */
type Lack = 'pods-not-listed' | 'lease-not-read'
const texts: Readonly<Record<Lack | 'loop-stalled', string>> = {
  'loop-stalled': 'the loop has stalled',
  'pods-not-listed': 'the pods are not listed yet; see the log',
  'lease-not-read': 'the Lease is not read yet; see the log',
}

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
      const fault = !alive() ? 'loop-stalled' : path === '/readyz' ? lack : undefined
      const status = fault === undefined ? 200 : requestFaults[fault].status
      response.writeHead(status, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(fault === undefined ? { status: 'ok' } : refused(fault, texts[fault])))
    } else {
      response.writeHead(404, { 'Content-Type': 'application/json' })
      response.end(JSON.stringify(refused('unknown-path', 'not found')))
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

const refused = (kind: RequestFaultKind, error: string): Refused => ({
  code: requestFaults[kind].code,
  error,
  problems: [],
})
