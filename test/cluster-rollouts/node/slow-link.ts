import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { issueAuthority, issueLeaf } from '../../../certs/x509.ts'

export interface SlowLink {
  readonly url: string
  /** The CA of its own certificate, as PEM. */
  readonly ca: string
  /** How long each change of a pod takes to get there, in ms. */
  delay: number
  stop(): Promise<void>
}

/** A way to the API server that can be slow for changes of pods. @param ca of the API server's certificate */
export async function startSlowLink(to: string, ca: string): Promise<SlowLink> {
  const at = new Date()
  const authority = await issueAuthority({ commonName: 'slow link', life: 86_400_000, at })
  const { certificate, key } = await issueLeaf({ authority, names: [], ips: ['127.0.0.1'], life: 86_400_000, at })
  const server = createServer({ cert: certificate, key }, async (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '/', to)
    const isTouch = incoming.method === 'PATCH' && url.pathname.includes('/pods/')
    const [method, headers] = [incoming.method, { ...incoming.headers, host: url.host }]
    if (isTouch && link.delay > 0) await sleep(link.delay)
    const onward = request(url, { method, headers, ca })
    outgoing.on('close', () => onward.destroy())
    onward.on('error', () => outgoing.destroy())
    incoming.pipe(onward)
    const [answer] = (await once(onward, 'response').catch(() => [])) as [IncomingMessage?]
    if (!answer) return
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
    answer.on('error', () => outgoing.destroy())
    answer.pipe(outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const link: SlowLink = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: authority.certificate,
    delay: 0,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
  return link
}
