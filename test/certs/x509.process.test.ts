import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { backdate, checkAuthorityPair, checkServerPair, isCovered, type Pair } from '../../certs/faults.ts'
import { issueAuthority, issueLeaf, serviceNames } from '../../certs/x509.ts'
import { handshake } from './handshake.ts'

const HOUR = 3_600_000
const at = new Date()
const names = serviceNames('sidecar-first', 'sidecar-first')
const [first, second] = await Promise.all([authorityAt(at), authorityAt(at)])
const leaf = await issueLeaf({ authority: first, names, ips: ['127.0.0.1', '::1'], life: HOUR, at })

test('a leaf is accepted in a handshake by whoever trusts its CA, alone or beside another', async () => {
  for (const ca of [first.certificate, second.certificate + first.certificate]) {
    assert.equal(await handshake({ pair: leaf, ca, servername: 'sidecar-first.sidecar-first.svc' }), 'accepted')
  }
})

test('a leaf is refused in a handshake for another CA, another name, and after its time', async () => {
  const servername = 'sidecar-first.sidecar-first.svc'
  assert.match(await handshake({ pair: leaf, ca: second.certificate, servername }), /^UNABLE_TO_VERIFY|^UNABLE_TO_GET/)
  assert.equal(
    await handshake({ pair: leaf, ca: first.certificate, servername: 'other.svc' }),
    'ERR_TLS_CERT_ALTNAME_INVALID',
  )
  const old = await issueLeaf({ authority: first, names, life: HOUR, at: new Date(at.getTime() - 2 * HOUR) })
  assert.equal(await handshake({ pair: old, ca: first.certificate, servername }), 'CERT_HAS_EXPIRED')
})

test('a leaf for a loopback address is accepted by that address', async () => {
  assert.equal(await handshake({ pair: leaf, ca: first.certificate }), 'accepted')
})

test('openssl verifies the chain, the purpose and the name', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'sidecar-first-x509-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'ca.crt'), second.certificate + first.certificate)
  writeFileSync(join(dir, 'tls.crt'), leaf.certificate)
  const args = '-x509_strict -purpose sslserver -verify_hostname sidecar-first.sidecar-first.svc'.split(' ')
  try {
    const out = execFileSync('openssl', ['verify', ...args, '-CAfile', 'ca.crt', 'tls.crt'], { cwd: dir })
    assert.match(String(out), /tls\.crt: OK/)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    t.skip('openssl is not installed')
  }
})

test('the certificates say what they are: dates, serials, usages, a unique name for each CA', () => {
  const [ca, other, server] = [first, second, leaf].map((pair) => new X509Certificate(pair.certificate))
  assert.ok(ca && other && server)
  const seconds = (date: Date) => Math.floor(date.getTime() / 1000)
  assert.equal(seconds(server.validFromDate), seconds(new Date(at.getTime() - backdate)))
  assert.equal(seconds(server.validToDate), seconds(new Date(at.getTime() + HOUR)))
  assert.match(server.serialNumber, /^01[0-9A-F]{32}$/)
  assert.notEqual(ca.subject, other.subject)
  assert.equal(ca.ca, true)
  assert.equal(server.ca, false)
  assert.deepEqual(server.keyUsage, ['1.3.6.1.5.5.7.3.1'])
})

test('a leaf never outlives its CA', async () => {
  const short = await issueLeaf({ authority: first, names, life: 1000 * HOUR, at })
  assert.deepEqual(
    new X509Certificate(short.certificate).validToDate,
    new X509Certificate(first.certificate).validToDate,
  )
})

test('a good pair has no problems', () => {
  assert.deepEqual(checkServerPair({ ...leaf, names: [...names, '::1'], at }), [])
  assert.ok(isCovered(leaf.certificate, { by: [second.certificate, first.certificate], at }))
  assert.deepEqual(checkAuthorityPair({ ...first, at }), [])
})

const later = (hours: number) => new Date(at.getTime() + hours * HOUR)
const half = (pem: string) => pem.slice(0, pem.length / 2)
const faults: [string, Parameters<typeof checkServerPair>[0], string[]][] = [
  ['empty certificate', { ...leaf, certificate: '', at }, ['certificate-unreadable']],
  ['half-written certificate', { ...leaf, certificate: half(leaf.certificate), at }, ['certificate-unreadable']],
  ['empty key', { ...leaf, key: '', at }, ['key-unreadable']],
  ['half-written key', { ...leaf, key: half(leaf.key), at }, ['key-unreadable']],
  ['mismatched key', { ...leaf, key: first.key, at }, ['key-mismatch']],
  ['expired', { ...leaf, at: later(2) }, ['expired']],
  ['not yet valid', { ...leaf, at: later(-2) }, ['not-yet-valid']],
  ['another name', { ...leaf, names: ['elsewhere', '10.0.0.1'], at }, ['name-missing', 'name-missing']],
]
for (const [name, input, expected] of faults) {
  test(`fault: ${name}`, () => {
    assert.deepEqual(
      checkServerPair(input).map((problem) => problem.fault),
      expected,
    )
  })
}

test('another CA covers nothing, and neither does none at all', () => {
  assert.ok(!isCovered(leaf.certificate, { by: [second.certificate], at }))
  assert.ok(!isCovered(leaf.certificate, { by: [], at }))
})

test('a leaf is no CA, and a leaf under an expired CA is not covered', () => {
  assert.deepEqual(
    checkAuthorityPair({ ...leaf, at }).map((problem) => problem.fault),
    ['wrong-usage'],
  )
  const late = later(25)
  const found = checkServerPair({ ...leaf, at: late }).map((problem) => problem.fault)
  assert.deepEqual(found, ['expired'])
  assert.ok(!isCovered(leaf.certificate, { by: [first.certificate], at: late }))
})

function authorityAt(time: Date): Promise<Pair> {
  return issueAuthority({ commonName: 'sidecar-first CA', life: 24 * HOUR, at: time })
}
