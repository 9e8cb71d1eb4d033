import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PatchStrategy } from '@kubernetes/client-node'
import { run } from '../../rollouts/controller/run.ts'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { mutatingPolicies } from '../cluster/kubernetes.ts'
import { installKind } from '../rollouts/client/cluster-fixture.ts'
import { SECOND, until } from '../until.ts'
import { createPod, type RolloutChoice, rolloutOf, rolloutsPath, running } from './envoy.ts'
import { type FakeKubelet, startFakeKubelet } from './fake-kubelet.ts'

let api: ApiServer
let calls: RawCalls
let kubelet: FakeKubelet
let metrics: () => Promise<string>
let ended: Promise<void> | undefined
const stop = new AbortController()
before(async () => {
  api = await startApiServer(mutatingPolicies.flags)
  calls = rawCalls(connection(api.kubeconfig('admin')))
  await api.kubectl(['create', 'namespace', 'sidecar-first'])
  await installKind(api)
  kubelet = startFakeKubelet(api.kubeconfig('admin'), { behind: -30_000, ahead: 30_000 })
  const port = Promise.withResolvers<number>()
  const info = (fields: object) => void ('port' in fields && port.resolve(Number(fields.port)))
  ended = run({
    kubeconfig: api.kubeconfig('admin'),
    namespace: 'sidecar-first',
    lease: 3000,
    resync: 60_000,
    waiter: 'waiter',
    log: { info, warn() {} },
    signal: stop.signal,
    metricsPort: 0,
  })
  metrics = async () => await (await fetch(`http://127.0.0.1:${await port.promise}/metrics`)).text()
})
after(async () => {
  stop.abort()
  await ended
  await kubelet?.stop()
  await api?.stop()
})

const read = (namespace: string, name = 'envoy') => calls.get<SidecarRollout>(`${rolloutsPath(namespace)}/${name}`)
const change = (namespace: string, strategy: object, image?: string) =>
  calls.patch(
    `${rolloutsPath(namespace)}/envoy`,
    { spec: { strategy, ...(image && { image }) } },
    PatchStrategy.MergePatch,
  )

const removePod = (namespace: string, name: string) =>
  calls.remove(`/api/v1/namespaces/${namespace}/pods/${name}`, { gracePeriodSeconds: 0 })

const createRollout = (namespace: string, choice: RolloutChoice = {}) =>
  calls.create(rolloutsPath(namespace), rolloutOf(choice))

/** Pods that run, and a rollout of them. */
async function begin(namespace: string, pods: number, choice: RolloutChoice = {}) {
  await api.kubectl(['create', 'namespace', namespace])
  for (let i = 0; i < pods; i++) await createPod(calls, namespace, `pod-${i}`)
  await running(calls, namespace, pods)
  await createRollout(namespace, choice)
}
/** What somebody sees who reads the rollout once it is like that: the conditions that kstatus reads, and why. */
async function seen(namespace: string, is: (rollout: SidecarRollout) => boolean, name = 'envoy') {
  const found = await until(`${namespace} to be so`, 30 * SECOND, async () => {
    const rollout = await read(namespace, name)
    return rollout.status?.observedGeneration === rollout.metadata.generation && is(rollout) ? rollout : false
  }).catch(async (error) => {
    throw new Error(JSON.stringify((await read(namespace, name)).status), { cause: error })
  })
  const condition = (type: string) => found.status?.conditions.find((one) => one.type === type)
  return {
    status: found.status,
    condition,
    kstatus: ['Ready', 'Reconciling', 'Stalled'].map((type) => `${condition(type)?.status}/${condition(type)?.reason}`),
  }
}
const inPhase = (phase: string) => (rollout: SidecarRollout) => rollout.status?.phase === phase

