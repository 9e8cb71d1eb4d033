import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:https'
import { test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { costly } from '../runs.ts'
import { SECOND, until } from '../until.ts'
import { call } from './call.ts'
import { startPaired } from './pairs.ts'
import { pod, review } from './reviews.ts'

const body = JSON.stringify(review())
const MiB = 1024 * 1024

/** A client's connection; on Linux all of 127.0.0.0/8 is loopback, so each `from` is another client. */
async function open(port: number, from = '127.0.0.1'): Promise<TLSSocket> {
  const options: ConnectionOptions & { localAddress: string } = { host: '127.0.0.1', port, localAddress: from }
  const socket = connect({ ...options, rejectUnauthorized: false })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  return socket
}

const head = (length: number) =>
  `POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

/** A connection on which all of a body has been sent but its last byte. */
async function stalled(port: number, length: number, from?: string): Promise<TLSSocket> {
  const socket = await open(port, from)
  socket.write(head(length))
  const chunk = Buffer.alloc(MiB, 0x20)
  for (let left = length - 1; left > 0; left -= chunk.length) {
    if (!socket.write(chunk.subarray(0, Math.min(left, chunk.length)))) {
      await Promise.race([once(socket, 'drain'), once(socket, 'close')])
    }
  }
  return socket
}

/** What is answered on a connection until `pattern` has been seen. */
async function answer(socket: TLSSocket, pattern = /\r\n\r\n\{.*\}/s): Promise<string> {
  let text = ''
  while (!pattern.test(text)) {
    const [chunk] = await once(socket, 'data')
    text += chunk
  }
  return text
}

/** The most memory, in MiB, that a process has held. */
async function peak(pid: number | undefined): Promise<number> {
  return Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

const metric = async (url: string, name: string) => {
  const { text } = await call(`${url}/metrics`, { method: 'GET' })
  return Number(new RegExp(`^sidecar_first_${name} (\\d+)$`, 'm').exec(text)?.[1])
}

test(
  'bodies that stall before their end hold 64 MiB at most, and good requests are answered beside them',
  costly,
  async () => {
    await using server = await startPaired()
    const slow: TLSSocket[] = []
    for (let index = 0; index < 60; index++) slow.push(await stalled(server.port, 7_235_000))
    for (let turn = 0; turn < 20; turn++) assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
    assert.ok((await metric(server.url, 'in_flight_bytes')) <= 64 * MiB)
    // 414 MiB were sent, beside some 150 that a process has anyway.
    const held = await peak(server.child.pid)
    assert.ok(held < 400, `${held} MiB`)
    // One that had to give way is told so when its body is complete, and its connection goes on.
    const [first] = slow
    assert.ok(first)
    first.write(' ')
    assert.match(await answer(first), /^HTTP\/1\.1 429 [\s\S]*Retry-After: 1\r\n/i)
    first.write(head(Buffer.byteLength(body)) + body)
    assert.match(await answer(first), /^HTTP\/1\.1 200 /)
    for (const socket of slow) socket.destroy()
  },
)

test('senders that hold every place do not keep a good request out, whatever they send now and then', async () => {
  await using server = await startPaired(['--max-in-flight', '5'])
  const slow = await Promise.all(Array.from({ length: 20 }, () => open(server.port)))
  for (const socket of slow) socket.write(head(100_000))
  const drip = setInterval(() => {
    for (const socket of slow) socket.write(' ')
  }, 10)
  for (let turn = 0; turn < 30; turn++) assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
  for (const probe of ['healthz', 'readyz']) {
    assert.equal((await call(`${server.url}/${probe}`, { method: 'GET' })).status, 200)
  }
  clearInterval(drip)
  for (const socket of slow) socket.destroy()
})

test('who holds most gives way first: one client that takes all places costs another none', async () => {
  await using server = await startPaired(['--max-in-flight', '5'])
  const patient = await open(server.port, '127.0.0.2')
  patient.write(head(Buffer.byteLength(body)) + body.slice(0, 10))
  await until('the patient request to have a place', 10 * SECOND, async () => {
    return (await metric(server.url, 'in_flight_requests')) === 1
  })
  const greedy = await Promise.all(Array.from({ length: 20 }, () => open(server.port, '127.0.0.3')))
  for (const socket of greedy) socket.write(head(100_000))
  await until('the greedy to hold the rest', 10 * SECOND, async () => {
    return (await metric(server.url, 'overload_refusals_total')) === 16
  })
  patient.write(body.slice(10))
  assert.match(await answer(patient), /^HTTP\/1\.1 200 /)
  for (const socket of [patient, ...greedy]) socket.destroy()
})

test('beyond the most connections, the longest idle of the client with most is closed', async () => {
  await using server = await startPaired(['--max-in-flight', '4'])
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: '127.0.0.2' })
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, 200)
  const [kept] = Object.values(agent.freeSockets)[0] ?? []
  let closed = 0
  const idle: TLSSocket[] = []
  for (let index = 0; index < 100; index++) {
    const socket = await open(server.port)
    socket.on('close', () => closed++)
    socket.resume()
    idle.push(socket)
  }
  await until('80 connections to be closed', 10 * SECOND, async () => closed >= 80)
  assert.ok(idle.slice(0, 70).every(({ destroyed }) => destroyed))
  assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
  assert.equal((await call(`${server.url}/mutate`, { body, agent })).status, 200)
  assert.equal(Object.values(agent.freeSockets)[0]?.[0], kept)
  assert.equal((await call(`${server.url}/readyz`, { method: 'GET' })).status, 200)
  for (const socket of idle) socket.destroy()
  agent.destroy()
})

test('connections that never begin a handshake are bounded as well', async () => {
  const { connect: connectPlain } = await import('node:net')
  await using server = await startPaired(['--max-in-flight', '4'])
  let closed = 0
  const sockets = Array.from({ length: 100 }, () =>
    connectPlain(server.port, '127.0.0.1')
      .on('error', () => {})
      .on('close', () => closed++)
      .resume(),
  )
  await until('80 connections to be closed', 5 * SECOND, async () => closed >= 80)
  assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
  for (const socket of sockets) socket.destroy()
})

test('a small request is answered before large ones that came first have all had their turn', costly, async () => {
  await using server = await startPaired()
  const large = JSON.stringify(review({ ...pod(), x: 'LARGE' })).replace(
    '"LARGE"',
    `[${Array.from({ length: 190_000 }, (_, index) => `{"${index.toString(36)}":0}`).join(',')}]`,
  )
  const order: string[] = []
  const senders = await Promise.all(Array.from({ length: 12 }, () => open(server.port)))
  for (const socket of senders) socket.write(head(large.length) + large.slice(0, -1))
  const good = await open(server.port)
  await until('all but the last byte to have come', 30 * SECOND, async () => {
    return (await metric(server.url, 'in_flight_bytes')) >= 12 * large.length
  })
  const answered = [...senders, good].map(async (socket) => {
    socket.write(socket === good ? head(Buffer.byteLength(body)) + body : '}')
    assert.match(await answer(socket), /^HTTP\/1\.1 200 /)
    order.push(socket === good ? 'small' : 'large')
  })
  await Promise.all(answered)
  assert.ok(order.indexOf('small') < order.length - 1, order.join())
  for (const socket of [...senders, good]) socket.destroy()
})

// A chunk of one byte takes six on the wire, and as long to read as kilobytes of a plain body. No API server sends chunks.
test('a body in chunks is refused before any of it is read', async () => {
  await using server = await startPaired()
  for (const path of ['/mutate', '/validate', '/preview', '/healthz', '/metrics']) {
    const socket = await open(server.port)
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    )
    assert.match(await answer(socket), /^HTTP\/1\.1 411 .*send a Content-Length/s, path)
    await until('it is closed', 10 * SECOND, async () => socket.destroyed)
  }
  assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
})

test('requests that are sent before earlier ones are answered: a few are, a connection with more is closed', async () => {
  await using server = await startPaired()
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
  const few = await open(server.port)
  few.write(get('/healthz') + get('/nothing') + get('/readyz'))
  const answers = await answer(few, /"ready":true/)
  assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g), ['200', '404', '200'])
  for (const path of ['/healthz', '/metrics', '/nothing']) {
    const many = await open(server.port)
    many.write(get(path).repeat(1000))
    many.resume()
    await until('it is closed', 10 * SECOND, async () => many.destroyed)
  }
  assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
})
