import type { AddressInfo } from 'node:net'
import { handshake } from '../../certs/served.ts'
import type { Certificate } from './certificate.ts'
import type { Drain } from './drain.ts'
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
export function createReadiness(
  certificate: Certificate,
  strain: Strain,
  drain: Drain,
  address: () => AddressInfo,
): () => Promise<Readiness> {
  let last: { at: number; readiness: Promise<Readiness> } | undefined

  async function look(): Promise<Readiness> {
    const notes = await certificate.refresh()
    const against: string[] = []
    const other = await mismatch(address(), certificate)
    if (other !== undefined) against.push(other)
    const { validFromDate, validToDate } = certificate.leaf
    const now = new Date()
    if (now > validToDate) against.push(`the certificate expired at ${validToDate.toISOString()}`)
    if (now < validFromDate) against.push(`the certificate is not valid before ${validFromDate.toISOString()}`)
    if (strain.problem !== undefined) against.push(strain.problem)
    return { ready: against.length === 0, problems: [...new Set([...against, ...notes])] }
  }

  return async () => {
    if (drain.begun) return { ready: false, problems: ['shutting down'] }
    const at = performance.now()
    if (last === undefined || at - last.at > fresh) last = { at, readiness: look() }
    return last.readiness
  }
}

/** What a client of this server gets, if it isn't the certificate that is to be served. */
async function mismatch({ address, port }: AddressInfo, { leaf }: Certificate): Promise<string | undefined> {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  try {
    const served = await handshake({ host, port }, host)
    const same = served?.fingerprint256 === leaf.fingerprint256
    return same ? undefined : 'a client does not get the certificate that is on disk'
  } catch (error) {
    return `the handshake with itself failed: ${(error as Error).message}`
  }
}
