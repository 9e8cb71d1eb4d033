/**
 * Measures what the waiter costs: its memory while it polls and installs, the time from exec to its first attempt (compared with a minimal Go
 * program that connects), and the delay from the sidecar being ready to the waiter's exit. Raw runs: bench/results/waiter.json
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'

const here = import.meta.dirname
const dir = mkdtempSync(join(tmpdir(), 'bench-waiter-'))
const rounds = 300

const quantile = (runs: readonly number[], q: number): number =>
  runs.toSorted((a, b) => a - b)[Math.min(runs.length - 1, Math.floor(runs.length * q))] ?? Number.NaN
const round = (n: number): number => Math.round(n * 100) / 100

/** Stops what it started and removes its folder, even if a measurement throws. */
async function main(): Promise<void> {
  const [waiter, floor, launch] = build()
  const startup = measureStartup(launch, floor, waiter)
  const memory = {
    'polls a closed port': await polling(waiter, await closedPort()),
    'polls a server that answers 503': await unready(waiter),
    'both processes of a lock, closed port': await guarding(waiter, await closedPort()),
    install: await installing(waiter),
  }
  const delay = { '300 ms': await ready(waiter, 300, 20), '3 s': await ready(waiter, 3000, 5) }

  console.log('\nexec to first attempt, ms')
  const row = (runs: readonly number[]) => ({ median: round(quantile(runs, 0.5)), p90: round(quantile(runs, 0.9)) })
  const [ours, least] = [row(startup.waiter), row(startup.floor)]
  const ratio = { median: round(ours.median / least.median), p90: round(ours.p90 / least.p90) }
  console.table({ waiter: ours, 'floor (dials and exits)': least, ratio })
  console.log('peak memory (VmHWM), MiB')
  console.table(Object.fromEntries(Object.entries(memory).map(([what, kib]) => [what, { MiB: round(kib / 1024) }])))
  console.log("from ready to the waiter's exit, ms, by when the server got ready")
  console.table(
    Object.fromEntries(
      Object.entries(delay).map(([when, runs]) => [
        when,
        {
          ...row(runs),
          'median of ready-after': `${round((quantile(runs, 0.5) * 100) / (when === '3 s' ? 3000 : 300))} %`,
        },
      ]),
    ),
  )
  mkdirSync(join(here, 'results'), { recursive: true })
  writeFileSync(join(here, 'results', 'waiter.json'), `${JSON.stringify({ startup, memory, delay }, null, 1)}\n`)
}

function build(): [waiter: string, floor: string, launch: string] {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch
  execFileSync(join(here, '../waiter/build'), [dir], { stdio: 'inherit' })
  const [floor, launch] = ['waiter-floor', 'waiter-launch'].map((name) => {
    const out = join(dir, name)
    const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', out, join(here, `${name}.go`)]
    execFileSync('go', args, { stdio: 'inherit', env: { ...process.env, CGO_ENABLED: '0' } })
    return out
  }) as [string, string]
  return [join(dir, `linux-${arch}`, 'wait'), floor, launch]
}

function measureStartup(launch: string, floor: string, waiter: string): { floor: number[]; waiter: number[] } {
  return JSON.parse(execFileSync(launch, [String(rounds), floor, waiter], { encoding: 'utf8' }))
}

async function listening(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function closed(server: Server): Promise<void> {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
}

async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listening(server)
  await closed(server)
  return port
}

/** A process's peak memory (VmHWM) in KiB. */
function peak(child: ChildProcess): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1])
}

async function polling(waiter: string, port: number): Promise<number> {
  const child = spawn(waiter, ['--timeout', '1m', `http://:${port}/ready`], { stdio: 'inherit' })
  await after(5000)
  const kib = peak(child)
  child.removeAllListeners().kill('SIGKILL')
  await once(child, 'exit')
  return kib
}

/** The hook's process and the one that waits behind it; their code is the same file's and counts once. */
async function guarding(waiter: string, port: number): Promise<number> {
  const check = { container: 'sidecar', check: `http://:${port}/ready`, timeout: '1m', onTimeout: 'fail' }
  const lock = { file: join(dir, 'ready-1'), key: 'SIDECAR_FIRST_READY_1' }
  const child = spawn(waiter, ['--spec', JSON.stringify({ v: 1, checks: [check], message: '', lock })], {
    stdio: 'inherit',
  })
  await after(5000)
  const field = (pid: number | undefined, name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  const detached = Number(execFileSync('pgrep', ['-f', '--', `--detached.*${dir}`], { encoding: 'utf8' }))
  const kib = field(detached, 'VmHWM') + field(child.pid, 'VmHWM') - field(child.pid, 'RssFile')
  child.removeAllListeners().kill()
  await once(child, 'exit')
  return kib
}

async function unready(waiter: string): Promise<number> {
  const server = createServer((_, response) => response.writeHead(503).end('not yet'))
  const kib = await polling(waiter, await listening(server))
  await closed(server)
  return kib
}

/** Holds the install at its very end, where it writes to a full pipe, so that its peak memory can be read. */
async function installing(waiter: string): Promise<number> {
  const [pipe, into] = [join(dir, 'pipe'), join(dir, 'into')]
  mkdirSync(into)
  execFileSync('mkfifo', [pipe])
  const ours = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  try {
    for (;;) writeSync(ours, Buffer.alloc(4096))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
  const child = spawn(waiter, ['install', into], { stdio: ['ignore', openSync(pipe, 'w'), 'inherit'] })
  while (!existsSync(join(into, 'wait'))) await after(1)
  await after(50)
  const kib = peak(child)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return kib
}

/** Milliseconds from the moment the server listens (`readyAfter` ms after the waiter's start) to the waiter's exit. */
async function ready(waiter: string, readyAfter: number, runs: number): Promise<number[]> {
  const delays: number[] = []
  for (let run = 0; run < runs; run++) {
    const port = await closedPort()
    const server = createServer((_, response) => response.end())
    const child = spawn(waiter, [`http://:${port}/ready`], { stdio: 'inherit' })
    const exit = once(child, 'exit')
    // Spread over the poll interval, because sidecars get ready at any moment.
    await after(readyAfter + Math.random() * (readyAfter / 50))
    await listening(server, port)
    const start = performance.now()
    const [code] = await exit
    if (code !== 0) throw new Error(`the waiter ended with ${code}`)
    delays.push(round(performance.now() - start))
    await closed(server)
  }
  return delays
}

try {
  await main()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
