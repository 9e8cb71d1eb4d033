import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { PatchStrategy, type V1Pod } from '@kubernetes/client-node'
import { connection } from '../../src/kubernetes/connection.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, run as build, startApiServer } from '../apiserver/apiserver.ts'
import { type Fate, type Passing, startProxy } from '../apiserver/proxy.ts'
import { run } from '../cli/process.ts'
import { SECOND, until } from '../until.ts'
import { burden, statusOf, web } from './pods.ts'

/** By default a few pages; the issue's own: PODS=10000 */
const pods = Number(process.env.PODS ?? 600)
const perWorkload = 20
/** Every so many of them show harm. */
const every = 10

let api: ApiServer
let bundle: string
before(async () => {
  bundle = await mkdtemp(join(tmpdir(), 'sidecar-first-bundle-'))
  await build(process.execPath, ['scripts/bundle.ts', bundle])
  // So that a list can expire in a test's time.
  api = await startApiServer(['--etcd-compaction-interval=2s'])
  await api.kubectl(['create', 'namespace', 'shop'])
  const calls = admin()
  const next = Array.from({ length: pods }, (_, index) => index).values()
  const create = async () => {
    for (const index of next) {
      const pod = web(index, Math.floor(index / perWorkload))
      await calls.create('/api/v1/namespaces/shop/pods', pod)
      const status = { status: statusOf(pod, index % every === 0) }
      await calls.patch(
        `/api/v1/namespaces/shop/pods/${pod.metadata.name}/status`,
        status,
        PatchStrategy.StrategicMergePatch,
      )
    }
  }
  await Promise.all(Array.from({ length: 16 }, create))
})
after(async () => {
  await rm(bundle, { recursive: true, force: true })
  await api?.stop()
})

const admin = () => rawCalls(connection(api.kubeconfig('admin'), { timeout: 300_000 }))

/** `sidecar-first scan`, with what it called. */
async function scan(
  args: readonly string[],
  { user = 'admin' as 'admin' | 'certs', fate = (_: Passing): Fate | Promise<Fate> => 'pass' } = {},
) {
  const proxy = await startProxy(api, fate)
  try {
    const env = { KUBECONFIG: api.kubeconfigFile(user, proxy.url) }
    return { ...(await run(['scan', ...args], { env })), calls: [...proxy.passed] }
  } finally {
    await proxy.stop()
  }
}

test('thousands of pods in few calls, little memory and little CPU', async () => {
  const workloads = Math.ceil(pods / perWorkload)
  // The warnings, beside pages of 500 pods. For a page, six starts are drawn as well: each lists a pod, its events and its node's, after one call for
  // how all these are called.
  for (const [format, others] of [
    ['json', 1],
    ['html', 1 + 1 + 6 * 3],
  ] as const) {
    const proxy = await startProxy(api, () => 'pass')
    try {
      const kubeconfig = api.kubeconfigFile('admin', proxy.url)
      const { out, ...used } = await burden(join(bundle, 'sidecar-first.mjs'), ['scan', '-o', format], kubeconfig)
      // A list can expire again and again here, where the API server forgets within seconds: each time costs the call that is answered so, and no other.
      const expired = proxy.passed.filter(({ status }) => status === 410).length
      const calls = proxy.passed.length - expired
      console.log(JSON.stringify({ format, pods, calls, expired, ...used }))
      const counts = { workloads, pods, known: workloads, unguarded: workloads, asks: 0, sure: workloads, probable: 0 }
      if (format === 'json') assert.deepEqual(JSON.parse(out).counts, counts)
      else assert.equal(out.match(/<div class="chart">/g)?.length, 6)
      const made = proxy.passed.map(({ status, path }) => `${status} ${path}`)
      assert.ok(calls <= Math.ceil(pods / 500) + others, made.join('\n'))
      if (format === 'html') assert.equal(out.includes('SF944'), expired > 0)
      assert.ok(used.mib < 150, `${used.mib} MiB`)
    } finally {
      await proxy.stop()
    }
  }
})

test('a list that expires on the way goes on, and every pod is counted once', async () => {
  let pages = 0
  let turn = 0
  const { stdout, calls } = await scan(['-o', 'json'], {
    async fate({ path }): Promise<Fate> {
      if (!path.endsWith('/pods') || ++pages !== 2) return 'pass'
      // Only a revision that is no longer the latest is compacted, and the list's isn't younger than this one.
      const { metadata } = JSON.parse(await api.kubectl(['get', '--raw', '/api/v1/pods?limit=1']))
      const atThat = `/api/v1/pods?limit=1&resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`
      await until('the revision to be forgotten', 60 * SECOND, async () => {
        await api.kubectl(['annotate', 'namespace', 'shop', '--overwrite', `turn=${turn++}`])
        return api.kubectl(['get', '--raw', atThat]).then(
          () => undefined,
          () => true,
        )
      })
      return 'pass'
    },
  })
  assert.ok(
    calls.some(({ status }) => status === 410),
    'the list has not expired',
  )
  const { counts, limits } = JSON.parse(stdout)
  assert.equal(counts.pods, pods)
  assert.deepEqual(
    limits.map(({ kind }: { kind: string }) => kind),
    ['list-expired'],
  )
})

