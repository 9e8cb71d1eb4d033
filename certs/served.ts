import type { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect } from 'node:tls'

const timeout = 3000

type Server = { host: string; port: number } | { socket: Duplex }

/** The certificate (PEM) that a server shows in a handshake; undefined if there is none within three seconds. */
export async function servedCertificate(to: Server, servername: string): Promise<string | undefined> {
  return (await handshake(to, servername).catch(() => undefined))?.toString()
}

/** The same, for who wants to know why there is none. @throws what the connection says */
export async function handshake(to: Server, servername: string): Promise<X509Certificate | undefined> {
  // We want whatever is served, trusted or not: it is only looked at, and nothing is sent.
  const socket = connect({ ...to, rejectUnauthorized: false, ...(isIP(servername) ? {} : { servername }) })
  const limit = setTimeout(() => socket.destroy(new Error(`no answer within ${timeout / 1000} s`)), timeout)
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerX509Certificate()
  } finally {
    clearTimeout(limit)
    socket.on('error', () => {})
    socket.destroy()
  }
}
