import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:tls'
import type { Pair } from '../../certs/faults.ts'

/** Serves `pair` on loopback and connects once as a client that trusts `ca`: 'accepted', or the error's code. */
export async function handshake({ pair, ca, servername }: { pair: Pair; ca: string; servername?: string }) {
  const server = createServer({ cert: pair.certificate, key: pair.key }, (socket) => socket.end())
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ host: '127.0.0.1', port, ca, ...(servername && { servername }) })
  try {
    await once(client, 'secureConnect')
    return 'accepted'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  } finally {
    client.destroy()
    server.close()
  }
}
