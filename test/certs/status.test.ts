import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { statusText } from '../../certs/show.ts'
import { statusOf } from '../../certs/status.ts'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { StoredCluster } from './stored-cluster.ts'
import { lifetimes } from './world.ts'

test('a configuration that somebody has emptied trusts no CA', async () => {
  const cluster = new StoredCluster()
  const [mutating] = await cluster.readConfigurations()
  assert.ok(mutating)
  cluster.readConfigurations = async () => [{ ...mutating, bundles: [] }]
  const status = await statusOf({ cluster, names: ['sidecar-first'], lifetimes, ask: async () => undefined })
  const look = { width: 100, color: false, unicode: true, terminal: false }
  assert.match(statusText(status, look), /zz-sidecar-first: 0 CAs/)
})

describe('the status of what cert-manager keeps', async () => {
  const at = new Date()
  const life = 90 * 86_400_000
  const names = ['sidecar-first.sidecar-first.svc']
  const ca = await issueAuthority({ commonName: 'cert-manager', life, at })
  const leaf = await issueLeaf({ authority: ca, names, life, at })
  const other = await issueLeaf({ authority: await issueAuthority({ commonName: 'other', life, at }), names, life, at })

  /** As cert-manager writes them: no key of the CA in the Secret. */
  const status = async ({ shows = leaf.certificate, bundle = ca.certificate, secret = true, asked = names }) => {
    const cluster = new StoredCluster()
    cluster.readConfigurations = async () =>
      (['zz-sidecar-first', 'sidecar-first'] as const).map((name) => ({
        kind: 'mutating' as const,
        name,
        version: '1',
        bundles: [bundle],
        keptBy: 'cert-manager' as const,
      }))
    const data = { 'tls.crt': leaf.certificate, 'tls.key': leaf.key, 'ca.crt': ca.certificate }
    cluster.secret = secret ? { version: '1', data, annotations: {} } : undefined
    cluster.readEndpoints = async () => [{ host: '10.0.0.1', port: 8443, pod: 'a' }]
    return await statusOf({
      cluster,
      names: asked,
      lifetimes,
      ask: async () => (shows === 'nobody answers' ? undefined : shows),
    })
  }
  const look = { width: 100, color: false, unicode: true, terminal: false }

  test('finds nothing wrong where each replica serves what the API server trusts', async () => {
    const found = await status({})
    assert.deepEqual(found.problems, [])
    const text = statusText(found, look)
    assert.match(text, /^Phase: kept by cert-manager\n/)
    assert.match(text, /a:8443: the Secret's leaf/)
    assert.doesNotMatch(text, /Wrong|not those that it should/)
  })

  test('finds what would keep the API server from calling', async () => {
    const kinds = async (given: Parameters<typeof status>[0]) => (await status(given)).problems.map(({ kind }) => kind)
    assert.deepEqual(await kinds({ shows: other.certificate }), ['served-untrusted'])
    assert.deepEqual(await kinds({ bundle: '' }), ['trust-differs', 'trust-differs', 'served-untrusted'])
    assert.deepEqual(await kinds({ secret: false }), ['foreign-secret-missing'])
    assert.deepEqual(await kinds({ asked: ['else.svc'] }), ['secret-damaged', 'served-name'])
    assert.deepEqual(await kinds({ shows: 'nobody answers' }), ['no-handshake'])
    const ended = await issueLeaf({ authority: ca, names, life: 60_000, at: new Date(at.getTime() - 120_000) })
    assert.ok((await kinds({ shows: ended.certificate })).includes('served-expired'))
  })
})
