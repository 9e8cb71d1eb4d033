import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { pino } from 'pino'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { fixedConfiguration } from '../../src/server/configuration.ts'
import { startServer } from '../../src/server/server.ts'
import { freePort } from '../free-port.ts'
import { costly, runs } from '../runs.ts'
import { SECOND, until } from '../until.ts'
import { call } from './call.ts'
import { sharedPair, startPaired } from './pairs.ts'
import { pod, review } from './reviews.ts'

const body = JSON.stringify(review())

/** A connection of a client that does what it likes. */
async function open(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  return socket
}

const head = (length: number) =>
  `POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** Resolves when a request is under way, of which the server has read the head. */
const begun = (url: string) =>
  until('a request to begin', 10 * SECOND, async () => {
    const { text } = await call(`${url}/metrics`, { method: 'GET' })
    return /in_flight_requests 1\n/.test(text)
  })

/** Everything a server sends until it closes the connection. */
async function everything(socket: TLSSocket): Promise<string> {
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  if (!socket.destroyed) await once(socket, 'close')
  return text
}

/** The server in this process, with shorter times than a real one's. */
async function startImpatient(maxInFlight = 100, times = {}) {
  const server = await startServer({
    host: '127.0.0.1',
    port: 0,
    routes: new Set(['admission', 'preview']),
    sources: { pair: { made: (await sharedPair()).leaf }, clientCa: undefined },
    configuration: fixedConfiguration(defaultConfiguration('0.0.0')),
    maxInFlight,
    log: pino({ enabled: false }),
    inform() {},
    times: { headers: 500, request: 1500, checks: 100, ...times },
  })
  const { port } = server.address
  return { port, url: `https://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void (await server.drain(0)) }
}

test('slow senders are answered 408 and closed', async () => {
  await using server = await startImpatient()
  const headers = await open(server.port)
  headers.write('POST /mutate HTTP/1.1\r\nHost:')
  const slowBody = await open(server.port)
  slowBody.write(head(100))
  for (const socket of [headers, slowBody]) assert.match(await everything(socket), /^HTTP\/1\.1 408 [\s\S]*"error"/)
})

test('a server that stood still through a handshake cuts it off: no request is decided and then told that it is none', async () => {
  await using server = await startImpatient(100, { handshake: 200 })
  const socket = connectPlain(server.port, '127.0.0.1')
  await once(socket, 'connect')
  await sleep(50)
  const late = connect({ socket, rejectUnauthorized: false })
  late.on('error', () => {})
  late.write(`${head(Buffer.byteLength(body))}${body}`)
  const reply = everything(late)
  await setImmediate()
  // Nothing runs in this process, so the time is up before the server reads what has come long ago.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400)
  assert.equal(await reply, '')
})

test('an idle kept connection outlives the time for headers', async () => {
  await using server = await startImpatient()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const first = await call(`${server.url}/mutate`, { body, agent })
  const [socket] = Object.values(agent.freeSockets)[0] ?? []
  assert.ok(socket)
  await sleep(2000)
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, first.status)
  assert.equal(Object.values(agent.freeSockets)[0]?.[0], socket)
  agent.destroy()
})

test('a request that finds no place is answered 429 once it is sent, and its connection goes on', costly, async () => {
  await using server = await startImpatient(1, { request: 60_000 })
  const yaml = { 'content-type': 'application/yaml' }
  const preview = call(`${server.url}/preview`, { body: '- {a: 1}\n'.repeat(50_000), headers: yaml })
  await until('the preview to be worked on', 10 * SECOND, async () => {
    const { text } = await call(`${server.url}/metrics`, { method: 'GET' })
    return /in_flight_requests 1\n/.test(text) && /in_flight_bytes 450000\n/.test(text)
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const large = JSON.stringify(review(pod({ labels: { large: 'x'.repeat(1_000_000) } })))
  const refused = await call(`${server.url}/mutate`, { body: large, agent })
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'])
  assert.equal((await call(`${server.url}/readyz`, { method: 'GET' })).status, 200)
  const [socket] = Object.values(agent.freeSockets)[0] ?? []
  await preview
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, 200)
  assert.ok(socket && Object.values(agent.freeSockets)[0]?.[0] === socket)
  const { text } = await call(`${server.url}/metrics`, { method: 'GET' })
  assert.match(text, /sidecar_first_overload_refusals_total 1\n/)
  agent.destroy()
})

test('a client that goes away in mid-body frees its place', async () => {
  await using server = await startImpatient(1)
  for (let turn = 0; turn < 5; turn++) {
    const socket = await open(server.port)
    socket.write(`${head(1000)}{"half":`)
    await sleep(20)
    socket.destroy()
    await sleep(50)
  }
  assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
})

test('an idle connection is used again after 6 s', async () => {
  await using server = await startPaired()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  // A call has ended before its connection is free again.
  const idle = () => until('the connection to be free', SECOND, async () => Object.values(agent.freeSockets)[0]?.[0])
  await call(`${server.url}/mutate`, { body, agent })
  const socket = await idle()
  await sleep(6000)
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, 200)
  assert.equal(await idle(), socket)
  agent.destroy()
})