test('an event says nothing about pods of other namespaces, whichever its author names', async () => {
  await api.kubectl(['create', 'namespace', 'theirs'])
  const calls = admin()
  const { metadata, spec, status } = await calls.get<V1Pod>('/api/v1/namespaces/shop/pods/web-0-abc12-1')
  const began = status?.containerStatuses?.[0]?.state?.running?.startedAt
  const at = new Date(new Date(began ?? 0).getTime() + 3000).toISOString().replace('.000Z', 'Z')
  const write = (namespace: string) =>
    calls.create(`/api/v1/namespaces/${namespace}/events`, {
      metadata: { name: 'forged' },
      involvedObject: {
        kind: 'Pod',
        namespace,
        name: metadata?.name,
        uid: metadata?.uid,
        fieldPath: 'spec.containers{istio-proxy}',
      },
      source: { component: 'kubelet', host: spec?.nodeName },
      type: 'Warning',
      reason: 'Unhealthy',
      message: 'Readiness probe failed: no',
      firstTimestamp: at,
      lastTimestamp: at,
    })
  const failed = async () => (await scan(['-o', 'json'])).stdout.includes('"probe-failed"')
  await write('theirs')
  assert.equal(await failed(), false)
  await write('shop')
  assert.equal(await failed(), true)
})

test('somebody who may list the pods of one namespace, and no events, is told what to do and what is missing', async () => {
  await api.kubectl(['create', 'role', '-n', 'shop', 'reader', '--verb=list', '--resource=pods'])
  await api.kubectl([
    'create',
    'rolebinding',
    '-n',
    'shop',
    'reader',
    '--role=reader',
    '--serviceaccount=sidecar-first:sidecar-first-certs',
  ])
  const all = await scan([], { user: 'certs' })
  assert.equal(all.code, 1)
  assert.match(
    all.stderr,
    /pods is forbidden.*\n {2}If you may list the pods of some namespaces only, name one with -n\n$/s,
  )
  const one = await scan(['-n', 'shop'], { user: 'certs' })
  assert.equal(one.code, 0)
  assert.match(one.stdout, /show harm \(without events\)\n/)
  assert.match(one.stdout, /SF941 you may not list events/)
})

test('pods that vanish between the list and the drawing are left out, and the others are drawn', async () => {
  const drawn = ({ stdout }: { stdout: string }) =>
    [...stdout.matchAll(/^ {2}(\S+) started like this:$/gm)].map(([, name]) => name)
  const shown = drawn(await scan([]))
  assert.equal(shown.length, 2)
  const [gone = ''] = shown
  let lists = 0
  const calls = admin()
  const found = await scan([], {
    async fate({ path }): Promise<Fate> {
      // The first list of one namespace is that of the pod to draw.
      if (path === '/api/v1/namespaces/shop/pods' && lists++ === 0)
        await calls.remove(`/api/v1/namespaces/shop/pods/${gone}`, { gracePeriodSeconds: 0 })
      return 'pass'
    },
  })
  assert.equal(found.code, 0, found.stderr)
  assert.deepEqual(drawn(found), shown.slice(1))
  assert.match(found.stdout, /^\d+ workloads?, /)
})

test('a node whose clock is behind is named, and its times are compared with no others', async () => {
  const calls = admin()
  await api.kubectl(['create', 'namespace', 'behind'])
  const made = web(0, 0)
  const pod = { ...made, metadata: { ...made.metadata, namespace: 'behind' }, spec: { ...made.spec, nodeName: 'slow' } }
  await calls.create('/api/v1/namespaces/behind/pods', pod)
  // All that its kubelet writes is a minute early.
  const status = JSON.parse(
    JSON.stringify(statusOf(made, false)).replaceAll(/"(\d{4}-[^"]*Z)"/g, (_, time) =>
      JSON.stringify(new Date(Date.parse(time) - 60_000).toISOString().replace('.000Z', 'Z')),
    ),
  )
  await calls.patch(
    `/api/v1/namespaces/behind/pods/${made.metadata.name}/status`,
    { status },
    PatchStrategy.StrategicMergePatch,
  )
  const { stdout, code } = await scan(['-n', 'behind'])
  assert.equal(code, 0)
  assert.match(stdout, /SF943 the clock of slow is at least \d\d s behind the API server's/)
  assert.match(stdout, /; none show harm/)
})

test('a cluster without known sidecars, and a namespace without pods, are told in a sentence', async () => {
  const none = await scan(['--preset', 'linkerd'])
  assert.match(none.stdout, /^\d+ workloads, 0 with a known sidecar\n\nSF945 none of \d+ workloads has/)
  assert.equal(none.code, 0)
  assert.match((await scan(['-n', 'nowhere'])).stdout, /^0 workloads.*\n\nSF945 there are no pods to look at\n$/)
  assert.match((await scan(['-l', 'app=nobody'])).stdout, /^0 workloads/)
})
