/**
 * Gives a sidecar a new image on a real node, by an in-place rollout and by ordinary updates of the Deployment. Measures how long it takes until
 * all pods are ready, how long apps are down, and how many pods are recreated. Raw runs: bench/results/rollout.json
 *
 *   npm run bench:rollout -- [ROUNDS] [REPLICAS]
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { V1PodList } from '@kubernetes/client-node'
import type { SidecarRollout } from '../rollouts/types.ts'
import { connection } from '../src/kubernetes/connection.ts'
import { loadKubeconfig } from '../src/kubernetes/kubeconfig.ts'
import { rawCalls } from '../src/kubernetes/raw.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from '../test/cluster/cluster.ts'
import { getPods, podSpec, sidecar } from '../test/cluster/pod.ts'
import { startWebhook } from '../test/cluster/webhook.ts'
import { startController } from '../test/rollouts/client/controller.ts'
import { keep, median, rounded } from './figures.ts'
import { startClients } from './rollout/clients.ts'

const rounds = Number(process.argv[2] ?? 3)
const replicas = Number(process.argv[3] ?? 4)
/** In ms after the container's start. */
const ready = { sidecar: 300, app: 2000 }
const namespace = 'bench-rollout'
const calls = rawCalls(connection((await loadKubeconfig()).kubeconfig))
// The same program in two images.
const before = 'docker.io/sidecar-first/test-sidecar:1'
const after = 'docker.io/sidecar-first/test-shell:1'

interface Run {
  /** Seconds for which a pod's app did not answer. */
  readonly missing: number
  /** Seconds from the change until all pods have the new image and are ready. */
  readonly total: number
  readonly recreated: number
}

/** A way to roll out the new image; returns when all pods have it. */
interface Way {
  readonly strategy: object
  change(): Promise<void>
}

const ordinary = async () => {
  await kubectl('set', 'image', 'deployment/shop', `late=${after}`, '-n', namespace)
  await kubectl('rollout', 'status', 'deployment/shop', '-n', namespace, '--timeout=300s')
}
const rolling = (maxUnavailable: number | string, maxSurge: number | string) => ({
  type: 'RollingUpdate',
  rollingUpdate: { maxUnavailable, maxSurge },
})
const ways: Readonly<Record<string, Way>> = {
  'in place, one at a time': { strategy: rolling(1, 0), change: inPlace },
  'Deployment, one at a time': { strategy: rolling(1, 0), change: ordinary },
  'Deployment, as by default': { strategy: rolling('25%', '25%'), change: ordinary },
}

async function inPlace(): Promise<void> {
  await create({
    apiVersion: 'sidecar-first.dev/v1alpha1',
    kind: 'SidecarRollout',
    metadata: { name: 'shop', namespace },
    spec: {
      selector: { matchLabels: { app: 'shop' } },
      container: 'late',
      image: after,
      strategy: { maxUnavailable: 1, minReadySeconds: 0, bakeSeconds: 0 },
    },
  })
  const path = `/apis/sidecar-first.dev/v1alpha1/namespaces/${namespace}/sidecarrollouts/shop`
  for (let phase: string | undefined; phase !== 'Complete'; await sleep(100)) {
    const { status } = await calls.get<SidecarRollout>(path)
    if (status?.failure) throw new Error(status.failure.message)
    phase = status?.phase
  }
}

const probe = { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 }
const deployment = (strategy: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'shop', namespace },
  spec: {
    replicas,
    strategy,
    selector: { matchLabels: { app: 'shop' } },
    template: {
      metadata: {
        labels: { app: 'shop' },
        annotations: {
          'sidecar-first.dev/sidecars': 'late',
          'sidecar-first.dev/waiter': 'image-volume',
          'check.sidecar-first.dev/late': 'http://:15021/ready',
        },
      },
      spec: podSpec([
        sidecar('app', { HTTP: ':8080', READY_AFTER: `${ready.app}ms` }, { readinessProbe: probe }),
        sidecar('late', { HTTP: ':15021', READY_AFTER: `${ready.sidecar}ms` }, { image: before }),
      ]),
    },
  },
})

/** The addresses of the pods that aren't terminating, by uid. */
async function addresses(): Promise<Map<string, string>> {
  const labelSelector = 'app=shop'
  const { items } = await calls.get<V1PodList>(`/api/v1/namespaces/${namespace}/pods`, { labelSelector })
  const living = items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined)
  return new Map(living.flatMap(({ metadata, status }) => (status?.podIP ? [[metadata?.uid ?? '', status.podIP]] : [])))
}

async function measure({ strategy, change }: Way): Promise<Run> {
  await create(deployment(strategy))
  await kubectl('rollout', 'status', 'deployment/shop', '-n', namespace, '--timeout=300s')
  let known = await addresses()
  const first = new Set(known.keys())
  const stopClients = startClients(8080, () => known.values(), replicas)
  let watching = true
  const watch = (async () => {
    for (; watching; await sleep(100)) known = await addresses()
  })()
  const from = performance.now()
  try {
    await change()
  } finally {
    watching = false
    await watch
  }
  const total = (performance.now() - from) / 1000
  const missing = await stopClients()
  const now = await addresses()
  await kubectl('delete', 'deployment/shop', '-n', namespace, '--wait=true')
  await kubectl('delete', 'sidecarrollouts', '--all', '-n', namespace)
  await until('the pods to be gone', async () => ((await getPods(namespace)).size === 0 ? true : undefined))
  return { missing, total, recreated: [...now.keys()].filter((uid) => !first.has(uid)).length }
}

const runs: Record<string, Run[]> = Object.fromEntries(Object.keys(ways).map((way) => [way, []]))
await kubectl('apply', '--server-side', '-f', 'manifests/rollouts/crd.yaml')
await until('the kind', async () => (await tryKubectl(['get', 'sidecarrollouts'])).code === 0 || undefined)
const webhook = await startWebhook(namespace)
await createNamespace(namespace, { test: namespace })
const controller = await startController(process.env.KUBECONFIG ?? '', { flags: ['--namespace', namespace] })
try {
  // The first round warms the caches and isn't counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [way, how] of Object.entries(ways)) {
      const run = await measure(how)
      if (round > 0) runs[way]?.push(run)
    }
    process.stderr.write(`round ${round} of ${rounds}\n`)
  }
} finally {
  await controller.stop()
  await deleteNamespaces(namespace)
  await webhook.remove()
}

const of = (way: string, figure: keyof Run): number => rounded(median((runs[way] ?? []).map((run) => run[figure])))
const [ours = ''] = Object.keys(ways)
console.log(
  `\nmedians of ${rounds} rounds of ${replicas} pods; the sidecar is ready ${ready.sidecar} ms after its start, the app ${ready.app} ms`,
)
console.table(
  Object.keys(ways).map((way) => ({
    way,
    'pods recreated': of(way, 'recreated'),
    'time to all ready, s': of(way, 'total'),
    'ours : this': rounded(of(ours, 'total') / of(way, 'total')),
    'without the app a pod, s': of(way, 'missing'),
  })),
)
keep('rollout', { rounds, replicas, ready, runs })