test('requests that arrive while the event loop stands still are answered afterwards', async () => {
  await using server = await startPaired()
  const agent = new Agent({ keepAlive: true })
  await call(`${server.url}/mutate`, { body, agent })
  server.child.kill('SIGSTOP')
  const calls = Array.from({ length: 20 }, () => call(`${server.url}/mutate`, { body, agent }))
  await sleep(3000)
  server.child.kill('SIGCONT')
  for (const reply of await Promise.all(calls)) assert.equal(reply.status, 200)
  agent.destroy()
})

test('500 requests at once with SIGTERM: each is answered', costly, async () => {
  // Longer than 500 handshakes take on any machine: what comes after it is reset.
  await using server = await startPaired(['--drain', '10m', '--max-in-flight', '1000'])
  const calls = Array.from({ length: 500 }, () => call(`${server.url}/mutate`, { body }))
  await Promise.race(calls)
  server.child.kill('SIGTERM')
  for (const reply of await Promise.all(calls)) assert.equal(reply.status, 200)
  await sleep(500)
  server.child.kill('SIGTERM')
  assert.equal(await server.ended, 0)
})

test('hundreds of requests at once with SIGTERM and no time to drain: each is answered or never taken', async () => {
  await using server = await startPaired(['--drain', '0', '--max-in-flight', '1000'])
  const length = runs(500).numRuns
  const calls = Array.from({ length }, () => call(`${server.url}/mutate`, { body }).catch((error) => error))
  await Promise.race(calls)
  const whole = once(server.child, 'close')
  server.child.kill('SIGTERM')
  const results = await Promise.all(calls)
  assert.equal(await server.ended, 0)
  await whole // what it has said may be heard later than its end
  const answered = results.filter((result) => !(result instanceof Error))
  for (const reply of answered) assert.equal(reply.status, 200)
  // What was decided was also answered.
  const decided = server.output().match(/"msg":"admission"/g)?.length
  assert.equal(answered.length, decided)
})

test('SIGTERM: readiness fails first, service goes on with Connection: close, then it ends with 0', async () => {
  await using server = await startPaired(['--drain', '6s'])
  const agent = new Agent({ keepAlive: true })
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).headers.connection, 'keep-alive')
  server.child.kill('SIGTERM')
  await server.seen(/shutting down/)
  const ready = await call(`${server.url}/readyz`, { method: 'GET' })
  assert.equal(ready.status, 503)
  const reply = await call(`${server.url}/mutate`, { body, agent })
  assert.deepEqual([reply.status, reply.headers.connection], [200, 'close'])
  assert.equal((await call(`${server.url}/healthz`, { method: 'GET' })).status, 200)
  assert.equal(await server.ended, 0)
  agent.destroy()
})

test('a request in flight is answered before the end', async () => {
  await using server = await startPaired(['--drain', '0'])
  const socket = await open(server.port)
  socket.write(head(Buffer.byteLength(body)))
  await begun(server.url)
  server.child.kill('SIGTERM')
  await server.seen(/shutting down/)
  const reply = everything(socket)
  await sleep(300)
  socket.write(body)
  assert.match(await reply, /^HTTP\/1\.1 200 [\s\S]*Connection: close/)
  assert.equal(await server.ended, 0)
})

test('a second signal ends it at once, with 1 where a request is cut off', async () => {
  await using server = await startPaired(['--drain', '10m'])
  const socket = await open(server.port)
  socket.write(head(100))
  await begun(server.url)
  server.child.kill('SIGTERM')
  await server.seen(/shutting down/)
  await sleep(500)
  server.child.kill('SIGTERM')
  assert.equal(await server.ended, 1)
})

test('a second signal ends it at once', async () => {
  await using server = await startPaired(['--drain', '10m'])
  server.child.kill('SIGTERM')
  await server.seen(/shutting down/)
  await sleep(500)
  server.child.kill('SIGTERM')
  // Nothing was in flight, so nothing was lost.
  assert.equal(await server.ended, 0)
})

test('SIGKILL in mid-request: the client sees a closed connection, and the port is free for the next', async () => {
  // One that nobody else is handed meanwhile.
  const port = String(await freePort())
  await using first = await startPaired(['--port', port])
  const pending = call(`${first.url}/mutate`, { body, headers: { 'content-length': Buffer.byteLength(body) + 1 } })
  await sleep(200)
  first.child.kill('SIGKILL')
  await assert.rejects(pending)
  await using second = await startPaired(['--port', port])
  assert.equal((await call(`${second.url}/mutate`, { body })).status, 200)
})

test('a reader of its output that goes away changes nothing', async () => {
  await using server = await startPaired()
  server.child.stdout?.destroy()
  const agent = new Agent({ keepAlive: true })
  for (let turn = 0; turn < 300; turn++) assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, 200)
  agent.destroy()
  server.child.kill('SIGINT')
  await sleep(400)
  server.child.kill('SIGINT')
  assert.equal(await server.ended, 0)
})
