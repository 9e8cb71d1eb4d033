import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { PatchStrategy } from '@kubernetes/client-node'
import { run } from '../../rollouts/controller/run.ts'
import type { RolloutStrategy, SidecarRollout } from '../../rollouts/types.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { type Fate, type Passing, startProxy } from '../apiserver/proxy.ts'
import { installKind } from '../rollouts/client/cluster-fixture.ts'
import { SECOND, until } from '../until.ts'
import { createPods, rolloutOf, rolloutsPath } from './envoy.ts'
import { type FakeKubelet, startFakeKubelet } from './fake-kubelet.ts'

let api: ApiServer
let calls: RawCalls
let kubelet: FakeKubelet
before(async () => {
  api = await startApiServer()
  calls = rawCalls(connection(api.kubeconfig('admin')))
  await api.kubectl(['create', 'namespace', 'sidecar-first'])
  await installKind(api)
  kubelet = startFakeKubelet(api.kubeconfig('admin'))
})
after(async () => {
  await kubelet?.stop()
  await api?.stop()
})

const PODS = 4

/** Four pods on two nodes under a fake kubelet, a rollout of them, and a controller behind a faulty proxy. */
async function begin(
  t: TestContext,
  namespace: string,
  fate: (call: Passing) => Fate | Promise<Fate>,
  {
    strategy = {},
    resync = 60_000,
    lease = 3000,
    pods = PODS,
  }: { strategy?: Partial<RolloutStrategy>; resync?: number; lease?: number; pods?: number } = {},
) {
  await api.kubectl(['create', 'namespace', namespace])
  await createPods(calls, namespace, pods)
  const proxy = await startProxy(api, fate)
  const stop = new AbortController()
  const lines: string[] = []
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const ended = run({
    kubeconfig: api.kubeconfig('admin', proxy.url),
    namespace: 'sidecar-first',
    lease,
    resync,
    waiter: 'waiter',
    log: { info: write, warn: write },
    signal: stop.signal,
    metricsPort: 0,
  })
  t.after(async () => {
    stop.abort()
    await ended
    await proxy.stop()
    await api.kubectl(['delete', 'namespace', namespace, '--wait=false'])
    await calls.remove(`${rolloutsPath(namespace)}/envoy`)
  })
  await calls.create(rolloutsPath(namespace), rolloutOf({ strategy }))
  const read = () => calls.get<SidecarRollout>(`${rolloutsPath(namespace)}/envoy`)
  /** How often each pod's sidecar was restarted. */
  const restarts = () =>
    Array.from({ length: pods }, (_, i) => (kubelet.starts.get(`${namespace}/pod-${i}/envoy`) ?? 0) - 1)
  return { lines, read, restarts, namespace }
}

async function complete({ lines, read, restarts, namespace }: Awaited<ReturnType<typeof begin>>) {
  await until(
    'the rollout to be complete',
    300 * SECOND,
    async () => (await read()).status?.phase === 'Complete',
  ).catch((error) => {
    throw new Error(lines.join('\n'), { cause: error })
  })
  assert.deepEqual(restarts(), Array(PODS).fill(1), lines.join('\n'))
  assert.equal(kubelet.mostDown(namespace), 1)
}

/** What a call is for, however often it's made. */
const kindOf = ({ method, path, watches }: Passing) =>
  `${watches ? 'WATCH' : method} ${path.replace(/\/(?=sidecar-first-fetch-|pod-\d|envoy).*?(?=\/|$)/, '/one')}`

for (const fate of [403, 409, 500, 'hang', 'lose'] as const) {
  test(`each kind of call meets with ${fate} twice: every pod is touched once`, async (t) => {
    const times = new Map<string, number>()
    const struck = (call: Passing): Fate => {
      if (call.path.includes('/leases')) return 'pass'
      const count = times.get(kindOf(call)) ?? 0
      times.set(kindOf(call), count + 1)
      return count === 0 || count === 2 ? fate : 'pass'
    }
    const begun = await begin(t, `faults-${fate}`, struck, { resync: 3000 })
    await complete(begun)
    t.diagnostic([...times].map(([kind, count]) => `${count} ${kind}`).join(', '))
  })
}

const isTouch = ({ method, path }: Pick<Passing, 'method' | 'path'>) => method === 'PATCH' && path.includes('/pods/')

const pause = (namespace: string) =>
  calls.patch(`${rolloutsPath(namespace)}/envoy`, { spec: { strategy: { paused: true } } }, PatchStrategy.MergePatch)