describe('the life of a rollout on a real API server', { concurrency: true }, () => {
  test('complete, then unneeded once every pod was born with the image; deleted after its time, and not before', async () => {
    await begin('life-ttl', 2, { ttlSecondsAfterUnneeded: 4 })
    const { kstatus, condition } = await seen('life-ttl', inPhase('Complete'))
    assert.deepEqual(kstatus, ['True/Complete', 'False/Complete', 'False/Complete'])
    assert.equal(condition('Unneeded')?.status, 'False')
    for (const name of ['pod-0', 'pod-1']) {
      await removePod('life-ttl', name)
      await createPod(calls, 'life-ttl', `${name}-new`, { image: 'envoy:v2' })
    }
    const unneeded = await seen('life-ttl', ({ status }) =>
      (status?.conditions ?? []).some(({ type, status: is }) => type === 'Unneeded' && is === 'True'),
    )
    const since = Date.parse(unneeded.condition('Unneeded')?.lastTransitionTime ?? '')
    const gone = () =>
      read('life-ttl').then(
        () => false,
        () => true,
      )
    await until('it to be deleted', 20 * SECOND, gone)
    assert.ok(Date.now() - since >= 4000)
    const { items } = await calls.get<{ items: object[] }>('/api/v1/namespaces/life-ttl/pods')
    assert.equal(items.length, 2)
  })

  test('a failure, a pause during it, another try, and the way back: each is to be told from the others', async () => {
    await begin('life-failure', 2, { image: 'envoy:broken' })
    const failed = await seen('life-failure', inPhase('Stopped'))
    assert.deepEqual(failed.kstatus, ['False/Stopped', 'False/Stopped', `True/${failed.status?.failure?.reason}`])
    assert.match(failed.condition('Stalled')?.message ?? '', /pod pod-\d on node node-0: .*was not ready after/)
    await change('life-failure', { paused: true })
    const paused = await seen('life-failure', inPhase('Paused'))
    assert.deepEqual(paused.kstatus, ['False/Paused', 'False/Paused', 'True/Paused'])
    await change('life-failure', { paused: false, partition: '100%' })
    const back = await seen('life-failure', inPhase('Complete'))
    assert.deepEqual(back.kstatus, ['True/Complete', 'False/Complete', 'False/Complete'])
    await change('life-failure', { partition: 0, onFailure: 'rollback' })
    const rolledBack = await seen('life-failure', inPhase('RolledBack'))
    assert.deepEqual(rolledBack.kstatus.slice(0, 2), ['False/RolledBack', 'False/RolledBack'])
    assert.equal(rolledBack.condition('Stalled')?.status, 'True')
    assert.equal(rolledBack.condition('Failed')?.status, 'True')
  })

  test('another rollout that claims the pods: stalled until it is gone', async () => {
    await begin('life-claim', 1, { strategy: { paused: true } })
    await seen('life-claim', inPhase('Paused'))
    await new Promise((resolve) => setTimeout(resolve, 1100)) // ages are whole seconds
    await createRollout('life-claim', { name: 'younger' })
    const { kstatus } = await seen('life-claim', inPhase('Waiting'), 'younger')
    assert.deepEqual(kstatus, ['False/Waiting', 'False/Waiting', 'True/Waiting'])
    await calls.remove(`${rolloutsPath('life-claim')}/envoy`)
    await seen('life-claim', inPhase('Complete'), 'younger')
  })

  test('a policy that puts the old image back: stalled, by name and in the metrics; a newer image is counted apart', async () => {
    await api.kubectl(['create', 'namespace', 'life-refused'])
    await putBack('life-refused')
    for (const name of ['pod-0', 'pod-1']) await createPod(calls, 'life-refused', name)
    await running(calls, 'life-refused', 2)
    await createRollout('life-refused')
    const { kstatus, condition, status } = await seen('life-refused', inPhase('Stopped'))
    assert.deepEqual(kstatus, ['False/Refused', 'False/Refused', 'True/Refused'])
    assert.match(condition('Refused')?.message ?? '', /pod-0, pod-1/)
    assert.equal(status?.refused, 2)
    await createPod(calls, 'life-refused', 'pod-2', { image: 'envoy:v9' })
    await seen('life-refused', (one) => one.status?.superseded === 1)
    const text = await metrics()
    const pods = (state: string) =>
      new RegExp(
        `^sidecar_first_rollout_pods\\{namespace="life-refused",rollout="envoy",state="${state}"\\} (.*)$`,
        'm',
      ).exec(text)?.[1]
    assert.deepEqual(['refused', 'superseded', 'silent', 'done'].map(pods), ['2', '1', '0', '0'])
    assert.match(text, /^sidecar_first_rollout_phase\{namespace="life-refused",rollout="envoy",phase="Stopped"\} 1$/m)
    assert.match(text, /^sidecar_first_rollouts_step_seconds_count\{step="touch"\} [1-9]/m)
    assert.match(text, /^sidecar_first_rollouts_queue_age_seconds [\d.]+$/m)
    assert.match(text, /^sidecar_first_rollouts_watched_objects [1-9]/m)
    assert.match(text, /^process_resident_memory_bytes [1-9]/m)
  })

  test('a policy that denies the change of some pods: the others have it, and these are named with its words', async () => {
    const namespace = 'life-denied'
    await api.kubectl(['create', 'namespace', namespace])
    await deny(namespace, [
      { pod: 'pod-0', message: 'not this one' },
      { pod: 'pod-1', message: 'nor this one', reason: 'Forbidden' },
    ])
    for (const name of ['pod-0', 'pod-1', 'pod-2', 'pod-3']) await createPod(calls, namespace, name)
    await running(calls, namespace, 4)
    await createRollout(namespace)
    const { kstatus, condition, status } = await seen(namespace, inPhase('Stopped'))
    assert.deepEqual(kstatus, ['False/Refused', 'False/Refused', 'True/Refused'])
    assert.deepEqual([status?.updatedReady, status?.refused], [2, 2])
    assert.match(condition('Refused')?.message ?? '', /pod-0 \(.*not this one.*\), pod-1 \(.*nor this one/)
  })

  test('clocks of nodes 30 s behind and ahead, and one image under both names: no pod is late', async () => {
    const namespace = 'life-clocks'
    await api.kubectl(['create', 'namespace', namespace])
    for (const node of ['behind', 'ahead']) await createPod(calls, namespace, node, { node })
    await running(calls, namespace, 2)
    const strategy = { progressDeadlineSeconds: 20, onFailure: 'rollback' } as const
    await createRollout(namespace, { image: 'envoy:v1-again', strategy })
    const { status } = await seen(
      namespace,
      ({ status }) => status?.phase === 'Complete' || status?.failure !== undefined,
    )
    assert.deepEqual([status?.phase, status?.failure, status?.updatedReady], ['Complete', undefined, 2])
  })

  test('a template with the old image is named, and no longer once the release is there', async () => {
    const namespace = 'life-template'
    await api.kubectl(['create', 'namespace', namespace])
    const deployment = await createOwner(namespace, 'deployments', 'Deployment', 'shop', 'envoy:v1')
    const old = await createOwner(namespace, 'replicasets', 'ReplicaSet', 'shop-1', 'envoy:v1', deployment)
    await createPod(calls, namespace, 'pod-0', { owner: old })
    await running(calls, namespace, 1)
    await createRollout(namespace)
    const behind = (status: SidecarRollout['status']) =>
      status?.conditions.find(({ type }) => type === 'TemplateBehind')
    const { condition } = await seen(namespace, ({ status }) => behind(status) !== undefined)
    assert.match(condition('TemplateBehind')?.message ?? '', /Deployment shop/)
    // The app's next release.
    await calls.patch(
      `/apis/apps/v1/namespaces/${namespace}/deployments/shop`,
      { spec: { template: templateOf('envoy:v2') } },
      PatchStrategy.MergePatch,
    )
    const fresh = await createOwner(namespace, 'replicasets', 'ReplicaSet', 'shop-2', 'envoy:v2', deployment)
    await createPod(calls, namespace, 'pod-1', { image: 'envoy:v2', owner: fresh })
    await removePod(namespace, 'pod-0')
    await seen(namespace, ({ status }) => status?.matched === 1 && behind(status) === undefined)
  })
})

const templateOf = (image: string) => ({
  metadata: { labels: { app: 'shop' } },
  spec: { containers: [{ name: 'envoy', image }] },
})

async function createOwner(
  namespace: string,
  plural: string,
  kind: string,
  name: string,
  image: string,
  owner?: object,
) {
  const { metadata } = await calls.create<{ metadata: { uid: string } }>(
    `/apis/apps/v1/namespaces/${namespace}/${plural}`,
    {
      metadata: { name, ...(owner && { ownerReferences: [owner] }) },
      spec: { selector: { matchLabels: { app: 'shop' } }, template: templateOf(image) },
    },
  )
  return { apiVersion: 'apps/v1', kind, name, uid: metadata.uid, controller: true }
}

/** A policy that denies changes of these pods' images. */
async function deny(namespace: string, pods: readonly { pod: string; message: string; reason?: string }[]) {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: `${namespace}.example` }
  const validations = [{ pod: 'probe', message: 'it is in force' }, ...pods].map(({ pod, ...said }) => ({
    expression: `object.metadata.name != '${pod}' || object.spec.containers[0].image == oldObject.spec.containers[0].image`,
    ...said,
  }))
  const matchConstraints = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] }],
  }
  const binding = { policyName: metadata.name, validationActions: ['Deny'] }
  const items = [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec: { matchConstraints, validations } },
    { apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata, spec: binding },
  ]
  await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await createPod(calls, namespace, 'probe')
  await until('the policy to be in force', 30 * SECOND, async () => {
    const change = ['set', 'image', '-n', namespace, 'pod/probe', 'envoy=envoy:v2', '--dry-run=server']
    return await api.kubectl(change).then(
      () => false,
      (error) => /it is in force/.test(String(error)),
    )
  })
  await removePod(namespace, 'probe')
}

/** A policy that gives each changed pod its old image back. */
async function putBack(namespace: string) {
  const { apiVersion } = mutatingPolicies
  const metadata = { name: `${namespace}.example` }
  const expression = `Object{spec: Object.spec{containers: oldObject.spec.containers.map(c,
    Object.spec.containers{name: c.name, image: c.image})}}`
  const matchConstraints = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] }],
  }
  const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }]
  const items = [
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: { failurePolicy: 'Fail', reinvocationPolicy: 'Never', matchConstraints, mutations },
    },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: metadata.name } },
  ]
  await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  await createPod(calls, namespace, 'probe')
  await until('the policy to be in force', 30 * SECOND, async () => {
    const changed = await api.kubectl([
      'set',
      'image',
      '-n',
      namespace,
      'pod/probe',
      'envoy=envoy:v2',
      '--dry-run=server',
      '-o',
      'json',
    ])
    return !changed.includes('"envoy:v2"')
  })
  await removePod(namespace, 'probe')
}
