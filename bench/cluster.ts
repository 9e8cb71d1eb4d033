// Creates pods through a real API server: without a webhook, with minimal webhooks for comparison, and with ours. Prints ratios; the raw turns
// go to bench/results/cluster.json.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { issueAuthority, issueLeaf } from '../certs/x509.ts'
import { readConfiguration } from '../src/configuration/read.ts'
import { version } from '../src/version.ts'
import { webhookConfigurations } from '../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../test/apiserver/apiserver.ts'
import type { Created, Creates } from './cluster/client.ts'
import { launch, manyRules, percentile, post } from './server/launch.ts'
import { realisticReview } from './server/review.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** The number of dry runs for each variant, with one client and with many; a fifth as many pods are stored. */
const podsOfEach = Number(process.env.PODS ?? 20_000)
const turns = Number(process.env.TURNS ?? 10)
const many = 16
const burst = 500

const ways = {
  none: 'no webhook',
  allowed: 'one that only says "allowed"',
  bare: 'a bare handler, fixed patch',
  ours: 'ours',
  both: 'ours, and validating',
  unconcerned: 'ours, a pod that matchConditions filter out',
  few: 'ours, 10 rules',
  most: 'ours, 10,000 rules',
} as const
type Way = keyof typeof ways
const order = Object.keys(ways) as Way[]

/** How pods are created in a turn. */
const loads = {
  one: { title: `one client, dry run`, connections: 1, stored: false, share: 0.5 },
  many: { title: `${many} clients, dry run`, connections: many, stored: false, share: 0.5 },
  stored: { title: `${many} clients, stored`, connections: many, stored: true, share: 0.2 },
} as const
type Load = keyof typeof loads

interface Turn {
  readonly way: Way
  readonly load: Load
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
}

const folder = await mkdtemp(`${tmpdir()}/sidecar-first-bench-`)
const children = new Set<ChildProcess>()
const rules: Partial<Record<Way, string>> = { few: manyRules(10), most: manyRules(10_000) }
let api: ApiServer | undefined
try {
  await once(spawn(process.execPath, [here('../scripts/bundle.ts')], { stdio: 'inherit' }), 'exit')
  api = await startApiServer()
  const results = await bench(api)
  report(results)
  await mkdir(here('results'), { recursive: true })
  await writeFile(here('results/cluster.json'), JSON.stringify({ node: process.version, ...results }, undefined, 1))
} finally {
  for (const child of children) child.kill('SIGKILL')
  await api?.stop()
  await rm(folder, { recursive: true })
}

async function bench(server: ApiServer): Promise<{ turns: Turn[]; bursts: Partial<Record<Way, Created>> }> {
  await server.kubectl(['create', 'serviceaccount', 'sample'])
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'no-kubelet' } }
  await server.kubectl(['create', '-f', '-'], JSON.stringify(node))
  const { caBundle, urls } = await startServers()
  const client = fork(here('cluster/client.ts'))
  children.add(client)

  const create = async (way: Way, connections: number, pods: number, stored = false): Promise<Created> => {
    const url = `${server.url}/api/v1/namespaces/default/pods${stored ? '' : '?dryRun=All'}`
    client.send({ url, token: 'admin-token', body: podOf(way), connections, pods } satisfies Creates)
    const [created] = (await once(client, 'message')) as [Created]
    return created
  }
  /** Replaces the previous variant's webhooks with those of another one. */
  const register = async (way: Way) => {
    await server.kubectl(['delete', 'mutatingwebhookconfiguration,validatingwebhookconfiguration', '--all'])
    const url = urls[way]
    if (url !== undefined) {
      const configuration = rules[way] ?? 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
      const read = readConfiguration(configuration, version)
      if (!read.ok) throw new Error(`the configuration of ${way} is wrong`)
      const options = { mode: 'cluster-wide', namespace: 'sidecar-first', endpoint: { url }, caBundle } as const
      const { mutating, validating } = webhookConfigurations(read.configuration, configuration, options)
      const items = way === 'both' ? [mutating, validating] : [mutating]
      await server.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    }
    // The API server learns of new webhooks through its own watch.
    await sleep(2000)
  }

  const made: Turn[] = []
  for (let turn = 0; turn <= turns; turn++) {
    // Forwards and backwards, so that drift affects all variants alike.
    for (const way of turn % 2 === 0 ? order : order.toReversed()) {
      await register(way)
      for (const load of Object.keys(loads) as Load[]) {
        const { connections, stored, share } = loads[load]
        const count = Math.ceil((podsOfEach * share) / turns)
        const { milliseconds, elapsed, failures } = await create(way, connections, count, stored)
        const [failure] = Object.keys(failures)
        if (failure !== undefined) throw new Error(`${ways[way]}: ${failure}`)
        const perSecond = count / (elapsed / 1000)
        // The first turn warms up the processes.
        if (turn > 0) {
          made.push({ way, load, perSecond, p50: percentile(milliseconds, 50), p99: percentile(milliseconds, 99) })
        }
      }
      await server.kubectl(['delete', '--raw', '/api/v1/namespaces/default/pods?gracePeriodSeconds=0'])
    }
    process.stderr.write(`turn ${turn} of ${turns}\n`)
  }

  const bursts: Partial<Record<Way, Created>> = {}
  for (const way of ['none', 'bare', 'ours'] as const) {
    await register(way)
    // The first burst opens 500 connections.
    await create(way, burst, burst)
    bursts[way] = await create(way, burst, burst)
  }
  return { turns: made, bursts }
}

