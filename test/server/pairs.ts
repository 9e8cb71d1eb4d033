import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import forge from 'node-forge'
import type { Pair } from '../../certs/faults.ts'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { type ServeProcess, startServe } from './process.ts'

const day = 24 * 3_600_000

/** A CA and a leaf for loopback, valid for `life` ms from `at` on. */
export async function issue({ life = day, at = new Date() }: { life?: number; at?: Date } = {}) {
  const authority = await issueAuthority({ commonName: 'test', life: day * 30, at: new Date(at.getTime() - day) })
  return { authority, leaf: await issueLeaf({ authority, names: ['localhost'], ips: ['127.0.0.1'], life, at }) }
}

/** A client's certificate: a leaf of `issue` is for servers alone. */
export function issueClient(authority: Pair): Pair {
  const issuer = forge.pki.certificateFromPem(authority.certificate)
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.publicKeyFromPem(keys.publicKey)
  certificate.serialNumber = '0102'
  certificate.validity.notAfter = new Date(Date.now() + day)
  certificate.setSubject([{ name: 'commonName', value: 'kube-apiserver' }])
  certificate.setIssuer(issuer.subject.attributes)
  certificate.setExtensions([{ name: 'extKeyUsage', clientAuth: true }])
  certificate.sign(forge.pki.privateKeyFromPem(authority.key), forge.md.sha256.create())
  return { certificate: forge.pki.certificateToPem(certificate), key: keys.privateKey }
}

/** A folder that is gone after the test. */
export async function folder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'sidecar-first-test-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

/** Writes a pair as files and gives the flags that serve it. */
export async function writePair(path: string, { certificate, key }: Pair): Promise<string[]> {
  const [cert, keyFile] = [join(path, 'tls.crt'), join(path, 'tls.key')]
  await writeFile(cert, certificate)
  await writeFile(keyFile, key)
  return ['--cert', cert, '--key', keyFile]
}

let shared: Promise<Awaited<ReturnType<typeof issue>> & { readonly flags: readonly string[] }> | undefined

/** One for all of a test file that needs any pair: making one takes longer than most tests. */
export function sharedPair() {
  shared ??= (async () => {
    const path = mkdtempSync(join(tmpdir(), 'sidecar-first-pair-'))
    process.on('exit', () => rmSync(path, { recursive: true }))
    const issued = await issue()
    return { ...issued, flags: await writePair(path, issued.leaf) }
  })()
  return shared
}

/** A server with it: making a pair of its own takes a server longer than all else before it is ready. */
export async function startPaired(...[flags = [], ...more]: Parameters<typeof startServe>): Promise<ServeProcess> {
  return startServe([...(await sharedPair()).flags, ...flags], ...more)
}
