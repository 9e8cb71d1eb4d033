import { generateKeyPair, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import forge from 'node-forge'
import { backdate, type Pair } from './faults.ts'

/**
 * A self-signed CA that may sign leaves and nothing below them.
 * Its common name gets a random suffix: with two CAs of the same name in a bundle, the verifier could choose either as the issuer.
 * @param life how long it is valid from `at` on, in ms
 */
export async function issueAuthority({ commonName, life, at }: { commonName: string; life: number; at: Date }) {
  const keys = await newKeys()
  const certificate = blank({ keys, life, at })
  const subject = [{ name: 'commonName', value: `${commonName} ${randomBytes(4).toString('hex')}` }]
  certificate.setSubject(subject)
  certificate.setIssuer(subject)
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: true, pathLenConstraint: 0 },
    { name: 'keyUsage', critical: true, keyCertSign: true, cRLSign: true },
    { name: 'subjectKeyIdentifier' },
    { name: 'authorityKeyIdentifier', keyIdentifier: keyIdentifier(certificate) },
  ])
  return signed(certificate, { by: keys.privateKey, key: keys.privateKey })
}

interface LeafWanted {
  readonly authority: Pair
  readonly names: readonly string[]
  readonly ips?: readonly string[]
  /** How long it is valid from `at` on, in ms. */
  readonly life: number
  readonly at: Date
}

/**
 * A server certificate signed by `authority`, for these DNS names and IP addresses; it never outlives the authority.
 * @throws if `authority` can't be parsed
 */
export async function issueLeaf({ authority, names, ips = [], life, at }: LeafWanted): Promise<Pair> {
  const issuer = forge.pki.certificateFromPem(authority.certificate)
  const keys = await newKeys()
  const certificate = blank({ keys, life, at })
  if (certificate.validity.notAfter > issuer.validity.notAfter) {
    certificate.validity.notAfter = issuer.validity.notAfter
  }
  // Nothing reads the subject of a certificate with SANs, and a long service name would exceed its limit of 64 characters.
  certificate.setSubject([{ name: 'commonName', value: 'sidecar-first' }])
  certificate.setIssuer(issuer.subject.attributes)
  certificate.setExtensions([
    { name: 'basicConstraints', critical: true, cA: false },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    { name: 'extKeyUsage', serverAuth: true },
    {
      name: 'subjectAltName',
      altNames: [...names.map((value) => ({ type: 2, value })), ...ips.map((ip) => ({ type: 7, ip }))],
    },
    { name: 'subjectKeyIdentifier' },
    { name: 'authorityKeyIdentifier', keyIdentifier: keyIdentifier(issuer) },
  ])
  return signed(certificate, { by: authority.key, key: keys.privateKey })
}

/** The DNS names of a Service; the API server asks for `<service>.<namespace>.svc`. */
export function serviceNames(service: string, namespace: string): string[] {
  const name = `${service}.${namespace}`
  return [`${name}.svc`, `${name}.svc.cluster.local`, name, service]
}

// Keys come from node:crypto's thread pool: forge would block the event loop for a second.
function newKeys() {
  return promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
}

function blank({ keys, life, at }: { keys: { publicKey: string }; life: number; at: Date }) {
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey)
  // 128 random bits; the leading 01 keeps the number positive and its length fixed.
  certificate.serialNumber = `01${randomBytes(16).toString('hex')}`
  certificate.validity.notBefore = new Date(at.getTime() - backdate)
  certificate.validity.notAfter = new Date(at.getTime() + life)
  return certificate
}

function signed(certificate: forge.pki.Certificate, { by, key }: { by: string; key: string }): Pair {
  certificate.sign(forge.pki.privateKeyFromPem(by), forge.md.sha256.create())
  return { certificate: forge.pki.certificateToPem(certificate).replaceAll('\r\n', '\n'), key }
}

const keyIdentifier = (certificate: forge.pki.Certificate) => certificate.generateSubjectKeyIdentifier().getBytes()
