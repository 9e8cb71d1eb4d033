import { once } from 'node:events'
import { connect as connectTcp, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { hostilePods, reviewOf } from './pods.ts'

/** Something done to the port by somebody who has no credentials, from another address than the API server's. */
export interface Attack {
  readonly name: string
  /** Resolves to what came of it, for people. Throws where a bound is broken. */
  readonly run: (port: number, effort: Effort) => Promise<string>
}
interface Effort {
  /** How long connections are held, in ms. */
  readonly hold: number
}

const attacker = '127.0.0.2'
const MB = 1_000_000
const head = (path: string, ...headers: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'Host: x', 'Content-Type: application/json', ...headers, '', ''].join('\r\n')
const get = (path: string, version = '1.1'): string => `GET ${path} HTTP/${version}\r\nHost: x\r\n\r\n`
const smuggled = get('/smuggled')
const review = reviewOf(hostilePods['one long name']?.(1) ?? {})

/** Requests as bytes, and the statuses that may come back, one after the other: of chunks 411, and what the parser makes of the rest. Never one for what was smuggled. */
const requests: readonly (readonly [name: string, bytes: string | Uint8Array, answers: RegExp])[] = [
  [
    'two lengths',
    `${head('/mutate', 'Content-Length: 4', `Content-Length: ${4 + smuggled.length}`)}null${smuggled}`,
    /^400$/,
  ],
  ['one length twice', `${head('/mutate', 'Content-Length: 4', 'Content-Length: 4')}null`, /^400$/],
  [
    'a length and chunks',
    `${head('/mutate', `Content-Length: ${5 + smuggled.length}`, 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`,
    /^400$/,
  ],
  [
    'chunks and a length',
    `${head('/mutate', 'Transfer-Encoding: chunked', 'Content-Length: 4')}0\r\n\r\n${smuggled}`,
    /^400$/,
  ],
  [
    'chunks under another name',
    `${head('/mutate', 'Transfer-Encoding: xchunked')}4\r\nnull\r\n0\r\n\r\n`,
    /^(411 )?(411|400)$/,
  ],
  [
    'chunks, then as they are',
    `${head('/mutate', 'Transfer-Encoding: chunked, identity')}4\r\nnull\r\n0\r\n\r\n`,
    /^(411 )?(411|400)$/,
  ],
  ['a length below nothing', head('/mutate', 'Content-Length: -1'), /^400$/],
  ['a length with a sign', `${head('/mutate', 'Content-Length: +4')}null`, /^400$/],
  ['a length beyond 64 bits', head('/mutate', 'Content-Length: 99999999999999999999'), /^400$/],
  ['a length of a petabyte', head('/mutate', 'Content-Length: 1000000000000000'), /^(413)?$/],
  [
    'a chunk beyond 64 bits',
    `${head('/mutate', 'Transfer-Encoding: chunked')}ffffffffffffffffff\r\n`,
    /^(411 )?(411|400)$/,
  ],
  [
    'a chunk with a megabyte of extension',
    `${head('/mutate', 'Transfer-Encoding: chunked')}4;${'x'.repeat(MB)}\r\nnull\r\n0\r\n\r\n`,
    /^(411 )?(411|413|400)$/,
  ],
  [
    'a trailer of a megabyte',
    `${head('/mutate', 'Transfer-Encoding: chunked')}4\r\nnull\r\n0\r\nX: ${'x'.repeat(MB)}\r\n\r\n`,
    /^(411 )?(411|431|400)$/,
  ],
  [
    'bare line feeds',
    'POST /mutate HTTP/1.1\nHost: x\nContent-Type: application/json\nContent-Length: 4\n\nnull',
    /^400$/,
  ],
  [
    'a bare line feed in a chunk',
    `${head('/mutate', 'Transfer-Encoding: chunked')}4\nnull\n0\n\n`,
    /^(411 )?(411|400)$/,
  ],
  ['a bare carriage return', `POST /mutate HTTP/1.1\r\nHost: x\rContent-Length: 4\r\n\r\nnull`, /^400$/],
  ['a folded header', `${get('/healthz').slice(0, -2)}X: a\r\n Content-Length: 4\r\n\r\n`, /^(400|200)$/],
  ['a space before the colon', 'POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\nnull', /^400$/],
  ['a zero byte in a header', 'GET /healthz HTTP/1.1\r\nHost: x\u0000y\r\n\r\n', /^400$/],
  ['three requests at once', get('/healthz').repeat(3), /^200 200 200$/],
  ['a thousand requests at once', get('/healthz').repeat(1000), /^(200 ?)*$/],
  [
    'reviews one behind the other',
    `${head('/mutate', `Content-Length: ${review.length}`)}${review}`.repeat(20),
    /^(200 ?)*$/,
  ],
  [
    'a body behind a GET',
    `GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    /^200$/,
  ],
  ['HTTP/1.0', get('/healthz', '1.0'), /^200$/],
  [
    'HTTP/1.0, a review',
    `${head('/mutate', `Content-Length: ${review.length}`).replace('1.1', '1.0')}${review}`,
    /^200$/,
  ],
  [
    'HTTP/1.0, chunks',
    `${head('/mutate', 'Transfer-Encoding: chunked').replace('1.1', '1.0')}4\r\nnull\r\n0\r\n\r\n`,
    /^(411 )?(411|400)$/,
  ],
  ['HTTP/0.9', 'GET /healthz\r\n\r\n', /^(400|200)$/],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /^400$/],
  ['HTTP/3.0', get('/healthz', '3.0'), /^400$/],
  ['expects 100', `${head('/mutate', 'Content-Length: 4', 'Expect: 100-continue')}null`, /^100 400$/],
  ['expects 100, sends nothing', head('/mutate', 'Content-Length: 4', 'Expect: 100-continue'), /^100$/],
  ['expects something else', `${head('/mutate', 'Content-Length: 4', 'Expect: tea')}null`, /^(417|400)$/],
  ['CONNECT', 'CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n', /^(40[045])?$/],
  ['TRACE', 'TRACE /mutate HTTP/1.1\r\nHost: x\r\n\r\n', /^40[045]$/],
  [
    'an upgrade',
    `GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    /^(200|400|426)$/,
  ],
  ['a method of its own', 'BREW /mutate HTTP/1.1\r\nHost: x\r\n\r\n', /^400$/],
  ['a header of a megabyte', `GET /healthz HTTP/1.1\r\nX: ${'x'.repeat(MB)}\r\n\r\n`, /^431$/],
  ['ten thousand headers', `GET /healthz HTTP/1.1\r\n${'X: x\r\n'.repeat(10_000)}\r\n`, /^(431|200)$/],
  ['a URL of 15 kB', get(`/${'x'.repeat(15_000)}`), /^404$/],
  ['a URL of a megabyte', get(`/${'x'.repeat(MB)}`), /^431$/],
  ['a URL elsewhere', get('http://169.254.169.254/mutate'), /^40[045]$/],
  ['a path with dots', get('/../../etc/passwd'), /^404$/],
  ['a path that is none', get('/%'), /^40[04]$/],
  ['a set of a megabyte', get(`/mutate/${'x'.repeat(12_000)}`), /^40[045]$/],
  ['a gzip bomb', bomb(), /^415$/],
]

function bomb(): Uint8Array {
  const body = gzipSync(Buffer.alloc(50 * MB))
  return Buffer.concat([Buffer.from(head('/mutate', 'Content-Encoding: gzip', `Content-Length: ${body.length}`)), body])
}

/** All raw requests. */
export const rawRequests: readonly Attack[] = requests.map(([name, bytes, answers]) => ({
  name,
  async run(port) {
    const found = statuses(await talk(await open(port), bytes))
    if (!answers.test(found)) throw new Error(`${name}: answered ${found || 'nothing'}, not ${answers}`)
    return found === '' ? 'closed' : counted(found.split(' '))
  },
}))

/** Many connections that want to be in the way. */
export const floods: readonly Attack[] = [
  {
    name: '2,500 idle connections',
    run: (port, { hold }) => held(port, 2500, hold, () => {}),
  },
  {
    name: '1,000 that never shake hands',
    async run(port, { hold }) {
      const sockets = await many(1000, async () => {
        const socket = connectTcp({ port, host: '127.0.0.1', localAddress: attacker })
        socket.on('error', () => {})
        await once(socket, 'connect')
        return socket
      })
      await sleep(hold)
      return closeAll(sockets)
    },
  },
  {
    name: '100 with slow headers',
    run: (port, { hold }) =>
      held(port, 100, hold, (socket) => {
        socket.write('POST /mutate HTTP/1.1\r\n')
        drip(socket, 'X: x\r\n')
      }),
  },
  {
    name: '100 with slow bodies',
    run: (port, { hold }) =>
      held(port, 100, hold, (socket) => {
        socket.write(head('/mutate', `Content-Length: ${MB}`))
        drip(socket, ' ')
      }),
  },
  {
    name: '100 × 6.9 MB that stall before their end',
    run: (port, { hold }) => stalled(port, 100, 6.9 * MB, hold),
  },
  {
    name: '500 × 1 MB that stall before their end',
    run: (port, { hold }) => stalled(port, 500, MB, hold),
  },
  {
    name: '200 kept connections that hold a place',
    async run(port, { hold }) {
      const end = performance.now() + hold
      const sockets = await many(200, () => open(port))
      const answered: string[] = []
      await Promise.all(
        sockets.map(async (socket) => {
          let answers = ''
          socket.on('data', (data) => {
            answers += data
          })
          while (performance.now() < end && !socket.destroyed) {
            socket.write(head('/mutate', 'Content-Length: 4'))
            socket.write('nul')
            await sleep(850)
            socket.write('l')
          }
          await sleep(100)
          answered.push(...statuses(answers).split(' '))
        }),
      )
      closeAll(sockets)
      return counted(answered)
    },
  },
  {
    name: 'a body in chunks of a byte, 1 MB each, 8 times',
    async run(port) {
      const chunks = '1\r\n \r\n'.repeat(MB)
      const sockets = await many(8, () => open(port))
      const answers = await Promise.all(
        sockets.map((socket) =>
          talk(socket, `${head('/mutate', 'Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`, 20_000),
        ),
      )
      return counted(answers.map(statuses))
    },
  },
  {
    name: '100 bodies in chunks of a byte, without an end',
    run: (port, { hold }) =>
      held(port, 100, hold, (socket) => {
        socket.write(head('/mutate', 'Transfer-Encoding: chunked'))
        socket.write('1\r\n \r\n'.repeat(200_000))
      }),
  },
  {
    name: '20 that ask 2,000 times and never read',
    run: (port, { hold }) =>
      held(port, 20, hold, (socket) => {
        socket.pause()
        socket.write(get('/metrics').repeat(2000))
      }),
  },
  {
    name: '1,000 that break off in the middle',
    async run(port) {
      for (let round = 0; round < 20; round++) {
        const sockets = await many(50, () => open(port))
        for (const socket of sockets) socket.write(head('/mutate', `Content-Length: ${MB}`) + 'x'.repeat(20_000))
        await sleep(20)
        for (const socket of sockets) socket.destroy()
      }
      return 'broken off'
    },
  },
  {
    name: '500 new connections, a request each',
    async run(port) {
      const found: string[] = []
      for (let round = 0; round < 25; round++) {
        const sockets = await many(20, () => open(port))
        found.push(
          ...(await Promise.all(sockets.map(async (socket) => statuses(await talk(socket, get('/healthz', '1.0')))))),
        )
      }
      return counted(found)
    },
  },
  {
    name: 'plain HTTP, and noise',
    async run(port) {
      const texts = [get('/healthz'), 'SSH-2.0-x\r\n', '\u0016\u0003\u0001\uffff', 'x'.repeat(100_000)]
      for (const text of texts) {
        const socket = connectTcp({ port, host: '127.0.0.1', localAddress: attacker })
        socket.on('error', () => {})
        await talk(socket, text, 500)
      }
      return 'closed'
    },
  },
  {
    name: 'TLS 1.1',
    async run(port) {
      const socket = await open(port, {
        minVersion: 'TLSv1',
        maxVersion: 'TLSv1.1',
        ciphers: 'DEFAULT@SECLEVEL=0',
      }).catch(() => undefined)
      if (socket === undefined) return 'no handshake'
      socket.destroy()
      throw new Error('TLS 1.1 is spoken')
    },
  },
]

/** A connection from the attacker's address; rejects where it isn't taken. */
async function open(port: number, more: ConnectionOptions = {}): Promise<Socket> {
  const tcp = connectTcp({ port, host: '127.0.0.1', localAddress: attacker })
  tcp.on('error', () => {})
  const socket = connectTls({ socket: tcp, rejectUnauthorized: false, ...more })
  const gone = once(socket, 'close').then(() => Promise.reject(new Error('closed')))
  gone.catch(() => {})
  await Promise.race([once(socket, 'secureConnect'), gone])
  return socket.on('error', () => {})
}

/** Sends and listens until the other side closes, or says nothing more for a while. */
async function talk(socket: Socket, bytes: string | Uint8Array, patience = 1500): Promise<string> {
  let answer = ''
  const { promise, resolve } = Promise.withResolvers<void>()
  let quiet = setTimeout(resolve, patience)
  socket.on('data', (data) => {
    answer += data
    clearTimeout(quiet)
    quiet = setTimeout(resolve, 250)
  })
  socket.on('close', () => resolve()).on('error', () => resolve())
  socket.write(bytes)
  await promise
  clearTimeout(quiet)
  socket.destroy()
  return answer
}

/** Of all answers, in order: `200 404`. */
const statuses = (answer: string): string =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status).join(' ')

