// Creates pods through a real API server: without a webhook, with minimal webhooks for comparison, and with ours. Prints ratios; the raw turns
// go to bench/results/cluster.json.
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfiguration } from '../src/configuration/read.ts'
import { version } from '../src/version.ts'
import { webhookConfigurations } from '../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../test/apiserver/apiserver.ts'
import { keep, median, percentile, rounded } from './figures.ts'
import type { Loaded } from './server/client.ts'
import { realisticReview } from './server/review.ts'
import { manyRules, prepareServers } from './server/servers.ts'

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

const rules: Partial<Record<Way, string>> = { few: manyRules(10), most: manyRules(10_000) }
await using servers = await prepareServers()
const api = await startApiServer()
try {
  const results = await bench(api)
  report(results)
  keep('cluster', { node: process.version, ...results })
} finally {
  await api.stop()
}

async function bench(server: ApiServer): Promise<{ turns: Turn[]; bursts: Partial<Record<Way, Loaded>> }> {
  await server.kubectl(['create', 'serviceaccount', 'sample'])
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'no-kubelet' } }
  await server.kubectl(['create', '-f', '-'], JSON.stringify(node))
  const urls = await startServers()

  const create = async (way: Way, connections: number, pods: number, stored = false): Promise<Loaded> => {
    const url = `${server.url}/api/v1/namespaces/default/pods${stored ? '' : '?dryRun=All'}`
    return await servers.load({ url, token: 'admin-token', body: podOf(way), connections, requests: pods })
  }
  /** Replaces the previous variant's webhooks with those of another one. */
  const register = async (way: Way) => {
    await server.kubectl(['delete', 'mutatingwebhookconfiguration,validatingwebhookconfiguration', '--all'])
    const url = urls[way]
    if (url !== undefined) {
      const configuration = rules[way] ?? 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
      const read = readConfiguration(configuration, version)
      if (!read.ok) throw new Error(`the configuration of ${way} is wrong`)
      const { caBundle } = servers
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
          made.push({ way, load, perSecond, p50: median(milliseconds), p99: percentile(milliseconds, 99) })
        }
      }
      await server.kubectl(['delete', '--raw', '/api/v1/namespaces/default/pods?gracePeriodSeconds=0'])
    }
    process.stderr.write(`turn ${turn} of ${turns}\n`)
  }

  const bursts: Partial<Record<Way, Loaded>> = {}
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
async function startServers(): Promise<Record<Way, string | undefined>> {
  const serve = async (way: Way) =>
    (await servers.start([...(await servers.ours(rules[way])), '--routes', 'admission'])).url
  const fixed = async (answer: string) => (await servers.start(await servers.bare(answer))).url
  const patched = await servers.patched()
  const ours = await serve('ours')
  return {
    none: undefined,
    allowed: await fixed(JSON.stringify({ ...JSON.parse(patched), response: { allowed: true } })),
    bare: await fixed(patched),
    ours,
    both: ours,
    unconcerned: ours,
    few: await serve('few'),
    most: await serve('most'),
  }
}

function report({ turns: made, bursts }: Awaited<ReturnType<typeof bench>>): void {
  for (const load of Object.keys(loads) as Load[]) {
    const of = (way: Way) => made.filter((turn) => turn.way === way && turn.load === load)
    const beside = (way: Way, than: Way) => {
      const others = of(than)
      const ratios = of(way).map(({ perSecond }, turn) => perSecond / (others[turn]?.perSecond ?? Number.NaN))
      return rounded(median(ratios))
    }
    console.log(loads[load].title)
    console.table(
      order.map((way) => ({
        way: ways[way],
        'pods/s': rounded(median(of(way).map(({ perSecond }) => perSecond))),
        'p50, ms': rounded(median(of(way).map(({ p50 }) => p50))),
        'p99, ms': rounded(median(of(way).map(({ p99 }) => p99))),
        'to none': beside(way, 'none'),
        'to bare': beside(way, 'bare'),
      })),
    )
  }
  console.log(`${burst} at once`)
  console.table(
    Object.entries(bursts).map(([way, { milliseconds, elapsed, failures }]) => ({
      way: ways[way as Way],
      'p50, ms': rounded(median(milliseconds)),
      'p99, ms': rounded(percentile(milliseconds, 99)),
      'all, ms': rounded(elapsed),
      failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
    })),
  )
  console.log(
    `Medians of ${turns} turns, ${podsOfEach} dry runs and ${podsOfEach / 5} stored pods of each way; ratios are of throughput, within a turn.`,
  )
}
