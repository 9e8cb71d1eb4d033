import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, run, startApiServer } from '../apiserver/apiserver.ts'
import { startProxy } from '../apiserver/proxy.ts'
import { hasImageVolumes } from '../cluster/kubernetes.ts'
import { installKind, shopPods, shopReplicaSet } from '../rollouts/client/cluster-fixture.ts'
import { startController } from '../rollouts/client/controller.ts'
import { SECOND, until } from '../until.ts'
import { type FakeKubelet, startFakeKubelet } from './fake-kubelet.ts'

/** By default the two that tell most in a test's time, where pods can only go one by one, too; the issue's own: SIZES=250,500,1000,2000 */
const sizes = (process.env.SIZES ?? (hasImageVolumes ? '250,1000' : '50,150')).split(',').map(Number)
const PODS_PER_NODE = 50
/** So much of a pod is nothing that a rollout looks at, in bytes. */
const WEIGHT = 6000
/** What it may need, in MiB. */
const MEMORY = 256
/** Node's own options, as it is installed. */
const options = /NODE_OPTIONS\n *value: (.*)/.exec(readFileSync('manifests/rollouts/rollouts.yaml', 'utf8'))?.[1] ?? ''
/** Of a cluster, by default a small one; the goal is `PODS=10000 NAMESPACES=500`. */
const cluster = { pods: Number(process.env.PODS ?? 200), namespaces: Number(process.env.NAMESPACES ?? 20) }

/** For how many seconds it is watched once it has nothing to do: a list of all pods comes every ten minutes then. */
const IDLE = Number(process.env.IDLE ?? 30)

/**
 * How many calls it may make: 1.1 a pod; four of each rollout, which are its status at first and at last, an event and its owner's template; two
 * for each node that fetches, and where none can, each rollout tries; and a status each second in which only counts have changed, or four of
 * all rollouts together.
 */
function allowed({ pods, rollouts, seconds }: { pods: number; rollouts: number; seconds: number }): number {
  const fetches = Math.ceil(pods / PODS_PER_NODE) * (hasImageVolumes ? 1 : rollouts)
  return 1.1 * pods + 4 * rollouts + 2 * fetches + (rollouts > 1 ? 4 : 1) * seconds
}

interface Cost {
  readonly pods: number
  /** By what was called. */
  readonly calls: Readonly<Record<string, number>>
  readonly callsPerPod: number
  readonly cpuPerPod: number
  readonly peak: number
  readonly seconds: number
}

let api: ApiServer
let kubelet: FakeKubelet
let bundle: string
before(async () => {
  bundle = await mkdtemp(join(tmpdir(), 'sidecar-first-bundle-'))
  await run(process.execPath, ['scripts/bundle.ts', bundle])
  api = await startApiServer()
  await installKind(api)
  await api.kubectl(['create', 'namespace', 'sidecar-first'])
  kubelet = startFakeKubelet(api.kubeconfig('admin'))
})
after(async () => {
  await rm(bundle, { recursive: true, force: true })
  await kubelet?.stop()
  await api?.stop()
})

const admin = () => rawCalls(connection(api.kubeconfig('admin'), { timeout: 300_000 }))

/** That many pods that run, in a namespace of their own. */
async function createPods(count: number, namespace: string): Promise<void> {
  await api.kubectl(['create', 'namespace', namespace])
  const calls = admin()
  await calls.create(`/apis/apps/v1/namespaces/${namespace}/replicasets`, shopReplicaSet(namespace))
  const pods = shopPods(count, { namespace, nodes: Math.ceil(count / PODS_PER_NODE), weight: WEIGHT })
  const next = pods.values()
  const create = async () => {
    for (const pod of next) await calls.create(`/api/v1/namespaces/${namespace}/pods`, pod)
  }
  await Promise.all(Array.from({ length: 16 }, create))
  await until(`${count} pods that run`, 120 * SECOND, async () => {
    const pending = await calls.get<{ items: unknown[] }>(`/api/v1/namespaces/${namespace}/pods`, {
      fieldSelector: 'status.phase!=Running',
    })
    return pending.items.length === 0
  })
}