/** As many as can be had, a few at a time. */
async function many<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  let left = count
  const one = async () => {
    while (left-- > 0) {
      const thing = await make().catch(() => undefined)
      if (thing !== undefined) made.push(thing)
    }
  }
  await Promise.all(Array.from({ length: 20 }, one))
  return made
}

async function held(port: number, count: number, hold: number, begin: (socket: Socket) => void): Promise<string> {
  const sockets = await many(count, () => open(port))
  const answers: string[] = []
  for (const socket of sockets) {
    // Each is answered in one piece, if at all.
    socket.on('data', (data) => answers.push(statuses(String(data))))
    begin(socket)
  }
  await sleep(hold)
  const told = counted(answers.filter((status) => status !== ''))
  return [`${sockets.length} let in`, closeAll(sockets), told].filter((text) => text !== '').join(', ')
}

/** Sends again and again, slowly. */
function drip(socket: Socket, text: string): void {
  const clock = setInterval(() => {
    if (socket.destroyed) clearInterval(clock)
    else socket.write(text)
  }, 500)
  socket.on('close', () => clearInterval(clock))
}

async function stalled(port: number, count: number, size: number, hold: number): Promise<string> {
  const body = Buffer.alloc(size - 1, ' ')
  return held(port, count, hold, (socket) => {
    socket.write(head('/mutate', `Content-Length: ${size}`))
    socket.write(body)
  })
}

/** Closes what is still open; says how much was closed from the other side. */
function closeAll(sockets: readonly Socket[]): string {
  const closed = sockets.filter(({ destroyed }) => destroyed).length
  for (const socket of sockets) socket.destroy()
  return `${closed} closed`
}

function counted(texts: readonly string[]): string {
  const counts = [...Map.groupBy(texts, (text) => text || 'nothing')]
  return counts.map(([text, { length }]) => (length === 1 ? text : `${text} × ${length}`)).join(', ')
}
