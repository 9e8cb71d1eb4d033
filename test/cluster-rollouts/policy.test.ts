import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { KubeConfig } from '@kubernetes/client-node'
import { type Cluster, cluster } from '../../rollouts/controller/cluster.ts'
import { fetchPod } from '../../rollouts/controller/fetch.ts'
import type { Note } from '../../rollouts/pod-note.ts'
import { seenPod, type WirePod } from '../../rollouts/seen-pod.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { rollout, shopPods } from '../rollouts/client/cluster-fixture.ts'
import { startController } from '../rollouts/client/controller.ts'
import { SECOND, until } from '../until.ts'
import { startFakeKubelet } from './fake-kubelet.ts'

const account = 'sidecar-first-rollouts'
const podsPath = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`

let api: ApiServer
let admin: RawCalls
/** With the controller's own token. */
let own: RawCalls
let kubeconfigFile: string
before(async () => {
  api = await startApiServer()
  admin = rawCalls(connection(api.kubeconfig('admin')))
  for (const name of ['sidecar-first', 'shop', 'live']) await api.kubectl(['create', 'namespace', name])
  await api.kubectl(['apply', '-k', 'manifests/rollouts'])
  await api.kubectl(['wait', '--for=condition=Established', 'crd/sidecarrollouts.sidecar-first.dev'])
  const token = (await api.kubectl(['create', 'token', '-n', 'sidecar-first', account])).trim()
  const kubeconfig = new KubeConfig()
  const found = api.kubeconfig('admin').getCurrentCluster()
  assert.ok(found)
  kubeconfig.loadFromClusterAndUser(found, { name: account, token })
  kubeconfigFile = join(tmpdir(), 'rollouts.kubeconfig')
  writeFileSync(kubeconfigFile, kubeconfig.exportConfig(), { mode: 0o600 })
  own = rawCalls(connection(kubeconfig))
  // The API server makes that one a moment after it is ready.
  await until('kube-system', 30 * SECOND, () => admin.find('/api/v1/namespaces/kube-system'))
  for (const namespace of ['shop', 'kube-system', 'sidecar-first']) await admin.create(podsPath(namespace), shop)
  await until('the policy to be in force', 30 * SECOND, () => refused(() => dry().removePod('shop', 'shop')))
})
after(() => api?.stop())

/** A sidecar of each kind, an ordinary init container, and something of everything that could be changed. */
const shop = {
  metadata: { name: 'shop', labels: { app: 'shop' }, annotations: { team: 'a' }, finalizers: ['example.com/keep'] },
  spec: {
    containers: [
      { name: 'envoy', image: 'envoy:v1', env: [{ name: 'A', value: 'b' }] },
      { name: 'app', image: 'app:v1' },
    ],
    initContainers: [
      { name: 'prepare', image: 'prepare:v1' },
      { name: 'vault', image: 'vault:v1', restartPolicy: 'Always' },
    ],
    // Held back, such a pod may be told where to run.
    schedulingGates: [{ name: 'example.com/wait' }],
  },
}

const theRollout: SidecarRollout = {
  apiVersion: 'sidecar-first.dev/v1alpha1',
  kind: 'SidecarRollout',
  metadata: {
    name: 'envoy',
    namespace: 'shop',
    uid: '7d4f4b0e-7c39-4f6a-9a57-6d2f4a1f1a51',
    generation: 1,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: {
    selector: { matchLabels: { app: 'shop' } },
    container: 'envoy',
    image: 'envoy:v2',
    strategy: {
      partition: 0,
      maxUnavailable: 1,
      minReadySeconds: 0,
      bakeSeconds: 0,
      progressDeadlineSeconds: 60,
      onFailure: 'pause',
      paused: false,
      maxFailures: 0,
      judge: 'Pod',
      rest: 'base',
    },
  },
}

/** The controller's calls, as dry runs; `change` is what a thief makes of what it sends. */
const dry = (change: (body: object) => object = (body) => body): Cluster =>
  cluster({
    ...own,
    create: (path, body) => own.create(`${path}?dryRun=All`, change(body)),
    patch: (path, body, strategy) => own.patch(`${path}?dryRun=All`, change(body), strategy),
    // With a body, the API server doesn't look at the query.
    remove: (path) => own.remove(path, { dryRun: ['All'] }),
  })

async function touch(by: Cluster, container = 'envoy', { namespace = 'shop', name = 'shop' } = {}) {
  const pod = seenPod(await admin.get<WirePod>(`${podsPath(namespace)}/${name}`), undefined, Date.now())
  const seen = pod.containers.find((one) => one.name === container)
  assert.ok(seen)
  const note: Note = {
    rollout: theRollout.metadata.uid,
    revision: 1,
    from: seen.image,
    wanted: `${container}:v2`,
    effective: undefined,
    base: seen.image,
    back: false,
    gen: pod.generation + 1,
    ids: [],
    keep: [],
    between: false,
    images: [],
    ready: false,

    at: Date.now(),
  }
  return await by.touchPod(pod, seen, note)
}

const fetchIn = (by: Cluster, namespace = 'shop') =>
  by.createPod(
    namespace,
    fetchPod(
      { ...theRollout, metadata: { ...theRollout.metadata, namespace } },
      { node: 'node', image: 'envoy:v2', pullPolicy: 'Always', pullSecrets: ['pull'], waiter: 'waiter' },
    ),
  )

/** Whether the policy refuses it; another refusal is an error. */
async function refused(attempt: () => Promise<unknown>): Promise<boolean> {
  const said = await attempt().then(
    () => 'nothing',
    (error: Error) => error.message,
  )
  if (said === 'nothing') return false
  assert.match(said, /answered 403 .*ValidatingAdmissionPolicy '\S+' .*denied request: sidecar-first-rollouts may /)
  return true
}

test('the controller does all of its work with its own rights alone', async (t) => {
  const kubelet = startFakeKubelet(api.kubeconfig('admin'))
  const controller = await startController(kubeconfigFile)
  t.after(async () => {
    await controller.stop()
    await kubelet.stop()
  })
  const items = shopPods(2, { namespace: 'live' })
  await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const command = (...args: string[]) =>
    rollout(api.kubeconfigFile('admin'), ...args, '-n', 'live', '--wait', '--timeout', '180s')
  const what = ['--selector', 'app=shop', '--container', 'envoy', '--image', 'example/envoy:2.1']
  const forth = await command('start', ...what, '--min-ready-seconds', '0', '--bake-seconds', '0')
  assert.equal(forth.code, 0, forth.out + controller.log())
  const back = await command('undo', 'shop-envoy')
  assert.equal(back.code, 0, back.out + controller.log())
  assert.deepEqual(
    items.map(({ metadata: { name } }) => kubelet.starts.get(`live/${name}/envoy`)),
    [3, 3],
  )
  assert.match(controller.log(), /fetches an image/)
  assert.doesNotMatch(controller.log(), /forbidden|denied/i)
  await until('the pods that fetched to go', 20 * SECOND, async () => {
    const { items } = await own.get<{ items: unknown[] }>(podsPath('live'))
    return items.length === 2
  })
})

test('a sidecar of either kind, a pod without annotations, and one of 200 containers', async () => {
  await touch(dry())
  await touch(dry(), 'vault')
  await fetchIn(dry())
  const env = Array.from({ length: 20 }, (_, i) => ({ name: `VARIABLE_${i}`, value: 'x'.repeat(50) }))
  const many = Array.from({ length: 199 }, (_, i) => ({ name: `sidecar-${i}`, image: 'sidecar', env }))
  const large = { metadata: { name: 'large' }, spec: { containers: [...many, { name: 'envoy', image: 'envoy:v1' }] } }
  await admin.create(podsPath('shop'), large)
  await touch(dry(), 'envoy', { name: 'large' })
})

const [PREPARE, VAULT] = ['/spec/initContainers/0', '/spec/initContainers/1']
const note = (container: string) => `/metadata/annotations/rollout.sidecar-first.dev~1${container}`
const add = (path: string, value: unknown) => ({ op: 'add', path, value })

for (const [what, ...operations] of [
  ['a label', add('/metadata/labels/more', 'x')],
  ["somebody's label", add('/metadata/labels/app', 'other')],
  ['no labels', { op: 'remove', path: '/metadata/labels' }],
  ['an annotation', add('/metadata/annotations/more', 'x')],
  [
    'an annotation called like the sidecar',
    add('/metadata/annotations/envoy', 'x'),
    { op: 'remove', path: note('envoy') },
  ],
  ["somebody's annotation", add('/metadata/annotations/team', 'b')],
  ['no such annotation', { op: 'remove', path: '/metadata/annotations/team' }],
  ['a finalizer', add('/metadata/finalizers/-', 'example.com/more')],
  ['no finalizers', { op: 'remove', path: '/metadata/finalizers' }],
  ['an owner', add('/metadata/ownerReferences', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }])],
  ['a deadline', add('/spec/activeDeadlineSeconds', 1)],
  ['a toleration', add('/spec/tolerations/-', { operator: 'Exists' })],
  ['a node selector', add('/spec/nodeSelector', { zone: 'a' })],
  ['no gate', { op: 'remove', path: '/spec/schedulingGates' }],
  ["another container's image", add('/spec/containers/1/image', 'evil')],
  ["another sidecar's image", add(`${VAULT}/image`, 'evil')],
  ["an ordinary init container's image", add(`${PREPARE}/image`, 'evil')],
  [
    'the same with a note',
    add('/spec/containers/0/image', 'envoy:v1'),
    { op: 'remove', path: note('envoy') },
    add(`${PREPARE}/image`, 'evil'),
    add(note('prepare'), ''),
  ],
  ['two sidecars, both noted', add(`${VAULT}/image`, 'evil'), add(note('vault'), '')],
  ['no note', { op: 'remove', path: note('envoy') }],
  ["another's note", { op: 'remove', path: note('envoy') }, add(note('vault'), '')],
] as const) {
  test(`of somebody's pod it may not change more than an image: ${what}`, async () => {
    assert.ok(await refused(() => touch(dry((body) => [...(body as object[]), ...operations]))))
  })
}

