// Compares `/mutate` with a bare node:https handler, in turns. Prints ratios; the raw runs go to bench/results/server.json.
import { setTimeout as sleep } from 'node:timers/promises'
import { call } from '../test/server/call.ts'
import { keep, median, percentile, rounded } from './figures.ts'
import { cpuTimeOf, memoryOf } from './process.ts'
import type { Variety } from './server/review.ts'
import { manyRules, prepareServers, type Running } from './server/servers.ts'

/** Measures only what `.ci/run` holds to the ceiling. */
const check = process.argv.includes('--check')
/** The CPU of an admission of varied pods, as a multiple of the bare handler's. Seen were 2.1 to 2.3; the rest is for a busier machine. */
const ceiling = 4
const turns = Number(process.env.TURNS ?? (check ? 3 : 12))
const connections = 4
const requests = check ? 3000 : 4000
/** Requests that each server answers first: V8 still compiles, and takes back what it compiled, until about the 14,000th. */
const warmUp = 15_000

await using server = await prepareServers()
const programs = {
  bare: await server.bare(await server.patched()),
  ours: await server.ours(),
  fewRules: await server.ours(manyRules(10)),
  manyRules: await server.ours(manyRules(10_000)),
}
type Name = keyof typeof programs
type Pair = readonly [Name, Name]
const names = ['bare', 'ours'] as const satisfies Pair
const ruled = ['fewRules', 'manyRules'] as const satisfies Pair

interface Round {
  readonly name: Name
  readonly variety: Variety
  /** Microseconds of CPU per request, in the server's process. */
  readonly cpu: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}
interface Start {
  readonly name: Name
  readonly compileCache: boolean
  /** Milliseconds from spawn to the first answer. */
  readonly first: number
  /** Resident memory in MB, a second after the first answer. */
  readonly idle: number
}

if (check) {
  const rounds = await measureLoad(names, ['templates'])
  const cpu = (name: Name) => medianOf(rounds, name, 'templates', 'cpu')
  const ratio = cpu('ours') / cpu('bare')
  process.stdout.write(`CPU of an admission: ${ratio.toFixed(2)} times a bare handler's, at most ${ceiling}\n`)
  if (ratio > ceiling) process.exitCode = 1
} else {
  const cpu = await measureLoad(names, ['same', 'replicaSets', 'templates'])
  const rules = await measureLoad(ruled, ['same'])
  const start = await measureStarts()
  report([...cpu, ...rules], start)
  keep('server', { node: process.version, rounds: cpu, rules, start })
}

async function measureLoad(pair: Pair, varieties: readonly Variety[]): Promise<Round[]> {
  const running = new Map<Name, Running>()
  for (const name of pair) running.set(name, await server.start(programs[name]))
  const rounds: Round[] = []
  const load = async (name: Name, variety: Variety): Promise<Round> => {
    const { child, url } = running.get(name) as Running
    const before = await cpuTimeOf(child.pid)
    const how = { url: `${url}/mutate?timeout=5s`, body: { variety }, connections, requests }
    const { milliseconds, failures } = await server.load(how)
    const [failure] = Object.keys(failures)
    if (failure !== undefined) throw new Error(`${name}: ${failure}`)
    const cpu = ((await cpuTimeOf(child.pid)) - before) / 1000 / requests
    return { name, variety, cpu, p50: median(milliseconds), p99: percentile(milliseconds, 99) }
  }
  for (let sent = 0; sent < warmUp; sent += requests * varieties.length) {
    for (const variety of varieties) for (const name of pair) await load(name, variety)
  }
  for (let round = 0; round < turns; round++) {
    for (const variety of varieties) {
      // In the order ABBA, so that drift affects both alike.
      for (const name of round % 2 === 0 ? pair : pair.toReversed()) rounds.push(await load(name, variety))
    }
  }
  for (const { child } of running.values()) await server.stop(child)
  return rounds
}

async function measureStarts(): Promise<Start[]> {
  const results: Start[] = []
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  for (let turn = 0; turn <= turns; turn++) {
    for (const compileCache of [false, true]) {
      for (const name of turn % 2 === 0 ? names : names.toReversed()) {
        const at = performance.now()
        const cached = compileCache ? { ...env, NODE_COMPILE_CACHE: server.cache } : env
        const { child, url } = await server.start(programs[name], cached)
        await call(`${url}/healthz`, { method: 'GET' })
        const first = performance.now() - at
        await sleep(1000)
        // The first turn fills the compile cache and the page cache.
        if (turn > 0) results.push({ name, compileCache, first, idle: (await memoryOf(child.pid, 'VmRSS')) / 1024 })
        await server.stop(child)
      }
    }
  }
  return results
}

function medianOf(rounds: readonly Round[], name: Name, variety: Variety, figure: 'cpu' | 'p50' | 'p99'): number {
  return median(rounds.flatMap((each) => (each.name === name && each.variety === variety ? [each[figure]] : [])))
}

function report(rounds: readonly Round[], starts: readonly Start[]): void {
  const row = ([bare, ours]: Pair, of: (name: Name) => number, goal = '') => ({
    bare: rounded(of(bare)),
    ours: rounded(of(ours)),
    ratio: rounded(of(ours) / of(bare)),
    goal,
  })
  const load = (variety: Variety, figure: 'cpu' | 'p50' | 'p99', pair: Pair = names, goal = '') =>
    row(pair, (name) => medianOf(rounds, name, variety, figure), goal)
  const begin = (compileCache: boolean, figure: 'first' | 'idle', goal = '') => {
    const of = (name: Name) => starts.filter((each) => each.name === name && each.compileCache === compileCache)
    return row(names, (name) => median(of(name).map((each) => each[figure])), goal)
  }
  console.table({
    'CPU a request, µs': load('same', 'cpu'),
    '… pods of ten ReplicaSets': load('replicaSets', 'cpu', names, '1.6'),
    '… every pod another template': load('templates', 'cpu', names, '1.6'),
    'p50, ms': load('same', 'p50'),
    'p99, ms': load('same', 'p99'),
    'first /healthz, ms': begin(false, 'first', '1.5'),
    '… with compile cache': begin(true, 'first'),
    'idle memory, MB': begin(false, 'idle', '1.2'),
    '10 and 10,000 rules: CPU, µs': load('same', 'cpu', ruled, '1.10'),
  })
  console.log(
    `medians of ${turns} rounds of ${requests} requests over ${connections} kept connections, after ${warmUp} or more that warm each server up, and of ${starts.length / 4} starts`,
  )
}