/** The pod that is created, on a node that needs no kubelet; without our annotations if the webhook must not see it. */
function podOf(way: Way): string {
  const { object } = JSON.parse(realisticReview()).request
  const { managedFields: _, ownerReferences: __, annotations, ...metadata } = object.metadata
  if (way === 'unconcerned') delete annotations['sidecar-first.dev/sidecars']
  const spec = { ...object.spec, nodeName: 'no-kubelet' }
  return JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, annotations }, spec })
}

/** The servers of all variants; variants with the same configuration share one of ours. */
async function startServers(): Promise<{ caBundle: string; urls: Record<Way, string | undefined> }> {
  const at = new Date()
  const life = 24 * 3_600_000
  const authority = await issueAuthority({ commonName: 'bench', life, at })
  const leaf = await issueLeaf({ authority, names: ['localhost'], ips: ['127.0.0.1'], life, at })
  const [cert, key] = [`${folder}/tls.crt`, `${folder}/tls.key`]
  await writeFile(cert, leaf.certificate)
  await writeFile(key, leaf.key)
  // Plain JavaScript, like the bundle: Node's type stripping would cost time and memory.
  await writeFile(`${folder}/bare.mjs`, stripTypeScriptTypes(await readFile(here('server/bare.ts'), 'utf8')))

  const started = async (args: readonly string[]) => {
    const { child, url } = await launch(args)
    children.add(child)
    return url
  }
  const serve = async (way: Way) => {
    const config = `${folder}/${way}.yaml`
    if (rules[way] !== undefined) await writeFile(config, rules[way])
    const ruled = rules[way] === undefined ? [] : ['--config', config]
    const flags = ['--port', '0', '--cert', cert, '--key', key, '--routes', 'admission']
    return await started([here('../dist/sidecar-first.mjs'), 'serve', ...flags, ...ruled])
  }
  const fixed = async (way: Way, answer: string) => {
    await writeFile(`${folder}/${way}.json`, answer)
    return await started([`${folder}/bare.mjs`, cert, key, `${folder}/${way}.json`])
  }
  const ours = await serve('ours')
  const patched = await post(`${ours}/mutate`, realisticReview())
  if (!patched.includes('JSONPatch')) throw new Error(`the review is not patched: ${patched}`)
  const allowed = JSON.stringify({ ...JSON.parse(patched), response: { allowed: true } })
  const urls = {
    none: undefined,
    allowed: await fixed('allowed', allowed),
    bare: await fixed('bare', patched),
    ours,
    both: ours,
    unconcerned: ours,
    few: await serve('few'),
    most: await serve('most'),
  }
  return { caBundle: authority.certificate, urls }
}

function report({ turns: made, bursts }: Awaited<ReturnType<typeof bench>>): void {
  const line = (label: string, cells: readonly string[]) =>
    process.stdout.write(`${label.padEnd(36)}${cells.map((cell) => cell.padStart(11)).join('')}\n`)
  for (const load of Object.keys(loads) as Load[]) {
    const median = (way: Way, of: (turn: Turn) => number) =>
      percentile(made.filter((turn) => turn.way === way && turn.load === load).map(of), 50)
    const beside = (way: Way, than: Way) => {
      const ratios = made
        .filter((turn) => turn.way === way && turn.load === load)
        .map(({ perSecond }, turn) => {
          const other = made.filter((each) => each.way === than && each.load === load)[turn]
          return perSecond / (other?.perSecond ?? Number.NaN)
        })
      return percentile(ratios, 50).toFixed(2)
    }
    line(loads[load].title, ['pods/s', 'p50, ms', 'p99, ms', 'to none', 'to bare'])
    for (const way of order) {
      const [perSecond, p50, p99] = [
        median(way, (t) => t.perSecond),
        median(way, (t) => t.p50),
        median(way, (t) => t.p99),
      ]
      line(ways[way], [perSecond.toFixed(0), p50.toFixed(1), p99.toFixed(1), beside(way, 'none'), beside(way, 'bare')])
    }
    line('', [])
  }
  line(`${burst} at once`, ['p50, ms', 'p99, ms', 'all, ms', 'failed'])
  for (const [way, { milliseconds, elapsed, failures }] of Object.entries(bursts)) {
    const failed = Object.values(failures).reduce((sum, count) => sum + count, 0)
    const times = [percentile(milliseconds, 50), percentile(milliseconds, 99), elapsed]
    line(ways[way as Way], [...times.map((time) => time.toFixed(0)), String(failed)])
  }
  process.stdout.write(
    `\nMedians of ${turns} turns, ${podsOfEach} dry runs and ${podsOfEach / 5} stored pods of each way; ratios are of throughput, within a turn.\n`,
  )
}