type Pod = ReturnType<typeof fetchPod>
/** The pod that fetches, changed: what is left out stays, and undefined takes it away. */
const metadata = (change: object) => (pod: Pod) => ({ ...pod, metadata: { ...pod.metadata, ...change } })
const spec = (change: object) => (pod: Pod) => ({ ...pod, spec: { ...pod.spec, ...change } })
const container = (change: object) => (pod: Pod) =>
  spec({ containers: pod.spec.containers.map((one) => ({ ...one, ...change })) })(pod)
const volume = (source: object) => (pod: Pod) =>
  spec({ volumes: [...pod.spec.volumes, { name: 'more', ...source }] })(pod)
const owned = (change: object) => (pod: Pod) =>
  metadata({ ownerReferences: pod.metadata.ownerReferences.map((owner) => ({ ...owner, ...change })) })(pod)

for (const [what, change] of [
  ['another name', metadata({ name: 'shop-2' })],
  ['no label', metadata({ labels: {} })],
  ['an annotation', metadata({ annotations: { 'k8s.v1.cni.cncf.io/networks': 'host' } })],
  ['a finalizer', metadata({ finalizers: ['example.com/keep'] })],
  ['no owner', metadata({ ownerReferences: undefined })],
  ['an owner of another kind', owned({ kind: 'ConfigMap' })],
  ['an owner of another group', owned({ apiVersion: 'example.com/v1' })],
  ['an owner that its label does not name', owned({ uid: 'x' })],
  ['a hostPath', volume({ hostPath: { path: '/' } })],
  ['a secret', volume({ secret: { secretName: 'x' } })],
  [
    'a token',
    (pod: Pod) => {
      const projected = { sources: [{ serviceAccountToken: { path: 'token' } }] }
      return spec({ serviceAccountName: 'default', volumes: [...pod.spec.volumes, { name: 'more', projected }] })(pod)
    },
  ],
  ['its mounted token', spec({ automountServiceAccountToken: true })],
  ['another service account', spec({ serviceAccountName: 'admin' })],
  ["the node's network", spec({ hostNetwork: true })],
  ["the node's processes", spec({ hostPID: true })],
  ["the node's IPC", spec({ hostIPC: true })],
  ['root', spec({ securityContext: { runAsUser: 0 } })],
  ['a system priority', spec({ priorityClassName: 'system-node-critical' })],
  ['no deadline', spec({ activeDeadlineSeconds: undefined })],
  ['no end', spec({ restartPolicy: 'Always' })],
  ['no node', spec({ nodeName: undefined })],
  [
    'a second container',
    (pod: Pod) => spec({ containers: [...pod.spec.containers, { ...pod.spec.containers[0], name: 'more' }] })(pod),
  ],
  ['an init container', (pod: Pod) => spec({ initContainers: [{ ...pod.spec.containers[0], name: 'more' }] })(pod)],
  ['a capability', container({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } })],
  ['root in its container', container({ securityContext: { runAsUser: 0 } })],
  ['no security context', container({ securityContext: undefined })],
  ['a command', container({ command: ['sh'] })],
  ['other arguments', container({ args: ['-c', 'id'] })],
  ["a secret's environment", container({ envFrom: [{ secretRef: { name: 'x' } }] })],
  ['a hook', container({ lifecycle: { postStart: { exec: { command: ['id'] } } } })],
  ['a port', container({ ports: [{ containerPort: 80 }] })],
] as const) {
  test(`it may create no pods but those that fetch, with ${what}`, async () => {
    assert.ok(await refused(() => fetchIn(dry((pod) => change(pod as Pod)))))
  })
}

test('of the namespaces that run the cluster, and of its own, it touches no pod', async () => {
  for (const namespace of ['kube-system', 'sidecar-first']) {
    assert.ok(await refused(() => touch(dry(), 'envoy', { namespace })), namespace)
    assert.ok(await refused(() => fetchIn(dry(), namespace)), namespace)
  }
})

test("it deletes no pod of somebody's, whatever its name or label says", async () => {
  const named = { ...shop, metadata: { name: 'sidecar-first-fetch-not' } }
  const labelled = { ...shop, metadata: { name: 'labelled', labels: { 'sidecar-first.dev/fetch': 'x' } } }
  for (const pod of [named, labelled]) {
    await admin.create(podsPath('shop'), pod)
    assert.ok(await refused(() => dry().removePod('shop', pod.metadata.name)), pod.metadata.name)
  }
})
