import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ShellBefore, type ShellCheck, type ShellOpening, shellHook } from '../../../src/admission/hook/shell.ts'
import { freePort } from '../../free-port.ts'
import { share } from '../../runs.ts'
import { until } from '../../until.ts'

/**
 * The shell form for real: its script by real shells, with one real tool at a time, against real servers. Each set of tools is a folder
 * of links that is the whole PATH, as in an image that has nothing else.
 */
const root = mkdtempSync(join(tmpdir(), 'sidecar-first-shell-'))
after(() => rmSync(root, { recursive: true, force: true }))

const shells = { dash: 'dash', busybox: 'busybox' } as const
const tools = {
  curl: { curl: 'curl' },
  wget: { wget: 'wget' },
  busybox: { wget: 'busybox', nc: 'busybox' },
  nc: { nc: 'busybox' },
} as const

const systemTools = {
  timeout: 'timeout',
  date: 'date',
  sleep: 'sleep',
  head: 'head',
  cut: 'cut',
  touch: 'touch',
  cat: 'cat',
  mv: 'mv',
  rm: 'rm',
  false: 'false',
} as const

interface Image {
  readonly name: string
  readonly tool: keyof typeof tools
  readonly path: string
  readonly missing: string | undefined
}

const images: readonly Image[] = Object.entries(shells).flatMap(([shell, program]) =>
  Object.entries(tools).map(([tool, links]) =>
    image(`${shell} with ${tool}`, tool as keyof typeof tools, { sh: program, ...links }),
  ),
)

function image(name: string, tool: keyof typeof tools, links: { readonly [link: string]: string }): Image {
  const path = join(root, name.replaceAll(' ', '-'))
  mkdirSync(path)
  let missing: string | undefined
  for (const [link, program] of Object.entries({ ...links, ...systemTools })) {
    const target = find(program)
    if (target === undefined) missing = `${program} is not on this machine`
    else symlinkSync(target, join(path, link))
  }
  return { name, tool, path, missing }
}

function find(program: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

const cases: { readonly name: string; readonly each: Image; readonly body: Body }[] = []
type Body = (t: TestContext, image: Image) => Promise<void>

/** One test for each image that has the tools. */
function inEach(name: string, body: Body, fits: (image: Image) => boolean = () => true) {
  for (const each of share(images.filter(fits))) cases.push({ name, each, body })
}

interface Ran {
  readonly code: number | null
  readonly output: string
  /** What the termination message says; absent where nothing was written. */
  readonly message: string | undefined
  readonly folder: string
}

async function run(
  { path }: Image,
  checks: readonly ShellCheck[],
  {
    before,
    env = {},
    folder = mkdtempSync(join(root, 'run-')),
    lock,
    started,
  }: {
    before?: ShellBefore
    env?: Record<string, string>
    folder?: string
    lock?: Pick<ShellOpening, 'handOver'> & Partial<Pick<ShellOpening, 'key'>>
    started?: (child: ChildProcess) => void
  } = {},
): Promise<Ran> {
  const messagePath = join(folder, 'message')
  const hook = shellHook(
    checks,
    before,
    messagePath,
    lock && { number: 1, key: 'SIDECAR_FIRST_READY_1_ENVOY', ...lock },
  )
  assert.equal(hook.kind, 'exec')
  const [program, ...given] = hook.kind === 'exec' ? hook.command : []
  const args = given.map((word) => word.replace(/^dir=\/.sidecar-first-lock /, `dir='${folder}' `))
  const child = spawn(join(path, program ?? ''), args, {
    cwd: folder,
    env: { PATH: path, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started?.(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  const message = existsSync(messagePath) ? readFileSync(messagePath, 'utf8') : undefined
  return { code, output, message, folder }
}

function check(changes: Partial<ShellCheck> & Pick<ShellCheck, 'check'>): ShellCheck {
  return {
    container: 'envoy',
    onTimeout: 'fail',
    timeout: 60_000,
    attemptTimeout: 10,
    successes: 1,
    headers: [],
    ...changes,
  }
}
const http = (port: number, path = '/ready', host = '') => ({ kind: 'http', host, port, path }) as const
const tcp = (port: number, host = '') => ({ kind: 'tcp', host, port }) as const

async function listen(t: TestContext, server: Server, { host = '127.0.0.1', port = 0 } = {}): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.once('close', () => sockets.delete(socket))
  })
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve))
  return (server.address() as AddressInfo).port
}

