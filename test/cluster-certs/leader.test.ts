import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { after, afterEach, before, test } from 'node:test'
import type { Asked } from '../../certs/decide-step.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { type FaultyProxy, type Passing, startProxy } from '../apiserver/proxy.ts'
import { SECOND, until } from '../until.ts'
import { clear, createConfigurations, observer, prepare, replicaHosts } from './fixture.ts'
import { type Load, startLoad } from './load.ts'
import { end, type Replica, startReplica } from './replica.ts'

let api: ApiServer
let admin: ReturnType<typeof observer>
const proxies: FaultyProxy[] = []
let load: Load | undefined
const processes = new Set<ChildProcess>()
const replicas: Replica[] = []
before(async () => {
  api = await startApiServer()
  await prepare(api, replicaHosts)
  admin = observer(api)
})
afterEach(async () => {
  await load?.stop()
  await Promise.all([...processes].map(end))
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()))
  await Promise.all(proxies.splice(0).map((proxy) => proxy.stop()))
  await clear(api)
})
after(() => api.stop())

/** `certs run` with a lease of its own, so that a takeover takes seconds. */
function startCerts(kubeconfig: string): ChildProcess {
  const lives = ['--ca-life', '600s', '--leaf-life', '60s', '--settle', '3s', '--lease', '3s']
  const child = spawn(process.execPath, ['src/main.ts', 'certs', 'run', ...lives, '--metrics-port', '0'], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  processes.add(child)
  child.once('exit', () => processes.delete(child))
  return child
}

test('the leader is killed at each write of a rotation, before it and after it: no call fails, nothing is made twice', {
  timeout: 600_000,
}, async () => {
  await createConfigurations(api, 'Fail')
  const kills: string[] = []
  let armed = false
  // Three replicas, each behind a proxy of its own: who writes is known, killed, and replaced as a Deployment would.
  for (let i = 0; i < 3; i++) {
    let child: ChildProcess | undefined
    const proxy = await startProxy(api, (call) => {
      const what = kindOf(call)
      if (!armed || what === undefined) return 'pass'
      // Each kind of write twice: once it never gets there, once it does and nobody hears of it.
      const when = [`before ${what}`, `after ${what}`].find((kill) => !kills.includes(kill))
      if (when === undefined) return 'pass'
      kills.push(when)
      child?.kill('SIGKILL')
      child = startCerts(kubeconfig)
      return when.startsWith('before') ? 'hang' : 'lose'
    })
    const kubeconfig = api.kubeconfigFile('certs', proxy.url)
    proxies.push(proxy)
    child = startCerts(kubeconfig)
  }
  await until('a leaf', 60 * SECOND, async () => (await admin.now()).covered)
  replicas.push(
    ...(await Promise.all(
      replicaHosts.map((host, i) => startReplica({ cluster: admin.cluster, host, delay: i * SECOND })),
    )),
  )
  load = startLoad(api, admin.cluster, { hosts: replicaHosts, settle: 3 * SECOND })
  const { 'ca.crt': first = assert.fail(), 'tls.crt': leaf } = (await admin.now()).secret?.data ?? assert.fail()
  armed = true
  // First, while there is time: those who renew a leaf that is about to expire aren't killed for it.
  await ask('leaf')
  await until('another leaf', 300 * SECOND, async () => (await admin.now()).secret?.data['tls.crt'] !== leaf)
  await ask('ca')
  await until('the first CA gone', 300 * SECOND, async () => {
    const { secret, configurations } = await admin.now()
    const kept = Object.values(secret?.data ?? {}).some((pem) => pem.includes(first))
    return !kept && configurations.every(({ bundles }) => bundles.every((pem) => !pem.includes(first)))
  })
  await load.stop()
  const minted = proxies
    .flatMap((one) => one.passed)
    .filter(({ method, body, status }) => method !== 'GET' && body.includes('next-ca.key":"') && status < 300)
  console.log(
    `${kills.length} leaders killed (${kills.join(', ')}); ${load.pods.calls} pods, ${load.pods.failures.length} failures; ${load.handshakes.calls} new connections, ${load.handshakes.failures.length} failures; ${minted.length} CAs made`,
  )
  assert.deepEqual(load.pods.failures, [])
  assert.deepEqual(load.handshakes.failures, [])
  assert.equal(minted.length, 2, 'the first and the one that was asked for')
  assert.ok(kills.length >= 8, kills.join(', '))
})

/** Asks for a rotation, whoever writes at the same time. */
const ask = (what: Asked) =>
  until(`the wish for another ${what}`, 60 * SECOND, async () => {
    const { secret } = await admin.now()
    const annotations = { [objectKeys.rotate]: what }
    const write = secret && admin.cluster.updateSecret(secret.version, { data: {}, annotations })
    return await write?.then(() => true).catch(() => false)
  })

/** What a write does; undefined for everything else. */
function kindOf({ method, path, body }: Passing): string | undefined {
  if (method === 'GET') return undefined
  if (path.includes('webhookconfigurations')) return `trust (${path.includes('mutating') ? 'mutating' : 'validating'})`
  if (!path.includes('/secrets')) return undefined
  if (body.includes('next-ca.key":"')) return 'minting'
  if (body.includes('next-ca.key":null')) return 'the leaf of the new CA'
  if (body.includes('tls.key')) return 'a leaf of the same CA'
  return 'dropping'
}
