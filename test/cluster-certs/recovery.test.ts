import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { SECOND, until } from '../until.ts'
import { createConfigurations, dnsNames, healthy, long, names, sharedServer, start, subjects } from './fixture.ts'

const shared = sharedServer()

const minted = (lines: readonly string[]) => lines.filter((line) => line.includes('"AuthorityMinted"')).length
const settled = (lines: readonly string[]) => lines.filter((line) => line.includes('every API server trusts it')).length

test('three replicas started together on an empty cluster make one CA', async (t) => {
  const replicas = [start(t, shared.api), start(t, shared.api), start(t, shared.api)]
  const seen = await shared.heal(20 * SECOND)
  await Promise.all(replicas.map((replica) => replica.stop()))
  const lines = replicas.flatMap((replica) => replica.lines)
  assert.equal(minted(lines), 1, lines.join('\n'))
  assert.deepEqual(Object.keys(seen.secret?.data ?? {}).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])
  assert.equal((await shared.admin.lease.read())?.holder, '', 'the leader gives its Lease up at the end')
})

test('what is valid is not touched', async (t) => {
  await t.test('by whoever comes later', async (t) => {
    const first = start(t, shared.api)
    const before_ = await shared.heal(20 * SECOND)
    await first.stop()
    const second = start(t, shared.api)
    await until('a second leader', 20 * SECOND, async () => second.lines.some((line) => line.includes('phase: ')))
    await second.stop()
    const now = await shared.admin.now()
    assert.equal(now.secret?.version, before_.secret?.version)
    assert.deepEqual(now.configurations, before_.configurations)
  })
})

test('a deleted Secret: the old CA stays trusted, the new one settles, then its leaf is there', async (t) => {
  const keeper = start(t, shared.api)
  const before_ = await shared.heal(20 * SECOND)
  await shared.api.kubectl(['delete', 'secret', '-n', names.namespace, names.secret])
  const seen = await until('a new leaf', 20 * SECOND, async () => {
    const now = await shared.admin.now()
    return now.secret?.data['tls.crt'] !== undefined && healthy(now)
  })
  await keeper.stop()
  const old = subjects(before_.secret?.data['ca.crt'] ?? '')[0] ?? 'none'
  for (const bundle of seen.configurations.flatMap((one) => one.bundles)) assert.ok(subjects(bundle).includes(old))
  assert.notEqual(seen.secret?.data['ca.crt'], before_.secret?.data['ca.crt'])
  assert.deepEqual([minted(keeper.lines), settled(keeper.lines)], [2, 1], keeper.lines.join('\n'))
})

for (const [key, cas] of [
  ['tls.key', 1],
  ['tls.crt', 1],
  ['ca.key', 2],
  ['ca.crt', 2],
] as const) {
  test(`a half-written ${key} heals, by ${cas === 1 ? 'a leaf from the same CA' : 'a CA that settles first'}`, async (t) => {
    const keeper = start(t, shared.api)
    const before_ = await shared.heal(20 * SECOND)
    const { version, data } = before_.secret ?? assert.fail()
    await shared.admin.cluster.updateSecret(version, { data: { [key]: (data[key] ?? '').slice(0, 300) } })
    await until('a sound Secret', 20 * SECOND, async () => {
      const now = await shared.admin.now()
      return (
        now.secret?.version !== version && healthy(now) && now.secret?.data[key] !== (data[key] ?? '').slice(0, 300)
      )
    })
    await keeper.stop()
    assert.equal(minted(keeper.lines), cas, keeper.lines.join('\n'))
  })
}

test('a caBundle that an apply wipes is put back', async (t) => {
  const keeper = start(t, shared.api)
  await shared.heal(20 * SECOND)
  const paths = [0, 1].map((i) => ({ op: 'remove', path: `/webhooks/${i}/clientConfig/caBundle` }))
  await shared.api.kubectl([
    'patch',
    'validatingwebhookconfiguration',
    names.validating,
    '--type=json',
    '-p',
    JSON.stringify(paths),
  ])
  const began = performance.now()
  await shared.heal(10 * SECOND)
  console.log(`caBundle back after ${Math.round(performance.now() - began)} ms`)
  await keeper.stop()
  assert.equal(minted(keeper.lines), 1)
})

test('a configuration that is created later is given the caBundle', async (t) => {
  await shared.api.kubectl(['delete', 'mutatingwebhookconfiguration', names.mutating])
  await shared.api.kubectl(['delete', 'validatingwebhookconfiguration', names.validating])
  const keeper = start(t, shared.api)
  await until('a leaf', 20 * SECOND, async () => (await shared.admin.now()).secret?.data['tls.crt'])
  await createConfigurations(shared.api)
  await shared.heal(10 * SECOND)
  await keeper.stop()
  assert.equal(minted(keeper.lines), 1)
})

test('everything expired at the start: trusted first, then a leaf at once', async (t) => {
  const at = new Date(Date.now() - 100 * 86_400_000)
  const life = 10 * 86_400_000
  const authority = await issueAuthority({ commonName: 'old', life, at })
  const leaf = await issueLeaf({ authority, names: dnsNames, life, at })
  await shared.admin.cluster.createSecret({
    'ca.crt': authority.certificate,
    'ca.key': authority.key,
    'tls.crt': leaf.certificate,
    'tls.key': leaf.key,
  })
  for (const one of await shared.admin.cluster.readConfigurations())
    await shared.admin.cluster.writeBundle(one, authority.certificate)
  const keeper = start(t, shared.api, { lifetimes: { ...long, settle: 600 * SECOND } })
  await shared.heal(20 * SECOND)
  await keeper.stop()
  assert.ok(
    keeper.lines.some((line) => line.includes('SettlingSkipped')),
    keeper.lines.join('\n'),
  )
  const events = await shared.api.kubectl(['get', 'events', '-n', names.namespace, '-o', 'jsonpath={.items[*].reason}'])
  assert.match(events, /SettlingSkipped/)
})

for (const hours of [-2, 2]) {
  test(`a clock ${hours} h off changes nothing: dates are the API server's`, async (t) => {
    const keeper = start(t, shared.api, { wallClock: () => Date.now() + hours * 3_600_000 })
    const before_ = await shared.heal(20 * SECOND)
    const { version } = before_.secret ?? assert.fail()
    await shared.admin.cluster.updateSecret(version, { data: {}, annotations: { 'sidecar-first.dev/rotate': 'ca' } })
    await until('the second CA in its place', 20 * SECOND, async () => {
      const now = await shared.admin.now()
      return now.secret?.data['old-ca.crt'] !== undefined && healthy(now)
    })
    await keeper.stop()
    assert.deepEqual([minted(keeper.lines), settled(keeper.lines)], [2, 1], keeper.lines.join('\n'))
  })
}
