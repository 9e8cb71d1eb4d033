import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import type { Certificate } from './certificate.ts'
import type { Strain } from './strain.ts'

/** Whether requests should be sent here, with everything that speaks against it or deserves attention. */
export interface Readiness {
  readonly ready: boolean
  readonly problems: readonly string[]
}

/** In ms, how long an answer is reused: many clients may probe, and each handshake costs CPU. */
const fresh = 1000

/**
 * Ready means that a client gets the last good certificate on disk, that it is valid now, and that the server is neither overloaded nor shutting down. A bad pair
 * on disk is reported but leaves it ready: while the good one is served, making every replica unready would turn a mistake into an outage.
 */
export function createReadiness({
  certificate,
  address,
  strain,
  isDraining,
  now,
}: {
  certificate: Certificate
  address: () => AddressInfo
  strain: Strain
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
    if (now() < validFromDate) against.push(`the certificate is not valid before ${validFromDate.toISOString()}`)
    if (strain.problem !== undefined) against.push(strain.problem)
    return { ready: against.length === 0, problems: [...new Set([...against, ...notes])] }
  }

  return async () => {
    if (isDraining()) return { ready: false, problems: ['shutting down'] }
    const at = now().getTime()
    if (last === undefined || Math.abs(at - last.at) > fresh) last = { at, readiness: look() }
    return last.readiness
  }
}

/** The certificate that a client of this server gets. */
async function handshake(address: AddressInfo): Promise<{ fingerprint?: string; error?: string }> {
  const { port } = address
  const host = address.address === '0.0.0.0' ? '127.0.0.1' : address.address === '::' ? '::1' : address.address
  // Nothing is sent; the question is which certificate is served, not whether it is trusted.
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
