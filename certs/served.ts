import { once } from 'node:events'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'

const timeout = 3000

/** The certificate (PEM) that a server shows in a handshake; undefined if there is none within three seconds. */
export async function servedCertificate(
  to: { host: string; port: number } | { socket: Duplex },
  servername: string,
): Promise<string | undefined> {
  // We want whatever is served, trusted or not: it is only looked at, and nothing is sent.
  const options = { ...to, rejectUnauthorized: false, ...(isIP(servername) ? {} : { servername }) }
  const socket = connect(options)
  const signal = AbortSignal.timeout(timeout)
  try {
    await once(socket, 'secureConnect', { signal })
    return socket.getPeerX509Certificate()?.toString()
  } catch {
    return undefined
  } finally {
    socket.on('error', () => {})
    socket.destroy()
  }
}
