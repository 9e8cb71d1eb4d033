import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { serve } from '../../src/cli/serve.ts'
import { run } from '../cli/inside.ts'
import { SECOND, until } from '../until.ts'
import { call } from './call.ts'
import { folder, issue, issueClient, sharedPair, startPaired, writePair } from './pairs.ts'
import { startServe } from './process.ts'
import { review } from './reviews.ts'

const day = 24 * 3_600_000
const body = JSON.stringify(review())

/** What a client is shown by the server on this port. */
async function served(port: number, options: ConnectionOptions = {}) {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  try {
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerX509Certificate() ?? {}
    return { serialNumber, protocol: socket.getProtocol(), alpn: socket.alpnProtocol }
  } finally {
    socket.destroy()
  }
}

const serialOf = async (certificate: string) =>
  new (await import('node:crypto')).X509Certificate(certificate).serialNumber

test('files are served, and HTTP/1.1 over TLS 1.2 or newer only', async () => {
  const { authority } = await sharedPair()
  await using server = await startPaired()
  const reply = await call(`${server.url}/mutate`, { body, ca: authority.certificate })
  assert.equal(reply.status, 200)
  assert.equal((await served(server.port, { ALPNProtocols: ['h2', 'http/1.1'] })).alpn, 'http/1.1')
  assert.equal((await served(server.port, { maxVersion: 'TLSv1.2' })).protocol, 'TLSv1.2')
  await assert.rejects(served(server.port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }))
  await assert.rejects(served(server.port, { ALPNProtocols: ['h2'] }))
})

test("a Secret's symlink swap is picked up, and what is bad on disk is not served", async () => {
  await using dir = await folder()
  const first = (await sharedPair()).leaf
  const second = (await issue()).leaf
  // As the kubelet projects a Secret: files are links through ..data, which is swapped in one step.
  let version = 0
  const publish = async (pair: { certificate: string; key: string }) => {
    const name = `..v${++version}`
    await mkdir(join(dir.path, name))
    await writePair(join(dir.path, name), pair)
    await symlink(name, join(dir.path, '..tmp'))
    await rename(join(dir.path, '..tmp'), join(dir.path, '..data'))
  }
  await publish(first)
  for (const name of ['tls.crt', 'tls.key']) await symlink(join('..data', name), join(dir.path, name))
  await using server = await startServe(['--cert', join(dir.path, 'tls.crt'), '--key', join(dir.path, 'tls.key')])
  const serial = async () => (await served(server.port)).serialNumber
  const failures = async () => {
    const { text } = await call(`${server.url}/metrics`, { method: 'GET' })
    return Number(/certificate_reload_failures_total (\d+)/.exec(text)?.[1])
  }
  assert.equal(await serial(), await serialOf(first.certificate))
  await publish(second)
  const expected = await serialOf(second.certificate)
  await until("the new pair's serial", 30 * SECOND, async () => (await serial()) === expected)

  const expired = (await issue({ at: new Date(Date.now() - 3 * day), life: day })).leaf
  const bad = [
    { certificate: first.certificate, key: second.key },
    { certificate: '', key: '' },
    { certificate: first.certificate.slice(0, 300), key: first.key },
    { certificate: first.certificate, key: first.key.slice(0, 300) },
    expired,
  ]
  for (const [index, pair] of bad.entries()) {
    await publish(pair)
    await until('another rejected pair', 30 * SECOND, async () => (await failures()) === index + 1)
    assert.equal(await serial(), expected)
    // The good pair is served on: no reason to take every replica away.
    const ready = await call(`${server.url}/readyz`, { method: 'GET' })
    assert.equal(ready.status, 200)
    assert.match(ready.text, /tls\.crt/)
  }
  assert.doesNotMatch(server.output(), /PRIVATE/)
  await publish(first)
  const mended = await serialOf(first.certificate)
  await until('the first pair again', 30 * SECOND, async () => (await serial()) === mended)
})

test('what is expired at the start is served, told and not ready; a new pair makes it ready', async () => {
  await using dir = await folder()
  const flags = await writePair(dir.path, (await issue({ at: new Date(Date.now() - 3 * day), life: day })).leaf)
  await using server = await startServe(flags)
  const ready = () => call(`${server.url}/readyz`, { method: 'GET' })
  const before = await ready()
  assert.equal(before.status, 503)
  assert.match(before.text, /expired/)
  assert.equal((await call(`${server.url}/healthz`, { method: 'GET' })).status, 200)
  await writePair(dir.path, (await sharedPair()).leaf)
  await until('the server to be ready', 30 * SECOND, async () => (await ready()).status === 200)
})