test('every watch is silent: the lists are enough', async (t) => {
  const begun = await begin(t, 'faults-silent', ({ watches }) => (watches ? 'silent' : 'pass'), { resync: 700 })
  await complete(begun)
})

test('a paused rollout touches no more pods, though its watch is silent', async (t) => {
  // The first touch is on its way when the pause is stored.
  let paused: Promise<unknown> | undefined
  const begun = await begin(
    t,
    'faults-paused',
    async ({ method, watches, path }): Promise<Fate> => {
      if (isTouch({ method, path })) {
        paused ??= pause('faults-paused')
        await paused
      }
      return watches && path.endsWith('/sidecarrollouts') ? 'silent' : 'pass'
    },
    { resync: 5000 },
  )
  await until('it to be noticed', 20 * SECOND, async () => (await begun.read()).status?.phase === 'Paused')
  await until('the pod that was touched', 20 * SECOND, async () => begun.restarts().includes(1))
  assert.deepEqual(begun.restarts().toSorted(), [0, 0, 0, 1])
})

test('paused in mid-batch: no more pods are touched than were under way', async (t) => {
  const namespace = 'faults-batch'
  let touched = 0
  let stored: number | undefined
  const begun = await begin(
    t,
    namespace,
    async (call): Promise<Fate> => {
      if (isTouch(call) && ++touched === 15) {
        await pause(namespace)
        stored = touched
      }
      return 'pass'
    },
    { strategy: { maxUnavailable: '100%' }, pods: 60 },
  )
  await until('it to be noticed', 20 * SECOND, async () => (await begun.read()).status?.phase === 'Paused')
  assert.ok(stored !== undefined && touched - stored <= 3, `${touched} touched, ${stored} when it was stored`)
})

test('403 on every pod that fetches: pods go one at a time, and the condition says so', async (t) => {
  const begun = await begin(
    t,
    'faults-fetch',
    ({ method, path }) => (method === 'POST' && path.endsWith('/pods') ? 403 : 'pass'),
    { strategy: { maxUnavailable: 3 } },
  )
  await until('the condition', 30 * SECOND, async () => {
    const { status } = await begun.read()
    return status?.conditions.some(({ type, status: value }) => type === 'ImageFetched' && value === 'False') ?? false
  })
  await complete(begun)
})

test('403 on every patch of a pod: nothing is lost, and the condition says why', async (t) => {
  let forbidden = true
  const begun = await begin(t, 'faults-patch', ({ method, path }) =>
    forbidden && method === 'PATCH' && path.includes('/pods/') ? 403 : 'pass',
  )
  await until('the condition', 30 * SECOND, async () => {
    const { status } = await begun.read()
    return status?.conditions.some(({ reason }) => reason === 'Denied') ?? false
  })
  forbidden = false
  await complete(begun)
})

test('a namespace whose calls hang holds up no other', async (t) => {
  const hanging = 'faults-slow'
  await api.kubectl(['create', 'namespace', hanging])
  await calls.create(`/api/v1/namespaces/${hanging}/pods`, {
    metadata: { name: 'pod', labels: { app: 'shop' } },
    spec: { nodeName: 'node-0', containers: [{ name: 'envoy', image: 'envoy:v1' }] },
  })
  await calls.create(rolloutsPath(hanging), rolloutOf({}))
  t.after(() => calls.remove(`${rolloutsPath(hanging)}/envoy`))
  const seen: ('hangs' | 'touched')[] = []
  const begun = await begin(
    t,
    'faults-quick',
    ({ method, path }) => {
      const hangs = path.includes(`/namespaces/${hanging}/`)
      if (hangs) seen.push('hangs')
      else if (method === 'PATCH' && path.includes('/pods/')) seen.push('touched')
      return hangs ? 'hang' : 'pass'
    },
    // A call is given up after a third of the lease, 10 s at most.
    { strategy: { maxUnavailable: '100%' }, lease: 30_000, pods: 30 },
  )
  await until('the other to be complete', 300 * SECOND, async () => (await begun.read()).status?.phase === 'Complete')
  assert.deepEqual(begun.restarts(), Array(30).fill(1))
  // From the first touch to the last it wasn't the turn of a call that hangs, but for one that a free worker began.
  const meanwhile = seen.slice(seen.indexOf('touched'), seen.lastIndexOf('touched') + 1)
  assert.ok(seen.includes('hangs') && meanwhile.filter((one) => one === 'hangs').length <= 1, seen.join(' '))
})
