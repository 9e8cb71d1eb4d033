import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { splitBundle } from '../../certs/faults.ts'
import { keepCertificates } from '../../certs/keep.ts'
import { issueAuthority } from '../../certs/x509.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { until } from '../until.ts'
import { StoredCluster } from './stored-cluster.ts'
import { DAY, SECOND } from './world.ts'

const [mutating, validating] = ['zz-sidecar-first', 'sidecar-first']

/** Keeps the certificates of a cluster until the test ends. `settle` in ms. */
function keep(t: TestContext, cluster: StoredCluster, settle = 50) {
  const stop = new AbortController()
  const running = keepCertificates({
    cluster,
    lifetimes: { authority: 365 * DAY, leaf: 30 * DAY, settle },
    names: ['sidecar-first.sidecar-first.svc'],
    leads: () => true,
    steady: () => performance.now(),
    observer: { turned() {}, looked() {}, took() {}, noticed() {}, failed() {} },
    signal: stop.signal,
    changed: cluster.changed,
  })
  t.after(async () => {
    stop.abort()
    await running
  })
}

const leafThere = (cluster: StoredCluster) =>
  until('a leaf', 60 * SECOND, async () => cluster.secret?.data['tls.crt'] !== undefined)

test('a caBundle that somebody keeps reverting is written ever more rarely, and told once', async (t) => {
  const cluster = new StoredCluster()
  keep(t, cluster)
  await leafThere(cluster)
  cluster.afterWrite = (name) => {
    if (name === mutating) cluster.setBundle(name, '')
  }
  cluster.writes.length = 0
  cluster.setBundle(mutating, '')
  await until('it is told', 60 * SECOND, async () => cluster.reasons().includes('ChangeUndone'))
  await sleep(SECOND)
  const told = cluster.reasons().filter((reason) => reason === 'ChangeUndone')
  assert.equal(told.length, 1)
  assert.ok(cluster.writes.length < 12, `${cluster.writes.length} writes`)
  assert.ok(cluster.reports.length < 12, `${cluster.reports.length} events`)

  // The other configuration is restored meanwhile, and this one once nobody reverts it any more.
  cluster.setBundle(validating, '')
  await until('the other is restored', 60 * SECOND, async () => splitBundle(cluster.bundle(validating)).length === 1)
  cluster.afterWrite = () => {}
  await until('it is restored', 90 * SECOND, async () => splitBundle(cluster.bundle(mutating)).length === 1)
})

test('a rotation settles although somebody keeps a CA in a caBundle that does not belong there', async (t) => {
  const cluster = new StoredCluster()
  keep(t, cluster)
  await leafThere(cluster)
  // Valid only in the past, so it isn't kept trusted.
  const past = new Date(Date.now() - 400 * DAY)
  const old = await issueAuthority({ commonName: 'old', life: 30 * DAY, at: past })
  const spoil = (name: string) => cluster.setBundle(name, cluster.bundle(name) + old.certificate)
  cluster.afterWrite = spoil
  spoil(mutating)
  const before = cluster.secret?.data['tls.crt']
  const { version = '' } = cluster.secret ?? {}
  await cluster.updateSecret(version, { data: {}, annotations: { [objectKeys.rotate]: 'ca' } })
  await until('a leaf of the new CA', 60 * SECOND, async () => cluster.secret?.data['tls.crt'] !== before)
  assert.ok(cluster.secret?.data['old-ca.crt'])
})

test('a rotation that a reverted caBundle holds up says so', async (t) => {
  const cluster = new StoredCluster()
  keep(t, cluster)
  await leafThere(cluster)
  const trusted = cluster.bundle(mutating)
  cluster.afterWrite = (name) => {
    if (name === mutating) cluster.setBundle(name, trusted)
  }
  const { version = '', data } = cluster.secret ?? {}
  await cluster.updateSecret(version, { data: {}, annotations: { [objectKeys.rotate]: 'ca' } })
  await until('it is told', 60 * SECOND, async () => cluster.reasons().includes('ChangeUndone'))
  const { message = '' } = cluster.reports.find(({ reason }) => reason === 'ChangeUndone') ?? {}
  assert.match(message, /the caBundle of zz-sidecar-first; .* the rotation waits: leaves still come from the old CA/)
  assert.equal(cluster.secret?.data['tls.crt'], data?.['tls.crt'])
})

test('a CA that only a caBundle has stays trusted, and an event names it once', async (t) => {
  const cluster = new StoredCluster()
  const theirs = await issueAuthority({ commonName: 'somebody else', life: 30 * DAY, at: new Date() })
  cluster.setBundle(mutating, theirs.certificate)
  keep(t, cluster)
  await leafThere(cluster)
  await until('all is trusted', 60 * SECOND, async () => splitBundle(cluster.bundle(validating)).length === 2)
  const told = cluster.reports.filter(({ reason }) => reason === 'UnknownAuthorityTrusted')
  assert.equal(told.length, 1)
  assert.match(
    told[0]?.message ?? '',
    /^The caBundle of zz-sidecar-first has a CA that isn't in the Secret: CN=somebody else \w+ \(SHA-256 [0-9A-F:]{95}\), valid until \d{4}-/,
  )
})
