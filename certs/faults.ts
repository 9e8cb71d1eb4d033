import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate and its private key, both PEM. */
export interface Pair {
  readonly certificate: string
  readonly key: string
}

/** What can be wrong with a certificate and its key. */
export type Fault =
  | 'certificate-unreadable'
  | 'key-unreadable'
  | 'key-mismatch'
  | 'not-yet-valid'
  | 'expired'
  | 'wrong-usage'
  | 'name-missing'

/** A fault with its reason in words, which never quote the key. */
export type PairProblem = { fault: Fault; message: string }

/** How far `notBefore` lies before the time of issue, in ms: a clock an hour behind still accepts the certificate. */
export const backdate = 3_600_000

const serverAuth = '1.3.6.1.5.5.7.3.1'
// Anybody may have filled it with beginnings: each is looked at no further than to the next dash.
const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of a PEM bundle in order, each as PEM; anything between them is dropped. */
export const splitBundle = (pem: string): string[] => pem.match(block) ?? []

/** The first certificate of a PEM text; undefined if none parses. */
export function readCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

/**
 * Everything wrong with a server's certificate and key at a time; an empty list means it can be served.
 * @param names DNS names and IP addresses that it must be valid for
 */
export function checkServerPair({
  certificate: pem,
  key,
  names = [],
  at,
}: Pair & { names?: readonly string[]; at: Date }): PairProblem[] {
  const certificate = readCertificate(pem)
  if (!certificate) return [unreadable(pem)]
  const problems = [...checkKey(certificate, key), ...checkDates(certificate, at)]
  // Node calls the extended usages `keyUsage`; a certificate without any is fine, too.
  const usages = certificate.keyUsage as string[] | undefined
  if (usages && !usages.includes(serverAuth)) {
    problems.push({ fault: 'wrong-usage', message: 'the certificate is not for servers (serverAuth)' })
  }
  for (const name of names) {
    const covered = isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name, { subject: 'never' })
    if (!covered) problems.push({ fault: 'name-missing', message: `the certificate is not valid for ${name}` })
  }
  return problems
}

/** Everything wrong with a CA and its key at a time. */
export function checkAuthorityPair({ certificate: pem, key, at }: Pair & { at: Date }) {
  const certificate = readCertificate(pem)
  if (!certificate) return [unreadable(pem)]
  const problems = [...checkKey(certificate, key), ...checkDates(certificate, at)]
  if (!certificate.ca) problems.push({ fault: 'wrong-usage', message: 'the certificate is not a CA' })
  return problems
}

/** Whether one of these CAs (PEM), itself valid at that time, has signed the certificate. */
export function isCovered(certificate: string, { by, at }: { by: readonly string[]; at: Date }): boolean {
  const leaf = readCertificate(certificate)
  if (!leaf) return false
  return by.some((pem) => {
    const authority = readCertificate(pem)
    return authority?.ca && checkDates(authority, at).length === 0 && signedBy(leaf, authority)
  })
}

export function signedBy(leaf: X509Certificate, authority: X509Certificate): boolean {
  return leaf.checkIssued(authority) && leaf.verify(authority.publicKey)
}

function checkKey(certificate: X509Certificate, pem: string): PairProblem[] {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return [{ fault: 'key-unreadable', message: 'the private key is not one that can be read (PEM, not encrypted)' }]
  }
  if (certificate.checkPrivateKey(key)) return []
  return [{ fault: 'key-mismatch', message: "the private key is not the certificate's" }]
}

function checkDates(certificate: X509Certificate, at: Date): PairProblem[] {
  if (at < certificate.validFromDate) {
    const from = certificate.validFromDate.toISOString()
    return [{ fault: 'not-yet-valid', message: `the certificate is valid from ${from} on only` }]
  }
  if (at <= certificate.validToDate) return []
  return [{ fault: 'expired', message: `the certificate expired at ${certificate.validToDate.toISOString()}` }]
}

const unreadable = (pem: string): PairProblem => ({
  fault: 'certificate-unreadable',
  message: pem.trim() === '' ? 'the certificate is empty' : 'the certificate is not one that can be read (PEM)',
})
