import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import type { Changes, StoredSecret } from '../../certs/cluster.ts'
import { problemText } from '../../certs/problems.ts'
import { dropped, issued, look, minted, signer } from '../../certs/secret.ts'
import { issueAuthority, issueLeaf, serviceNames } from '../../certs/x509.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'

const DAY = 86_400_000
const names = serviceNames('sidecar-first', 'sidecar-first')
const start = new Date('2026-01-01T00:00:00Z')
const later = (days: number) => new Date(start.getTime() + days * DAY)
const authority = (at: Date) => issueAuthority({ commonName: 'test', life: 365 * DAY, at })
const id = (pem: string) => new X509Certificate(pem).fingerprint256

const write = (secret: StoredSecret, { data, annotations = {} }: Changes): StoredSecret => ({
  version: '1',
  data: merged(secret.data, data),
  annotations: merged(secret.annotations, annotations),
})
const merged = (old: Readonly<Record<string, string>>, changes: Readonly<Record<string, string | null>>) =>
  Object.fromEntries(
    Object.entries({ ...old, ...changes }).filter((entry): entry is [string, string] => entry[1] !== null),
  )
const seen = (secret: StoredSecret, at: Date, bundles: string[] = []) => {
  const configurations = [{ kind: 'mutating', name: 'mutating', version: '1', bundles }] as const
  return look({ secret, configurations, names, now: at.getTime() })
}

test('a rotation as it is written and read: each CA knows its last leaf, the old key goes, then the old CA', async () => {
  let secret: StoredSecret = { version: '1', data: {}, annotations: { [objectKeys.rotate]: 'ca' } }
  const issue = async (from: 'current' | 'next', at: Date) => {
    const pair = await issueLeaf({ authority: signer(from, secret), names, life: 30 * DAY, at })
    secret = write(secret, issued(pair, { from, secret }))
  }
  const [one, two] = await Promise.all([authority(start), authority(later(200))])
  secret = write(secret, minted(one, seen(secret, start).shown.secret))
  assert.equal(secret.annotations[objectKeys.rotate], undefined, 'the wish is answered')
  await issue('next', start)
  await issue('current', later(20))
  const last = secret.data['tls.crt'] ?? ''
  secret = write(secret, minted(two, undefined))
  await issue('next', later(30))

  assert.equal(secret.data['ca.key'], two.key)
  assert.ok(!Object.values(secret.data).some((text) => text.includes(one.key)), "the old CA's key is gone")
  const { shown, problems } = seen(secret, later(30))
  assert.deepEqual(problems, [])
  const [retired] = shown.secret?.retired ?? []
  assert.equal(retired?.id, id(one.certificate))
  assert.equal(retired?.lastLeaf?.id, id(last))
  assert.equal(retired?.lastLeaf?.issued, later(20).getTime())
  assert.equal(shown.secret?.leaf?.issuer, id(two.certificate))

  secret = write(secret, dropped([id(one.certificate)], secret))
  assert.deepEqual(Object.keys(secret.data).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
})

test('what is damaged is not believed, what somebody else trusts is a stranger, and no key is quoted', async () => {
  const [one, two] = await Promise.all([authority(start), authority(start)])
  const leaf = await issueLeaf({ authority: two, names, life: 30 * DAY, at: start })
  const data = { 'ca.crt': one.certificate, 'ca.key': two.key, 'tls.crt': leaf.certificate, 'tls.key': leaf.key }
  const secret = { version: '1', data, annotations: { [objectKeys.rotate]: 'everything' } }
  const { shown, problems } = seen(secret, start, [`# ours\n${two.certificate}`, 'Cg=='])
  assert.equal(shown.secret?.current?.signs, false)
  assert.equal(shown.secret?.asked, undefined)
  assert.equal(shown.secret?.leaf?.issuer, id(two.certificate))
  assert.deepEqual(
    shown.strangers.map((stranger) => stranger.id),
    [id(two.certificate)],
  )
  assert.deepEqual(shown.configurations[0]?.webhooks, [[id(two.certificate)], []])
  assert.deepEqual(problems.map(problemText), ["ca: the private key is not the certificate's"])

  const half = { ...secret, data: { ...data, 'tls.key': leaf.key.slice(0, 200) } }
  assert.equal(seen(half, start).shown.secret?.leaf, undefined)
})

test('a caBundle of beginnings without an end holds nothing up', async () => {
  const { certificate } = await authority(start)
  // A minute's work or more if each were looked for to the end of the text.
  const bundle = `${'-----BEGIN CERTIFICATE-----\n'.repeat(37_000)}${certificate}`
  const { shown } = seen({ version: '1', data: {}, annotations: {} }, start, [bundle])
  assert.deepEqual(shown.configurations[0]?.webhooks, [[id(certificate)]])
})
