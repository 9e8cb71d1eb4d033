/**
 * Ends pods on a real node whose app drains through its proxy, and counts the requests that fail; and measures the time from the deletion until the
 * pod is gone where the app ends at once. Raw runs: bench/results/end.json
 *
 *   npm run bench:end -- [ROUNDS]
 */
import { create, createNamespace, deleteNamespaces, kubectl } from '../test/cluster/cluster.ts'
import { draining, endOf, preStop, proxy } from '../test/cluster/ending.ts'
import { markOf, pod } from '../test/cluster/pod.ts'
import { startWebhook } from '../test/cluster/webhook.ts'
import { keep, median, rounded } from './figures.ts'

const rounds = Number(process.argv[2] ?? 3)
const namespace = 'bench-end'
const drains = '10s'
const last = { 'sidecar-first.dev/end': 'last' }
const native = { 'sidecar-first.dev/gate': 'native' }
/** As a call of /quitquitquit does. */
const stopsIt = preStop({ exec: { command: ['busybox', 'kill', '1'] } })

/** How a pod ends, and the proxy's own preStop. */
const ways = {
  nothing: { annotations: {}, more: {} },
  'end: last, hook': { annotations: last, more: {} },
  'native sidecar': { annotations: native, more: {} },
  'native sidecar, own preStop': { annotations: native, more: stopsIt },
  'end: last, native, own preStop': { annotations: { ...native, ...last }, more: stopsIt },
} as const
const proxies = { 'exits at once': '0s', 'lingers 5 s': '5s' } as const
type Way = keyof typeof ways
type Proxy = keyof typeof proxies

/** Milliseconds from the deletion to the pod's end, and requests. */
type Run = { readonly ms: number; readonly answered: number; readonly failed: number }

async function ends(name: string, way: Way, lingers: string, length: string): Promise<() => Promise<Run>> {
  const { annotations, more } = ways[way]
  const image = 'docker.io/sidecar-first/test-shell:1'
  await create(
    pod(namespace, name, [draining(length), proxy({ image, ...more }, { LINGER: lingers })], {
      annotations: {
        'sidecar-first.dev/sidecars': 'proxy',
        'sidecar-first.dev/waiter': 'image-volume',
        ...annotations,
      },
      spec: { terminationGracePeriodSeconds: 60 },
    }),
  )
  await kubectl('wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace, '--timeout=120s')
  return async () => {
    const { log, ms } = await endOf(namespace, name)
    return { ms, answered: markOf(log, 'app', 'answered'), failed: markOf(log, 'app', 'failed') }
  }
}

const names = Object.keys(ways) as Way[]
const drained = new Map<string, Run[]>()
const atOnce = new Map<string, Run[]>()
const add = (runs: Map<string, Run[]>, row: string, run: Run) => runs.set(row, [...(runs.get(row) ?? []), run])

const webhook = await startWebhook(namespace)
await createNamespace(namespace, { test: namespace })
try {
  for (let round = 1; round <= rounds; round += 1) {
    // What is lost doesn't hang on how busy the node is, so these end together; times do, so those are taken one by one.
    const rows = names.flatMap((way) => (Object.keys(proxies) as Proxy[]).map((kind) => ({ way, kind })))
    const begun = await Promise.all(
      rows.map(({ way, kind }, index) => ends(`p-${round}-${index}`, way, proxies[kind], drains)),
    )
    const runs = await Promise.all(begun.map((end) => end()))
    for (const [index, run] of runs.entries()) add(drained, `${rows[index]?.way}, ${rows[index]?.kind}`, run)
    // The first warms the caches.
    for (let again = 0; again <= 3; again += 1) {
      for (const [index, way] of names.entries()) {
        const run = await (await ends(`q-${round}-${again}-${index}`, way, '0s', '0s'))()
        if (again > 0) add(atOnce, way, run)
      }
    }
    process.stderr.write(`round ${round} of ${rounds}\n`)
  }
} finally {
  await deleteNamespaces(namespace)
  await webhook.remove()
}

const failed = (way: Way, kind: Proxy): string =>
  (drained.get(`${way}, ${kind}`) ?? []).map((run) => `${run.failed} of ${run.failed + run.answered}`).join(', ')
const ms = (way: Way): number => median((atOnce.get(way) ?? []).map((run) => run.ms))
console.log(
  `\nrequests that failed in ${rounds} runs; the app drains for ${drains}. Gone: medians of ${3 * rounds} pods whose app ends at once`,
)
console.table(
  names.map((way) => ({
    way,
    'failed, proxy exits at once': failed(way, 'exits at once'),
    'failed, proxy lingers 5 s': failed(way, 'lingers 5 s'),
    'gone, ms': ms(way),
    'this : native sidecar': rounded(ms(way) / ms('native sidecar')),
  })),
)
keep('end', { rounds, drains, drained: Object.fromEntries(drained), atOnce: Object.fromEntries(atOnce) })
