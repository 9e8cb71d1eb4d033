/**
 * Measures what the waiter costs: its memory while it polls and installs, the time from exec to its first attempt (compared with a minimal Go
 * program that connects), and the delay from the sidecar being ready to the waiter's exit. Raw runs: bench/results/waiter.json
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort } from '../test/free-port.ts'
import { keep, median, percentile, rounded } from './figures.ts'
import { memoryOf, switchesOf } from './process.ts'

const here = import.meta.dirname
const dir = mkdtempSync(join(tmpdir(), 'bench-waiter-'))
const rounds = 300

/** Stops what it started and removes its folder, even if a measurement throws. */
async function main(): Promise<void> {
  const [waiter, floor, launch] = build()
  const startup = measureStartup(launch, floor, waiter)
  const memory = {
    'polls a closed port': await polling(waiter, await freePort()),
    'polls a server that answers 503': await unready(waiter),
    'both processes of a lock, closed port': await guarding(waiter, await freePort()),
    install: await installing(waiter),
  }
  const leased = await answering(waiter)
  const delay = { '300 ms': await ready(waiter, 300, 20), '3 s': await ready(waiter, 3000, 5) }

  console.log('\nexec to first attempt, ms')
  const row = (runs: readonly number[]) => ({ median: rounded(median(runs)), p90: rounded(percentile(runs, 90)) })
  const [ours, least] = [row(startup.waiter), row(startup.floor)]
  const ratio = { median: rounded(ours.median / least.median), p90: rounded(ours.p90 / least.p90) }
  console.table({ waiter: ours, 'floor (dials and exits)': least, ratio })
  console.log('peak memory (VmHWM), MiB')
  console.table(Object.fromEntries(Object.entries(memory).map(([what, kib]) => [what, { MiB: rounded(kib / 1024) }])))
  console.log(
    "memory of its own (RssAnon) of the process that answers a lock's opens, MiB; and how often it wakes up at rest",
  )
  console.table({
    'since it began': { MiB: rounded(leased.began / 1024) },
    'after 500 polls or more': { MiB: rounded(leased.polled / 1024) },
    'at rest': { MiB: rounded(leased.rested / 1024), 'in 10 s': rounded(leased.wakes / 6) },
  })
  console.log("from ready to the waiter's exit, ms, by when the server got ready")
  console.table(
    Object.fromEntries(
      Object.entries(delay).map(([when, runs]) => [
        when,
        {
          ...row(runs),
          'median of ready-after': `${rounded((median(runs) * 100) / (when === '3 s' ? 3000 : 300))} %`,
        },
      ]),
    ),
  )
  keep('waiter', { startup, memory, leased, delay })
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

/** @returns what stops it */
async function serving(answer: RequestListener, port: number): Promise<() => Promise<void>> {
  const server = createServer(answer).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return async () => {
    server.close().closeAllConnections()
    await once(server, 'close')
  }
}

async function polling(waiter: string, port: number): Promise<number> {
  const child = spawn(waiter, ['--timeout', '1m', `http://:${port}/ready`], { stdio: 'inherit' })
  await after(5000)
  const kib = await memoryOf(child.pid, 'VmHWM')
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
  const detached = Number(execFileSync('pgrep', ['-f', '--', `--detached.*${dir}`], { encoding: 'utf8' }))
  const peaks = (await memoryOf(detached, 'VmHWM')) + (await memoryOf(child.pid, 'VmHWM'))
  const kib = peaks - (await memoryOf(child.pid, 'RssFile'))
  child.removeAllListeners().kill()
  await once(child, 'exit')
  return kib
}

/** A process that answers an open after a while, and a hundred at once, and then has nothing to do. */
async function answering(waiter: string) {
  const port = await freePort()
  let status = 503
  const stop = await serving((_, response) => response.writeHead(status).end(), port)
  const [check, file] = [`http://:${port}/ready`, join(dir, 'ready-2')]
  const checks = [{ container: 'sidecar', check, timeout: '1m', onTimeout: 'fail' }]
  const lock = { file, key: 'SIDECAR_FIRST_READY_2', handOver: '30s' }
  const child = spawn(waiter, ['--spec', JSON.stringify({ v: 1, checks, message: '', lock })], { stdio: 'inherit' })
  await once(child, 'exit')
  const pid = Number(execFileSync('pgrep', ['-f', '--', `--detached.*${file}`], { encoding: 'utf8' }))
  try {
    const own = () => memoryOf(pid, 'RssAnon')
    const began = await own()
    const first = readFile(file, 'utf8')
    await after(20_000)
    const polled = await own()
    status = 200
    if (!(await first)) throw new Error('an open was not answered')
    for (let opens = 0; opens < 100; opens++) await readFile(file)
    await after(25_000)
    return { began, polled, rested: await own(), wakes: await wakesOf(pid, 60_000) }
  } finally {
    process.kill(pid, 'SIGKILL')
    await stop()
  }
}

/** How often a process has done something in so many ms: a wake-up is several switches of several threads. */
async function wakesOf(pid: number, ms: number): Promise<number> {
  let [last, wakes, wasQuiet] = [await switchesOf(pid), 0, true]
  for (const end = Date.now() + ms; Date.now() < end; ) {
    await after(100)
    const now = await switchesOf(pid)
    if (now !== last && wasQuiet) wakes += 1
    ;[last, wasQuiet] = [now, now === last]
  }
  return wakes
}

async function unready(waiter: string): Promise<number> {
  const port = await freePort()
  const stop = await serving((_, response) => response.writeHead(503).end('not yet'), port)
  const kib = await polling(waiter, port)
  await stop()
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
  const kib = await memoryOf(child.pid, 'VmHWM')
  child.kill('SIGKILL')
  await once(child, 'exit')
  return kib
}

/** Milliseconds from the moment the server listens (`readyAfter` ms after the waiter's start) to the waiter's exit. */
async function ready(waiter: string, readyAfter: number, runs: number): Promise<number[]> {
  const delays: number[] = []
  for (let run = 0; run < runs; run++) {
    const port = await freePort()
    const child = spawn(waiter, [`http://:${port}/ready`], { stdio: 'inherit' })
    const exit = once(child, 'exit')
    // Spread over the poll interval, because sidecars get ready at any moment.
    await after(readyAfter + Math.random() * (readyAfter / 50))
    const stop = await serving((_, response) => response.end(), port)
    const start = performance.now()
    const [code] = await exit
    if (code !== 0) throw new Error(`the waiter ended with ${code}`)
    delays.push(rounded(performance.now() - start))
    await stop()
  }
  return delays
}

try {
  await main()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