/** What a rollout of so many pods costs, by a controller of its own. */
async function upgrade(pods: number): Promise<Cost> {
  const namespace = `shop-${pods}`
  await createPods(pods, namespace)
  const proxy = await startProxy(api, () => 'pass')
  const controller = await startController(api.kubeconfigFile('admin', proxy.url), {
    program: join(bundle, 'sidecar-first.mjs'),
    options,
  }).catch(async (error) => {
    await proxy.stop()
    throw error
  })
  try {
    const [before, from, since] = [controller.used(), proxy.passed.length, performance.now()]
    const path = `/apis/sidecar-first.dev/v1alpha1/namespaces/${namespace}/sidecarrollouts`
    await admin().create(path, rolloutOf(namespace))
    const done = await until(`${pods} pods with the new image`, 600 * SECOND, async () => {
      const { status } = await admin().get<SidecarRollout>(`${path}/shop`)
      assert.ok(status?.failure === undefined, JSON.stringify(status?.failure))
      return status?.phase === 'Complete' && status
    })
    assert.deepEqual([done.matched, done.updatedReady], [pods, pods])
    const seconds = (performance.now() - since) / 1000
    await until('the pods that fetched the image to be gone', 60 * SECOND, async () => {
      const fetching = { labelSelector: 'sidecar-first.dev/fetch' }
      return (
        (await admin().get<{ items: unknown[] }>(`/api/v1/namespaces/${namespace}/pods`, fetching)).items.length === 0
      )
    })
    const after = controller.used()
    const made = proxy.passed.slice(from).filter(({ path, watches }) => !watches && !path.includes('/leases/'))
    const refused = made.filter(({ status }) => status >= 400)
    assert.ok(refused.length <= pods / 50, `${refused.length} calls in vain, such as ${JSON.stringify(refused[0])}`)
    const patched = made.filter((call) => kindOf(call) === 'PATCH pods' && call.status < 400)
    assert.equal(patched.length, pods, 'one patch a pod')
    for (let index = 0; index < pods; index++) {
      const starts = ['envoy', 'app'].map((container) => kubelet.starts.get(`${namespace}/shop-${index}/${container}`))
      assert.deepEqual(starts, [2, 1], `starts of the sidecar and the app of shop-${index}`)
    }
    const most = kubelet.mostDown(namespace)
    // Where no image can be fetched first, one pod shows whether it can be had at all.
    const right = hasImageVolumes ? most > 1 && most <= pods / 10 : most === 1
    assert.ok(right, `${most} pods without their sidecar at once`)
    return {
      pods,
      calls: Object.fromEntries([...Map.groupBy(made, kindOf)].map(([kind, some]) => [kind, some.length])),
      callsPerPod: made.length / pods,
      cpuPerPod: (after.cpu - before.cpu) / pods,
      peak: after.peak,
      seconds,
    }
  } catch (error) {
    console.log(controller.log().slice(-4000))
    throw error
  } finally {
    await controller.stop()
    await proxy.stop()
    await api.kubectl(['delete', '--raw', `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`])
  }
}

const rolloutOf = (namespace: string) => ({
  apiVersion: 'sidecar-first.dev/v1alpha1',
  kind: 'SidecarRollout',
  metadata: { name: 'shop', namespace },
  spec: {
    selector: { matchLabels: { app: 'shop' } },
    container: 'envoy',
    image: 'example/envoy:2.1',
    strategy: { maxUnavailable: '10%', minReadySeconds: 0, bakeSeconds: 0 },
  },
})

function kindOf({ method, path }: { method: string; path: string }): string {
  const kind =
    /\/(sidecarrollouts\/[^/]+\/status|sidecarrollouts|pods|events|poddisruptionbudgets|leases)/.exec(path)?.[1] ?? path
  return `${method} ${kind.replace(/\/.*\//, '/')}`
}

