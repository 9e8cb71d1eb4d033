import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Asked } from '../../certs/next.ts'
import { issueAuthority } from '../../certs/x509.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { type Fate, type FaultyProxy, type Passing, startProxy } from '../apiserver/proxy.ts'
import { SECOND, until } from '../until.ts'
import { clear, createConfigurations, healthy, long, names, sharedServer, start } from './fixture.ts'

const shared = sharedServer()

const lifetimes = { ...long, settle: 200 }
const isLease = ({ path }: Passing) => path.includes('/leases')

/** The CAs that were written: each write of a new one that the API server took. */
const mintings = ({ passed }: FaultyProxy) =>
  passed.filter(({ method, body, status }) => method !== 'GET' && body.includes('next-ca.key":"') && status < 300)
    .length

/** From nothing to a first certificate, and through a rotation of the CA, with one call struck; how many calls there were. */
async function throughAll(t: TestContext, struck: number, fate: Fate): Promise<number> {
  let calls = 0
  const proxy = await startProxy(shared.api, (call) => {
    if (isLease(call) || call.watches) return 'pass' // a watch is only a hint
    return calls++ === struck ? fate : 'pass'
  })
  const keeper = start(t, shared.api, { server: proxy.url, lifetimes, callTimeout: 500 })
  try {
    await shared.heal(20 * SECOND)
    await until('the wish for a rotation', 5 * SECOND, async () => {
      const { secret } = await shared.admin.now()
      const annotations = { [objectKeys.rotate]: 'ca' }
      const write = secret && shared.admin.cluster.updateSecret(secret.version, { data: {}, annotations })
      return await write?.then(() => true).catch(() => false)
    })
    await until('the second CA in its place', 20 * SECOND, async () => {
      const now = await shared.admin.now()
      return now.secret?.data['old-ca.crt'] !== undefined && healthy(now)
    })
    assert.equal(mintings(proxy), 2, keeper.lines.join('\n'))
    return calls
  } finally {
    await keeper.stop()
    await proxy.stop()
  }
}

for (const fate of [403, 409, 500, 'hang', 'lose'] as const) {
  test(`each call to the API server meets once with ${fate}: two CAs are made, one for each wish`, {
    timeout: 600_000,
  }, async (t) => {
    const calls = await throughAll(t, -1, 'pass')
    for (let struck = 0; struck < calls; struck++) {
      await clear(shared.api)
      await createConfigurations(shared.api)
      await throughAll(t, struck, fate).catch((error) => {
        throw new Error(`call ${struck} met with ${fate}`, { cause: error })
      })
    }
    console.log(`${calls} runs, in each of which one call met with ${fate}`)
  })
}

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