for (const [name, spoil, pattern] of [
  ['missing', () => undefined, /--cert .* can't be read: ENOENT/],
  ['empty', () => ({ certificate: '', key: '' }), /empty/],
  ['half-written', (pair) => ({ ...pair, certificate: pair.certificate.slice(0, 300) }), /read/],
  ['without its key', (pair) => ({ ...pair, key: pair.key.slice(0, 300) }), /key/],
] as const satisfies [string, (pair: { certificate: string; key: string }) => object | undefined, RegExp][]) {
  test(`a pair that is ${name} at the start ends it with one line`, async () => {
    await using dir = await folder()
    const pair = spoil((await sharedPair()).leaf)
    if (pair) await writePair(dir.path, pair)
    const flags = ['--cert', join(dir.path, 'tls.crt'), '--key', join(dir.path, 'tls.key')]
    const { code, stderr, stdout } = await run(serve, '--port', '0', ...flags)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, pattern)
    assert.equal(stderr.trim().split('\n').length, 1)
  })
}

test("another pair's key ends it with one line", async () => {
  await using dir = await folder()
  const flags = await writePair(dir.path, { ...(await sharedPair()).leaf, key: (await issue()).leaf.key })
  const { code, stderr } = await run(serve, '--port', '0', ...flags)
  assert.equal(code, 1)
  assert.match(stderr, /not the certificate's/)
})

test('--client-ca asks for a certificate on /mutate alone, and is reloaded', async () => {
  await using dir = await folder()
  const [ours, theirs] = [await sharedPair(), await issue()]
  const clientCa = join(dir.path, 'client-ca.crt')
  await writeFile(clientCa, ours.authority.certificate)
  await using server = await startPaired(['--client-ca', clientCa])
  const [client, stranger] = [issueClient(ours.authority), issueClient(theirs.authority)]
  const mutate = (who?: typeof client) =>
    call(`${server.url}/mutate`, { body, ...(who && { cert: who.certificate, key: who.key }) })
  assert.equal((await mutate()).status, 403)
  assert.equal((await mutate(stranger)).status, 403)
  assert.deepEqual(Object.keys((await mutate(stranger)).json as object), ['code', 'error', 'problems'])
  assert.equal((await mutate(client)).status, 200)
  assert.equal((await call(`${server.url}/readyz`, { method: 'GET' })).status, 200)
  assert.equal((await call(`${server.url}/preview`, { body })).status, 200)
  await writeFile(clientCa, theirs.authority.certificate)
  await until('the stranger let in', 30 * SECOND, async () => (await mutate(stranger)).status === 200)
  assert.equal((await mutate(client)).status, 403)
})

test('only what is asked for is loaded: no node-forge with a certificate given, no express for admissions and probes', async () => {
  // Prints each file that is loaded.
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { process.stderr.write('loaded ' + url + '\\n'); return next(url, context) } })`
  const trace = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  const loaded = async (flags: readonly string[], { all }: { all: boolean }) => {
    await using server = await startServe(['--drain', '0', ...flags], trace)
    await call(`${server.url}/mutate`, { body })
    await call(`${server.url}/healthz`, { method: 'GET' })
    await call(`${server.url}/readyz?verbose`, { method: 'GET' })
    if (all) await call(`${server.url}/preview`, { body })
    if (all) await call(`${server.url}/metrics`, { method: 'GET' })
    server.child.kill('SIGTERM')
    await once(server.child, 'close')
    return server.errors()
  }
  const pair = (await sharedPair()).flags
  assert.doesNotMatch(await loaded(pair, { all: false }), /express|prom-client|src\/preview|node-forge|client-node/)
  assert.doesNotMatch(await loaded(pair, { all: true }), /node-forge|client-node/)
  // The control: the trace would have shown them.
  const everything = await loaded([], { all: true })
  for (const name of [/node_modules\/express\//, /prom-client/, /src\/preview/, /node_modules\/node-forge\//]) {
    assert.match(everything, name)
  }
})
