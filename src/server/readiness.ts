import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import type { Certificate } from './certificate.ts'

/** Whether requests should be sent here, and everything that speaks against it or deserves a look. */
export interface Readiness {
  readonly ready: boolean
  readonly problems: readonly string[]
}

/** How long an answer is reused, in ms: probes of many come together, handshakes cost. */
const fresh = 1000

/**
 * Ready means: the certificate that a client gets is the last sound one on disk, it is valid now, and nobody asked for the end. A bad pair
 * on disk is told but doesn't make it unready: while the good one is served, taking every replica away would turn a mistake into an outage.
 */
export function createReadiness({
  certificate,
  address,
  isDraining,
  now,
}: {
  certificate: Certificate
  address: () => AddressInfo
  isDraining: () => boolean
  now: () => Date
}): () => Promise<Readiness> {
  let last: { at: number; readiness: Promise<Readiness> } | undefined

  async function look(): Promise<Readiness> {
    const notes = await certificate.refresh()
    const against: string[] = []
    const served = await handshake(address())
    if (served.fingerprint !== certificate.leaf.fingerprint256) {
      against.push(served.error ?? 'a client does not get the certificate that is on disk')
    }
    const { validFromDate, validToDate } = certificate.leaf
    if (now() > validToDate) against.push(`the certificate expired at ${validToDate.toISOString()}`)
    if (now() < validFromDate) against.push(`the certificate is valid from ${validFromDate.toISOString()} on only`)
    return { ready: against.length === 0, problems: [...new Set([...against, ...notes])] }
  }

  return async () => {
    if (isDraining()) return { ready: false, problems: ['it is shutting down'] }
    const at = now().getTime()
    if (last === undefined || Math.abs(at - last.at) > fresh) last = { at, readiness: look() }
    return last.readiness
  }
}

/** What a client gets from this server itself. */
async function handshake(address: AddressInfo): Promise<{ fingerprint?: string; error?: string }> {
  const { port } = address
  const host = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : address.address
  // Nothing is sent, and what is asked is which certificate comes, not whether it is trusted.
  const socket = connect({ host, port, rejectUnauthorized: false })
  const limit = setTimeout(() => socket.destroy(new Error('no answer within 2 s')), 2000)
  try {
    await once(socket, 'secureConnect')
    const fingerprint = socket.getPeerX509Certificate()?.fingerprint256
    return fingerprint === undefined ? {} : { fingerprint }
  } catch (error) {
    return { error: `the handshake with itself failed: ${(error as Error).message}` }
  } finally {
    clearTimeout(limit)
    socket.destroy()
  }
}