/** Answers with each status in turn, the last one for good. */
function answering(statuses: readonly number[], seen: IncomingMessage[] = []): Server {
  return createHttpServer((request, response) => {
    seen.push(request)
    response.writeHead(statuses[Math.min(seen.length, statuses.length) - 1] ?? 500).end('body\n')
  })
}

inEach('waits until a late http server answers well', async (t, each) => {
  const port = await freePort()
  const seen: IncomingMessage[] = []
  const running = run(each, [check({ check: http(port, "/a?b='$(touch$IFS.)'&c=\\n`touch`") })])
  setTimeout(() => void listen(t, answering([503, 404, 200], seen), { port }), 300)
  const { code, output, message, folder } = await running
  assert.equal(code, 0, output)
  assert.ok(seen.length >= 3)
  assert.match(seen[0]?.url ?? '', /^\/a\?b=('|%27)\$\(touch\$IFS\.\)/)
  assert.equal(message, undefined)
  assert.ok(!existsSync(join(folder, 'owned')))
})

const dials = ({ tool }: Image) => tool !== 'wget'
inEach(
  'waits until a late tcp server accepts, though it never says a word',
  async (t, each) => {
    const port = await freePort()
    const running = run(each, [check({ check: tcp(port) })])
    setTimeout(() => void listen(t, createServer({ allowHalfOpen: true }), { port }), 300)
    const { code, output } = await running
    assert.equal(code, 0, output)
  },
  dials,
)

inEach('says which sidecar was not ready, and fails', async (t, each) => {
  const port = await listen(t, answering([500]))
  const { code, output, message } = await run(each, [check({ check: http(port), timeout: 1000 })])
  assert.equal(code, 1)
  const text = new RegExp(
    `^sidecar-first: envoy was not ready after 1s: http://:${port}/ready did not pass in \\d+ attempts\n$`,
  )
  assert.match(message ?? '', text)
  assert.match(output, text)
})

inEach('in a tier of several, says which may have crashed, since nothing can restart it meanwhile', async (t, each) => {
  const why = 'nothing listens there: it may have crashed, and nothing restarts it while this hook runs'
  const [shut, open] = [await freePort(), await listen(t, answering([200]))]
  const brief = (port: number, container: string) => check({ container, check: http(port), timeout: 1000 })
  const crashed = await run(each, [brief(shut, 'sc'), brief(open, 'sd')])
  assert.match(crashed.message ?? '', new RegExp(`^sidecar-first: sc was not ready after 1s: .*; ${why}`))

  // The hook's own container is asked last, and one that answers is not down.
  const own = await run(each, [brief(open, 'sc'), brief(shut, 'sd')])
  const busy = await run(each, [brief(await listen(t, answering([503])), 'sc'), brief(open, 'sd')])
  for (const { message } of [own, busy]) {
    assert.match(message ?? '', /was not ready/)
    assert.doesNotMatch(message ?? '', /crashed/)
  }
})

inEach('goes on after the timeout where it may, and writes no message', async (t, each) => {
  const port = await listen(t, answering([404]))
  const good = await listen(t, answering([200]))
  const checks = [
    check({ check: http(port), timeout: 1000, onTimeout: 'continue' }),
    check({ container: 'otel', check: http(good) }),
  ]
  const { code, output, message } = await run(each, checks)
  assert.equal(code, 0, output)
  assert.match(output, /envoy was not ready after 1s.*; going on/)
  assert.equal(message, undefined)
})

// An attempt that went on would outlast the test.
inEach('a server that takes a connection and never answers holds nothing beyond the timeout', async (t, each) => {
  const port = await listen(t, createServer({ allowHalfOpen: true }))
  const { code, message } = await run(each, [check({ check: http(port), timeout: 1000, attemptTimeout: 300 })])
  assert.equal(code, 1)
  assert.match(message ?? '', /was not ready after 1s/)
})

inEach('falls back to the IPv6 loopback', async (t, each) => {
  const port = await listen(t, answering([200]), { host: '::1' })
  const { code, output } = await run(each, [
    check({ check: http(port) }),
    ...(dials(each) ? [check({ check: tcp(port) })] : []),
  ])
  assert.equal(code, 0, output)
})

inEach('sends headers as they are, whatever is in them', async (t, each) => {
  const seen: IncomingMessage[] = []
  const port = await listen(t, answering([200], seen))
  const value = `it's "quoted" $(touch owned) \`x\` * \\n %s`
  const headers = [
    { name: 'X-First', value },
    { name: 'X-Second', value: '2' },
  ]
  const { code, output, folder } = await run(each, [check({ check: http(port), headers })])
  assert.equal(code, 0, output)
  assert.equal(seen[0]?.headers['x-first'], value)
  assert.equal(seen[0]?.headers['x-second'], '2')
  assert.ok(!existsSync(join(folder, 'owned')))
})

inEach('counts successes in a row', async (t, each) => {
  const seen: IncomingMessage[] = []
  const port = await listen(t, answering([200, 500, 200, 200], seen))
  const { code, output } = await run(each, [check({ check: http(port, '/', '127.0.0.1'), successes: 2 })])
  assert.equal(code, 0, output)
  assert.equal(seen.length, 4)
})

inEach("asks loopback itself, whatever proxy the sidecar's environment names", async (t, each) => {
  const port = await listen(t, answering([200]))
  const closed = await freePort()
  const dead = `http://127.0.0.1:${closed}`
  const env = { http_proxy: dead, HTTP_PROXY: dead, all_proxy: dead, ALL_PROXY: dead }
  const { code, output } = await run(each, [check({ check: http(port) })], { env })
  assert.equal(code, 0, output)
})

const once = ({ tool }: Image) => tool === 'curl'
inEach(
  'runs the hook that was there first, each word as it is',
  async (t, each) => {
    const seen: IncomingMessage[] = []
    const port = await listen(t, answering([200], seen))
    const word = `a'b"c $(touch owned) \`x\` * \\n\nnext -n`
    const command = ['sh', '-c', 'printf %s "$1" >before; printf %s "$#" >count', 'x', word, '', 'last']
    const { code, output, folder } = await run(each, [check({ check: http(port) })], {
      before: { kind: 'exec', command },
    })
    assert.equal(code, 0, output)
    assert.equal(readFileSync(join(folder, 'before'), 'utf8'), word)
    assert.equal(readFileSync(join(folder, 'count'), 'utf8'), '3')
    assert.equal(seen.length, 1)
    assert.ok(!existsSync(join(folder, 'owned')))
  },
  once,
)

inEach(
  'a hook that fails fails ours, and says so',
  async (t, each) => {
    const seen: IncomingMessage[] = []
    const port = await listen(t, answering([200], seen))
    const command = ['sh', '-c', 'exit 7']
    const { code, message } = await run(each, [check({ check: http(port) })], { before: { kind: 'exec', command } })
    assert.equal(code, 1)
    assert.match(message ?? '', /^sidecar-first: the container's own PostStart hook failed with exit code 7\n$/)
    assert.equal(seen.length, 0)
  },
  once,
)

inEach(
  "a hook is a program, not a word of the shell's or a function of the script",
  async (t, each) => {
    const port = await listen(t, answering([200]))
    for (const program of ['exit', 'fail', 'try', 'run', 'fetch', 'eval', 'set', 'shift']) {
      const { code, message } = await run(each, [check({ check: http(port) })], {
        before: { kind: 'exec', command: [program, 'touch owned'] },
      })
      assert.equal(code, 1, program)
      assert.match(message ?? '', /hook failed with exit code 12[67]/, program)
    }
  },
  once,
)

inEach(
  'in a tier of several or with a lock, no time is over early, although the shell counts whole seconds',
  async (t, each) => {
    const [good, bad] = [await listen(t, answering([200])), await listen(t, answering([500]))]
    const brief = check({ check: http(bad), timeout: 1000 })
    for (const [checks, options] of [
      [[check({ container: 'otel', check: http(good) }), brief], {}],
      [[brief], { lock: { handOver: undefined } }],
    ] as const) {
      // A second that is over soon.
      await sleep(1900 - (Date.now() % 1000))
      const started = Date.now()
      const { message } = await run(each, checks, options)
      const took = Date.now() - started
      assert.match(message ?? '', /was not ready after 1s/)
      assert.ok(took >= 1000, `${took} ms`)
    }
  },
  once,
)

inEach(
  'sleeps first where the hook did',
  async (t, each) => {
    const port = await listen(t, answering([200]))
    const { code, output } = await run(each, [check({ check: http(port) })], { before: { kind: 'sleep', seconds: 1 } })
    assert.equal(code, 0, output)
  },
  once,
)

inEach(
  'a name or a path with a backslash reaches the message as it is',
  async (t, each) => {
    const port = await listen(t, answering([500]))
    const { message } = await run(each, [check({ check: http(port, '/a\\nb\\c%s'), timeout: 1000 })])
    assert.ok(message?.includes(`http://:${port}/a\\nb\\c%s did not pass`), message)
  },
  once,
)

const opened = `SIDECAR_FIRST_READY_1_ENVOY='ready'\n`
const lockOf = (folder: string) => readFileSync(join(folder, 'ready-1'), 'utf8')
const closed = (folder: string) => until('closed', 10_000, async () => lockOf(folder) === '')
const open = (folder: string) => until('open', 10_000, async () => lockOf(folder) === opened)

inEach('closes the lock, and opens it when the sidecar is ready', async (t, each) => {
  const port = await freePort()
  const folder = mkdtempSync(join(root, 'run-'))
  // Left by the attempt before, and planted by the sidecar.
  writeFileSync(join(folder, 'ready-1'), opened)
  symlinkSync(join(folder, 'elsewhere'), join(folder, '.new-ready-1'))
  const running = run(each, [check({ check: http(port) })], { lock: { handOver: undefined }, folder })
  await closed(folder)
  assert.equal(lockOf(folder), '')
  await listen(t, answering([200]), { port })
  const { code, output } = await running
  assert.equal(code, 0, output)
  assert.equal(lockOf(folder), opened)
  assert.ok(!existsSync(join(folder, 'elsewhere')))
})

inEach(
  'the lock stays closed after the timeout, and the hook fails',
  async (t, each) => {
    const port = await listen(t, answering([500]))
    const lock = { handOver: undefined }
    const { code, message, output, folder } = await run(each, [check({ check: http(port), timeout: 1000 })], { lock })
    assert.equal(code, 1)
    assert.match(message ?? '', /^sidecar-first: envoy was not ready after 1s/)
    assert.match(output, /envoy was not ready after 1s/)
    assert.equal(lockOf(folder), '')
    assert.match(readFileSync(join(folder, 'why-1'), 'utf8'), /envoy was not ready after 1s/)
  },
  once,
)

inEach(
  'the hook hands over, and the lock is opened later, even after the timeout',
  async (t, each) => {
    const port = await freePort()
    const checks = [check({ check: http(port), timeout: 2000 })]
    const { code, output, folder } = await run(each, checks, { lock: { handOver: 1000 } })
    assert.equal(code, 0, output)
    assert.equal(lockOf(folder), '')
    await until('it says why', 10_000, async () => existsSync(join(folder, 'why-1')))
    assert.equal(lockOf(folder), '')
    await listen(t, answering([200]), { port })
    await open(folder)
  },
  once,
)

inEach(
  'the lock is opened although the kubelet restarts, which kills the hook',
  async (t, each) => {
    let [asked, status] = [0, 503]
    const server = createHttpServer((_, response) => {
      asked++
      response.writeHead(status).end()
    })
    const port = await listen(t, server)
    const lock = { handOver: undefined }
    const { code, folder } = await run(each, [check({ check: http(port), timeout: 1000 })], {
      lock,
      started: (child) => void until('it asks', 10_000, async () => asked > 0).then(() => child.kill('SIGKILL')),
    })
    assert.equal(code, null)
    await until('it says why', 10_000, async () => existsSync(join(folder, 'why-1')))
    status = 200
    await open(folder)
  },
  once,
)

inEach(
  'a sidecar of an earlier gate that is down holds up the lock, not the kubelet',
  async (t, each) => {
    const own = await listen(t, answering([200]))
    const earlier = await freePort()
    const checks = [
      check({ check: http(own) }),
      check({ container: 'vault', check: http(earlier), onTimeout: 'earlier' }),
    ]
    const { code, output, folder } = await run(each, checks, { lock: { handOver: undefined } })
    assert.equal(code, 0, output)
    assert.equal(lockOf(folder), '')
    await listen(t, answering([200]), { port: earlier })
    await open(folder)
  },
  once,
)

// Several at a time: most of it is waiting.
describe('the shell form', { concurrency: 6 }, () => {
  for (const { name, each, body } of cases) {
    test(`${name}: ${each.name}`, { skip: each.missing ?? false, timeout: 120_000 }, (t) => body(t, each))
  }
})
