import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Asked } from '../../certs/decide-step.ts'
import { issueAuthority } from '../../certs/x509.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { type Fate, startProxy } from '../apiserver/proxy.ts'
import { SECOND, until } from '../until.ts'
import { healthy, long, mintings, names, sharedServer, start } from './fixture.ts'

const shared = sharedServer()

const lifetimes = { ...long, settle: 200 }

for (const fate of [403, 500, 'hang'] as const) {
  test(`nothing is made while every read of the Secret meets with ${fate}`, async (t) => {
    let broken = false
    const proxy = await startProxy(shared.api, ({ method, path }) => {
      return broken && method === 'GET' && path.endsWith(`/secrets/${names.secret}`) ? fate : 'pass'
    })
    const keeper = start(t, shared.api, { server: proxy.url, lifetimes, callTimeout: 300 })
    const before_ = await shared.heal(20 * SECOND)
    broken = true
    await sleep(3 * SECOND)
    assert.equal((await shared.admin.now()).secret?.version, before_.secret?.version)
    assert.equal(mintings(proxy), 1)
    broken = false
    await keeper.stop()
    await proxy.stop()
  })
}

test('a storm of conflicts: each write that somebody else came before is decided anew', async (t) => {
  let storm = 0
  const proxy = await startProxy(shared.api, async ({ method, path }): Promise<Fate> => {
    if (method === 'PATCH' && storm < 12) {
      storm++
      // Somebody else writes first: the API server itself refuses what follows.
      const patch = JSON.stringify({ metadata: { annotations: { other: `${storm}` } } })
      const [resource, name = ''] = path.split('/').slice(-2)
      const namespace = path.includes('/namespaces/') ? ['-n', names.namespace] : []
      await shared.api.kubectl(['patch', ...namespace, resource ?? '', name, '--type=merge', '-p', patch])
    }
    return 'pass'
  })
  const keeper = start(t, shared.api, { server: proxy.url, lifetimes })
  await shared.heal(60 * SECOND)
  await keeper.stop()
  await proxy.stop()
  const refused = proxy.passed.filter(({ path, status }) => !path.includes('/leases') && status === 409)
  assert.equal(refused.length, 12, JSON.stringify(proxy.passed))
  assert.equal(mintings(proxy), 1)
})

test('a Secret that somebody else creates first is the one that counts', async (t) => {
  const winner = await issueAuthority({ commonName: 'winner', life: long.authority, at: new Date() })
  const proxy = await startProxy(shared.api, async ({ method, path }): Promise<Fate> => {
    if (method === 'POST' && path.endsWith('/secrets')) {
      await shared.admin.cluster.createSecret({ 'next-ca.crt': winner.certificate, 'next-ca.key': winner.key })
    }
    return 'pass'
  })
  const keeper = start(t, shared.api, { server: proxy.url, lifetimes })
  const seen = await shared.heal(20 * SECOND)
  await keeper.stop()
  await proxy.stop()
  assert.equal(seen.secret?.data['ca.crt'], winner.certificate)
  assert.equal(mintings(proxy), 0)
})

test('403 on every patch of a configuration: leaves are renewed all the same, a new CA waits for the right', async (t) => {
  let forbidden = false
  const proxy = await startProxy(shared.api, ({ method, path }) =>
    forbidden && method === 'PATCH' && path.includes('webhookconfigurations') ? 403 : 'pass',
  )
  const keeper = start(t, shared.api, { server: proxy.url, lifetimes })
  await shared.heal(20 * SECOND)
  forbidden = true
  const ask = async (what: Asked) => {
    const { secret } = await shared.admin.now()
    await shared.admin.cluster.updateSecret(secret?.version ?? '', {
      data: {},
      annotations: { [objectKeys.rotate]: what },
    })
    return secret?.data['tls.crt']
  }
  await ask('ca')
  const logged = (text: string) => keeper.lines.some((line) => line.includes(text))
  await until('the refusal in the log', 20 * SECOND, async () => logged('403'))
  const old = await ask('leaf')
  const renewed = await until('a new leaf', 20 * SECOND, async () => {
    const { secret } = await shared.admin.now()
    return secret?.data['tls.crt'] !== old && secret
  })
  assert.ok(renewed.data['next-ca.crt'], 'the new CA still waits')
  forbidden = false
  await until('the second CA in its place', 60 * SECOND, async () => {
    const now = await shared.admin.now()
    return now.secret?.data['old-ca.crt'] !== undefined && healthy(now)
  })
  await keeper.stop()
  await proxy.stop()
  assert.equal(mintings(proxy), 2)
})
