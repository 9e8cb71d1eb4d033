import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { PatchStrategy } from '@kubernetes/client-node'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { installKind } from '../rollouts/client/cluster-fixture.ts'
import { startController } from '../rollouts/client/controller.ts'
import { SECOND, until } from '../until.ts'
import { createPods, rolloutOf, rolloutsPath } from './envoy.ts'
import { type FakeKubelet, startFakeKubelet } from './fake-kubelet.ts'

/**
 * A checkout of version 0.1 (commit f4d68a1): its own controller touches the first pods then. Without one, notes and a status as it wrote them
 * stand in for it.
 */
const checkout = process.env.VERSION_0_1

let api: ApiServer
let calls: RawCalls
let kubelet: FakeKubelet
before(async () => {
  api = await startApiServer()
  calls = rawCalls(connection(api.kubeconfig('admin')))
  await api.kubectl(['create', 'namespace', 'sidecar-first'])
  await api.kubectl(['create', 'namespace', 'shop'])
  await api.kubectl(['apply', '--server-side', '-f', 'test/cluster-rollouts/version-0.1/crd.yaml'])
  await api.kubectl(['wait', '--for=condition=Established', 'crd/sidecarrollouts.sidecar-first.dev'])
  kubelet = startFakeKubelet(api.kubeconfig('admin'))
})
after(async () => {
  await kubelet?.stop()
  await api?.stop()
})

const PODS = 4
const path = `${rolloutsPath('shop')}/envoy`
const read = () => calls.get<SidecarRollout>(path)
const change = (strategy: object) => calls.patch(path, { spec: { strategy } }, PatchStrategy.MergePatch)
interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly annotations?: Record<string, string> }
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
  readonly status: {
    readonly phase?: string
    readonly containerStatuses: readonly {
      readonly containerID: string
      readonly imageID: string
      readonly ready: boolean
    }[]
  }
}
const pods = async () =>
  (await calls.get<{ items: Pod[] }>('/api/v1/namespaces/shop/pods')).items.filter(({ metadata }) =>
    metadata.name.startsWith('pod-'),
  )
const images = async () => (await pods()).map(({ spec }) => spec.containers[0]?.image)
const starts = () => Array.from({ length: PODS }, (_, i) => kubelet.starts.get(`shop/pod-${i}/envoy`))
const complete = (pods: number) =>
  until(`${pods} pods to be done`, 60 * SECOND, async () => {
    const { metadata, status } = await read()
    return (
      status?.phase === 'Complete' && status.observedGeneration === metadata.generation && status.updatedReady === pods
    )
  }).catch(async (error) => {
    throw new Error(JSON.stringify((await read()).status), { cause: error })
  })

test('a controller of this version takes over kind, rollout and pods of version 0.1', async () => {
  await createPods(calls, 'shop', PODS)
  await calls.create(rolloutsPath('shop'), rolloutOf({ strategy: { partition: '50%' } }))
  await (checkout === undefined ? standIn() : runOld(checkout))
  assert.deepEqual((await images()).filter((image) => image === 'envoy:v2').length, 2)
  const before = starts()

  await installKind(api)
  const controller = await startController(api.kubeconfigFile('admin'))
  try {
    await until(
      'the new controller to have taken it over',
      30 * SECOND,
      async () => (await read()).status?.revisions !== undefined,
    )
    await complete(2)
    assert.deepEqual(starts(), before, 'no pod was restarted by the new controller alone')
    assert.deepEqual((await read()).status?.origins, ['envoy:v1'])
    await change({ partition: 0 })
    await complete(PODS)
    assert.deepEqual([await images(), starts()], [Array(PODS).fill('envoy:v2'), Array(PODS).fill(2)])
    // Also those that the old one had touched know what they had.
    await change({ partition: '100%', rest: 'origin' })
    await until('all to be back', 60 * SECOND, async () => (await images()).every((image) => image === 'envoy:v1'))
    await complete(0)
    assert.deepEqual(starts(), Array(PODS).fill(3))
  } catch (error) {
    console.log(controller.log().slice(-4000))
    throw error
  } finally {
    await controller.stop()
  }
})

/** The old controller's own work: half of the pods, and its end. */
async function runOld(folder: string) {
  const args = ['src/main.ts', 'rollouts', 'run', '--metrics-port', '0', '--lease', '3s']
  const env = { ...process.env, KUBECONFIG: api.kubeconfigFile('admin') }
  const old: ChildProcess = spawn(process.execPath, args, { cwd: folder, env, stdio: 'inherit' })
  try {
    await complete(2)
  } finally {
    old.kill('SIGKILL')
    await once(old, 'exit')
  }
}

/** What the old controller leaves: notes without a generation of the pod, and a status without memory. */
async function standIn() {
  const { metadata } = await read()
  const time = new Date().toISOString().replace(/\.\d+/, '')
  for (const { metadata: pod, status } of (await pods()).slice(0, 2)) {
    const [before] = status.containerStatuses
    const note = {
      ...{ rollout: metadata.uid, generation: 1, from: 'envoy:v1', to: 'envoy:v2', back: false },
      ...{ container: before?.containerID, imageId: before?.imageID, at: new Date().toISOString() },
    }
    await calls.patch(
      `/api/v1/namespaces/shop/pods/${pod.name}`,
      {
        metadata: { annotations: { 'rollout.sidecar-first.dev/envoy': JSON.stringify(note) } },
        spec: { containers: [{ name: 'envoy', image: 'envoy:v2' }] },
      },
      PatchStrategy.StrategicMergePatch,
    )
  }
  await until('both to run again', 30 * SECOND, async () => starts().filter((count) => count === 2).length === 2)
  const condition = {
    type: 'Progressing',
    status: 'False',
    reason: 'Complete',
    message: '2 of 2 pods are done',
    lastTransitionTime: time,
  }
  const status = {
    ...{
      observedGeneration: 1,
      since: time,
      matched: 4,
      desired: 2,
      updated: 2,
      ready: 4,
      updatedReady: 2,
      inProgress: 0,
    },
    ...{ previousImages: [{ image: 'envoy:v1', pods: 2 }], phase: 'Complete', conditions: [condition] },
  }
  await calls.patch(`${path}/status`, { status }, PatchStrategy.MergePatch)
}
