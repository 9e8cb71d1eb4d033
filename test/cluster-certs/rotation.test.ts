import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { issueAuthority, issueLeaf } from '../../certs/x509.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { SECOND, until } from '../until.ts'
import { clear, createConfigurations, dnsNames, observer, prepare, quick, replicaHosts, start } from './fixture.ts'
import { type Load, startLoad } from './load.ts'
import { type Replica, startReplica } from './replica.ts'

/** When each replica's files change after the Secret has. */
const delays = [SECOND / 2, 3 * SECOND]

let api: ApiServer
let admin: ReturnType<typeof observer>
before(async () => {
  api = await startApiServer()
  await prepare(api, replicaHosts)
  admin = observer(api)
})
after(() => api.stop())
beforeEach(() => clear(api))

const replicas: Replica[] = []
let load: Load | undefined
afterEach(async () => {
  await load?.stop()
  load = undefined
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()))
})

async function startReplicas() {
  const started = replicaHosts.map((host, i) => startReplica({ cluster: admin.cluster, host, delay: delays[i] ?? 0 }))
  replicas.push(...(await Promise.all(started)))
}

for (const policy of ['Fail', 'Ignore'] as const) {
  test(`a whole rotation of the CA under load, failurePolicy ${policy}: no call fails`, {
    timeout: 240_000,
  }, async (t) => {
    await createConfigurations(api, policy)
    const keeper = start(t, api, { lifetimes: quick })
    await until('a leaf', 60 * SECOND, async () => (await admin.now()).covered)
    await startReplicas()
    const first = (await admin.now()).secret?.data['ca.crt'] ?? assert.fail()
    load = startLoad(api, admin.cluster, { hosts: replicaHosts, settle: quick.settle })
    const phases: string[] = []
    // Over when the first CA is trusted nowhere any more, and nothing of it is left in the Secret.
    await until('the first CA gone', 200 * SECOND, async () => {
      const { secret, configurations, phase } = await admin.now()
      if (phases.at(-1) !== phase) phases.push(phase)
      const kept = Object.values(secret?.data ?? {}).some((pem) => pem.includes(first))
      return !kept && configurations.every(({ bundles }) => bundles.every((pem) => !pem.includes(first)))
    })
    await load.stop()
    const { pods, handshakes } = load
    await keeper.stop()
    console.log(
      `${policy}: ${pods.calls} pods, ${pods.failures.length} failures; ${handshakes.calls} new connections with the caBundle ${quick.settle / SECOND} s late, ${handshakes.failures.length} failures; ${phases.join(' → ')}`,
    )
    assert.deepEqual(pods.failures, [], keeper.lines.join('\n'))
    assert.deepEqual(handshakes.failures, [], keeper.lines.join('\n'))
    assert.ok(pods.calls > 500 && handshakes.calls > 100)
  })

  test(`control: the same load over a replacement in one step, failurePolicy ${policy}: calls fail`, async () => {
    await createConfigurations(api, policy)
    const make = async () => {
      const at = new Date()
      const authority = await issueAuthority({ commonName: 'one step', life: 3_600_000, at })
      const leaf = await issueLeaf({ authority, names: dnsNames, life: 3_600_000, at })
      return { 'ca.crt': authority.certificate, 'tls.crt': leaf.certificate, 'tls.key': leaf.key }
    }
    const trust = async (ca: string) => {
      for (const one of await admin.cluster.readConfigurations()) await admin.cluster.writeBundle(one, ca)
    }
    const old = await make()
    await admin.cluster.createSecret(old)
    await trust(old['ca.crt'])
    await startReplicas()
    load = startLoad(api, admin.cluster, { hosts: replicaHosts, settle: 0 })
    await sleep(2 * SECOND)
    const { pods, handshakes } = load
    assert.deepEqual([...pods.failures, ...handshakes.failures], [], 'nothing fails before')
    const fresh = await make()
    const { version } = (await admin.cluster.readSecret()) ?? assert.fail()
    await admin.cluster.updateSecret(version, { data: fresh })
    await trust(fresh['ca.crt'])
    await sleep(5 * SECOND)
    await load.stop()
    console.log(
      `${policy}, one step: ${pods.calls} pods, ${pods.failures.length} failures; ${handshakes.calls} new connections, ${handshakes.failures.length} failures`,
    )
    assert.ok(pods.failures.length > 0)
    assert.ok(handshakes.failures.length > 0)
  })
}