test('a rollout costs at most 1.1 calls a pod, besides what it costs by itself, and every pod is restarted once', async () => {
  const costs: Cost[] = []
  for (const pods of sizes) {
    costs.push(await upgrade(pods))
    console.log(JSON.stringify(costs.at(-1)))
  }
  for (const { pods, calls, callsPerPod, peak, seconds } of costs) {
    const most = allowed({ pods, rollouts: 1, seconds })
    assert.ok(callsPerPod * pods <= most, `${callsPerPod} calls a pod at ${pods}: ${JSON.stringify(calls)}`)
    assert.ok(peak < MEMORY, `${peak} MiB at ${pods}`)
  }
})

test('a cluster of many namespaces, each with a rollout: what the controller needs for it', async (t) => {
  const each = cluster.pods / cluster.namespaces
  const names = Array.from({ length: cluster.namespaces }, (_, index) => `many-${index}`)
  const next = names.values()
  const calls = admin()
  const create = async () => {
    for (const namespace of next) {
      await calls.create('/api/v1/namespaces', { metadata: { name: namespace } })
      await calls.create(`/apis/apps/v1/namespaces/${namespace}/replicasets`, shopReplicaSet(namespace))
      for (const pod of shopPods(each, {
        namespace,
        nodes: Math.ceil(cluster.pods / PODS_PER_NODE),
        first: names.indexOf(namespace) * each,
        weight: WEIGHT,
      })) {
        await calls.create(`/api/v1/namespaces/${namespace}/pods`, pod)
      }
    }
  }
  await Promise.all(Array.from({ length: 16 }, create))
  await until(`${cluster.pods} pods that run`, 600 * SECOND, async () => {
    const pending = await calls.get<{ items: unknown[] }>('/api/v1/pods', {
      fieldSelector: 'status.phase!=Running',
      limit: '1',
    })
    return pending.items.length === 0
  })
  const proxy = await startProxy(api, () => 'pass')
  const path = (namespace: string) => `/apis/sidecar-first.dev/v1alpha1/namespaces/${namespace}/sidecarrollouts`
  for (const namespace of names) await calls.create(path(namespace), rolloutOf(namespace))
  const since = performance.now()
  const controller = await startController(api.kubeconfigFile('admin', proxy.url), {
    program: join(bundle, 'sidecar-first.mjs'),
    options,
  })
  try {
    await until('all rollouts to be complete', Math.max(900, cluster.pods / 4) * SECOND, async () => {
      const { items } = await calls.get<{ items: SidecarRollout[] }>('/apis/sidecar-first.dev/v1alpha1/sidecarrollouts')
      return items.every(({ status }) => status?.phase === 'Complete')
    })
    const seconds = (performance.now() - since) / 1000
    const used = controller.used()
    const made = proxy.passed.filter(({ path: one, watches }) => !watches && !one.includes('/leases/'))
    const counts = Object.fromEntries([...Map.groupBy(made, kindOf)].map(([kind, some]) => [kind, some.length]))
    await new Promise((resolve) => setTimeout(resolve, IDLE * SECOND))
    const idle = (controller.used().cpu - used.cpu) / IDLE
    const ends = proxy.passed.filter(
      (call) =>
        kindOf(call) === 'PATCH sidecarrollouts/status' &&
        call.status < 400 &&
        call.body.includes('"phase":"Complete"'),
    )
    t.diagnostic(
      JSON.stringify({
        ...cluster,
        seconds,
        ends: ends.length,
        callsPerPod: made.length / cluster.pods,
        cpuPerPod: used.cpu / cluster.pods,
        idleCpuPerSecond: idle,
        peak: used.peak,
        counts,
      }),
    )
    for (const namespace of names) assert.ok(kubelet.mostDown(namespace) <= Math.max(1, each / 10), namespace)
    const most = allowed({ pods: cluster.pods, rollouts: cluster.namespaces, seconds })
    assert.ok(made.length <= most, `${made.length} calls, at most ${most}: ${JSON.stringify(counts)}`)
    assert.ok(used.peak < MEMORY, `${used.peak} MiB`)
    // Once each, with all that is said of it; a count that changes late is another.
    assert.ok(ends.length < 1.5 * cluster.namespaces, `${ends.length} writes that say Complete`)
  } catch (error) {
    console.log(controller.log().slice(-4000))
    throw error
  } finally {
    await controller.stop()
    await proxy.stop()
  }
})
