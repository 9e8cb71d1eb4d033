import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { create, createNamespace, deleteNamespaces, kubectl, until } from '../../cluster/cluster.ts'
import { hasImageVolumes, mutatingPolicies } from '../../cluster/kubernetes.ts'
import { adminConfig, type Controller, prepare, startController } from './controller.ts'
import { startRegistry } from './registry.ts'
import {
  apps,
  change,
  deploy,
  envoy,
  imageOf,
  phase,
  podsOf,
  rollout,
  rolloutOf,
  type ShopPod,
  versions,
  watchPods,
} from './shop.ts'
import { type SlowLink, startSlowLink } from './slow-link.ts'

const script = join(import.meta.dirname, '../../../scripts/cluster')
const cluster = (...args: string[]) => promisify(execFile)(script, args)

const namespaces: string[] = []
async function open(name: string, labels: Record<string, string> = {}): Promise<string> {
  namespaces.push(name)
  await createNamespace(name, labels)
  return name
}
let controller: Controller
let link: SlowLink
before(async () => {
  await prepare()
  const { server, 'certificate-authority-data': ca } = (await adminConfig()).clusters[0].cluster
  link = await startSlowLink(server, Buffer.from(ca, 'base64').toString())
  controller = await startController('5s', link)
})
after(async () => {
  await controller?.stop()
  await link?.stop()
  await deleteNamespaces(...namespaces)
})

/** No request to an app has failed, at most so many sidecars were away at once, and no app was restarted. */
async function unnoticed(t: TestContext, namespace: string, mostDown: number) {
  const before = await apps(namespace)
  const watch = await watchPods(t, namespace)
  return async () => {
    const watched = await watch.end()
    assert.deepEqual(watched.failed, [])
    assert.ok(watched.mostDown <= mostDown, `${watched.mostDown} sidecars were away at once`)
    const names = new Set(before.map(([name]) => name))
    assert.deepEqual(
      (await apps(namespace)).filter(([name]) => names.has(name)),
      before,
    )
    t.diagnostic(`${watched.requests} requests to the apps, none failed; ${watched.mostDown} sidecars away at once`)
  }
}

const imagesOf = async (namespace: string) =>
  (await podsOf(namespace)).map(({ spec }) => spec.containers.find(({ name }) => name === 'envoy')?.image)

/** SIGKILL for a container's processes. */
function kill({ metadata, status }: ShopPod, container: string) {
  const id = status.containerStatuses?.find(({ name }) => name === container)?.containerID?.replace('containerd://', '')
  assert.ok(id, `${container} of ${metadata.name} runs`)
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && cgroupOf(name).includes(id))
  assert.ok(pids.length > 0, `processes of ${id}`)
  for (const pid of pids) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {} // it has ended with another one
  }
}
function cgroupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8')
  } catch {
    return '' // it has ended meanwhile
  }
}

describe('the bad day', { concurrency: true }, () => {
  test('a policy that rewrites images on UPDATE: one away at a time, done, a bad image reported and undone', async (t) => {
    const namespace = await open('rollout-mirror', { 'rollout-test': 'mirror' })
    await deploy(namespace, { replicas: 3 })
    await rewriteOnUpdate(namespace)
    const end = await unnoticed(t, namespace, 1)
    await rollout(namespace)
    const done = await phase(namespace, ['Complete', 'Stopped'])
    assert.deepEqual([done.phase, done.updatedReady], ['Complete', 3])
    const mirrored = Array(3).fill('docker.io/mirror/test-rollout:v2')
    assert.deepEqual(await imagesOf(namespace), mirrored)
    await change(namespace, { image: imageOf('v3') })
    const { failure } = await phase(namespace, ['Stopped', 'Complete'])
    assert.equal(failure?.reason, 'HookFailed')
    await change(namespace, { strategy: { partition: '100%' } })
    await phase(namespace, ['Complete'])
    assert.deepEqual(await imagesOf(namespace), mirrored)
    await end()
  })

  test('a sidecar that is killed after Complete stops nothing, and a new pod gets the image', async (t) => {
    const namespace = await open('rollout-sigkill')
    await deploy(namespace, { replicas: 2 })
    const end = await unnoticed(t, namespace, 1)
    await rollout(namespace, { strategy: { onFailure: 'rollback' } })
    await phase(namespace, ['Complete'])
    const [pod] = await podsOf(namespace)
    assert.ok(pod)
    kill(pod, 'envoy')
    await until('the sidecar to be back', async () => {
      const found = (await podsOf(namespace))[0]?.status.containerStatuses?.find(({ name }) => name === 'envoy')
      return found?.restartCount === 2 && found.ready ? true : undefined
    })
    await end()
    await kubectl('scale', '-n', namespace, 'deploy/shop', '--replicas=3')
    const { failure } = await until('the new pod to be done', async () => {
      const { status } = await rolloutOf(namespace)
      return status?.phase === 'Complete' && status.updatedReady === 3 ? status : undefined
    })
    assert.equal(failure, undefined)
    assert.deepEqual(await versions(namespace), { v2: 3 })
  })

  test("a newer release's image is left alone, and named", async (t) => {
    const namespace = await open('rollout-release')
    await deploy(namespace, { replicas: 2 })
    await rollout(namespace)
    await phase(namespace, ['Complete'])
    await kubectl('set', 'image', '-n', namespace, 'deploy/shop', 'envoy=docker.io/mirror/test-rollout:v1')
    await kubectl('rollout', 'status', '-n', namespace, 'deploy/shop', '--timeout=180s')
    await until('the old pods to be gone', async () => ((await podsOf(namespace)).length === 2 ? true : undefined))
    const end = await unnoticed(t, namespace, 0)
    const named = await until('it to be named', async () => {
      const { status } = await rolloutOf(namespace)
      return status?.superseded === 2 ? status.conditions.find(({ type }) => type === 'Superseded') : undefined
    })
    assert.equal(named.status, 'True')
    await sleep(3000)
    assert.deepEqual(await imagesOf(namespace), Array(2).fill('docker.io/mirror/test-rollout:v1'))
    await end()
  })

  test('v1, v2 complete, v3 failed: all on v2, new pods too; v2 again and undone is one image', async (t) => {
    const namespace = await open('rollout-memory')
    await deploy(namespace, { replicas: 2 })
    const end = await unnoticed(t, namespace, 1)
    await rollout(namespace, { strategy: { onFailure: 'rollback' } })
    await phase(namespace, ['Complete'])
    await change(namespace, { image: imageOf('v3') })
    assert.equal((await phase(namespace, ['RolledBack', 'Stopped', 'Complete'])).phase, 'RolledBack')
    assert.deepEqual(await versions(namespace), { v2: 2 })
    await kubectl('scale', '-n', namespace, 'deploy/shop', '--replicas=3')
    await until('the new pod on v2', async () => ((await versions(namespace)).v2 === 3 ? true : undefined))
    await change(namespace, { image: imageOf('v2') })
    await phase(namespace, ['Complete'])
    await change(namespace, { strategy: { partition: '100%' } })
    await phase(namespace, ['Complete'])
    assert.deepEqual(await versions(namespace), { v1: 3 })
    await end()
  })

  test('the runtime calls the image by another tag, and kubectl debug changes the pods: it ends', async (t) => {
    const namespace = await open('rollout-alias')
    await deploy(namespace, { name: 'probe', replicas: 1, sidecars: [envoy('envoy', 15021, 'v2-again')] })
    const reported = async (app: string) =>
      (await podsOf(namespace, app)).map(
        ({ status }) => status.containerStatuses?.find(({ name }) => name === 'envoy')?.image,
      )
    // Of an image with two names the runtime always reports one.
    const version = (await reported('probe'))[0] === imageOf('v2') ? 'v2-again' : 'v2'
    await deploy(namespace, { replicas: 2, sidecars: [envoy('envoy', 15021, version)] })
    const end = await unnoticed(t, namespace, 1)
    await debug(namespace)
    await rollout(namespace, { image: version })
    const born = await phase(namespace, ['Complete', 'Stopped'])
    assert.deepEqual([born.phase, born.updatedReady], ['Complete', 2])
    await change(namespace, { image: imageOf('v1') })
    await phase(namespace, ['Complete'])
    await change(namespace, { image: imageOf(version) })
    await until('a pod to be touched', async () => ((await versions(namespace))[version] ? true : undefined))
    await debug(namespace)
    const done = await phase(namespace, ['Complete', 'Stopped'])
    assert.deepEqual([done.phase, done.updatedReady], ['Complete', 2])
    assert.ok(!(await reported('shop')).includes(imageOf(version)), `reported as ${await reported('shop')}`)
    await end()
  })

  // Where no image can be fetched first, it is the pod that waits, without its sidecar.
  const becomes = hasImageVolumes ? 'puts nothing back' : 'has one pod touched, and put back'
  test(`a registry that asks for patience for longer than the deadline ${becomes}`, async (t) => {
    const namespace = await open('rollout-429')
    // No other test has it: what a kubelet has pulled once it pulls again for whoever has it by another name (KEP-2535).
    const registry = await startRegistry('v5')
    t.after(() => registry.stop())
    await deploy(namespace, { replicas: 2 })
    const end = await unnoticed(t, namespace, 1)
    registry.overloaded = true
    await rollout(namespace, {
      image: registry.image,
      strategy: { progressDeadlineSeconds: 6, onFailure: 'rollback' },
    })
    if (!hasImageVolumes) {
      assert.equal((await phase(namespace, ['Complete', 'RolledBack'])).phase, 'RolledBack')
      assert.deepEqual(await versions(namespace), { v1: 2 })
      return await end()
    }
    const fetched = async () =>
      (await rolloutOf(namespace)).status?.conditions.find(({ type }) => type === 'ImageFetched')
    const waits = await until('the condition', fetched)
    assert.deepEqual([waits.status, waits.reason], ['False', 'PullFails'])
    await sleep(18_000)
    assert.equal((await rolloutOf(namespace)).status?.failure, undefined)
    registry.overloaded = false
    assert.equal((await phase(namespace, ['Complete', 'RolledBack'])).phase, 'Complete')
    assert.deepEqual(await imagesOf(namespace), Array(2).fill(registry.image))
    t.diagnostic(`${registry.refused} requests were answered with 429`)
    await end()
  })
})

/** A container for debugging in each pod, which changes the generation of its spec. */
async function debug(namespace: string) {
  for (const { metadata } of await podsOf(namespace)) {
    const image = ['--image=docker.io/sidecar-first/test-sidecar:1', '--image-pull-policy=Never', '--profile=general']
    await kubectl('debug', '-n', namespace, `pod/${metadata.name}`, ...image)
  }
}

test('paused in mid-batch: no more pods are touched than were under way', async (t) => {
  const namespace = await open('rollout-batch')
  await deploy(namespace, { replicas: 6 })
  const end = await unnoticed(t, namespace, 6)
  link.delay = 1200
  await rollout(namespace, { strategy: { maxUnavailable: 6 } })
  const touched = async () => (await versions(namespace)).v2 ?? 0
  await until('a pod to be touched', async () => ((await touched()) > 0 ? true : undefined))
  await change(namespace, { strategy: { paused: true } })
  const stored = await touched()
  await phase(namespace, ['Paused'])
  await sleep(2000)
  assert.ok((await touched()) <= stored + 1 && stored < 5, `${await touched()} touched, ${stored} when it was stored`)
  link.delay = 0
  await change(namespace, { strategy: { paused: false } })
  await phase(namespace, ['Complete'])
  await end()
})

// The whole node stands still, so nothing else runs beside it.
test('a kubelet that freezes for longer than the deadline, before and after it has seen the touch: nothing is rolled back', async (t) => {
  const namespace = await open('rollout-frozen')
  await deploy(namespace, { replicas: 2 })
  const end = await unnoticed(t, namespace, 1)
  t.after(() => cluster('thaw', 'kubelet'))
  await rollout(namespace, { strategy: { partition: 1, progressDeadlineSeconds: 6, onFailure: 'rollback' } })
  await until('a pod to be touched', async () => ((await versions(namespace)).v2 === 1 ? true : undefined))
  await cluster('freeze', 'kubelet')
  await sleep(15_000)
  assert.equal((await rolloutOf(namespace)).status?.failure, undefined)
  await cluster('thaw', 'kubelet')
  assert.equal((await phase(namespace, ['Complete', 'RolledBack'])).phase, 'Complete')
  await cluster('freeze', 'kubelet')
  await change(namespace, { strategy: { partition: 0 } })
  const silent = await until('the other pod to be silent', async () => {
    const { status } = await rolloutOf(namespace)
    return status?.silent === 1 ? status : undefined
  })
  await sleep(8000)
  assert.deepEqual([silent.phase, (await rolloutOf(namespace)).status?.failure], ['Progressing', undefined])
  await cluster('thaw', 'kubelet')
  const done = await phase(namespace, ['Complete', 'RolledBack'])
  assert.deepEqual([done.phase, done.failure, done.updatedReady], ['Complete', undefined, 2])
  await end()
})

test('an image that changes twice before the kubelet acts, where nothing can be fetched ahead: one away at a time', async (t) => {
  const namespace = await open('rollout-twice')
  await deploy(namespace, { replicas: 3 })
  const hard = { pods: '3' }
  await create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'full', namespace }, spec: { hard } })
  await until('the quota to count', async () => {
    const quota = JSON.parse(await kubectl('get', 'resourcequota', '-n', namespace, 'full', '-o', 'json'))
    return quota.status?.used?.pods === '3' || undefined
  })
  const end = await unnoticed(t, namespace, 1)
  t.after(() => cluster('thaw', 'kubelet'))
  await cluster('freeze', 'kubelet')
  await rollout(namespace)
  await until('a pod to be touched', async () => ((await versions(namespace)).v2 === 1 ? true : undefined))
  for (const version of ['v2-again', 'v2']) {
    await change(namespace, { image: imageOf(version) })
    await until('it to be taken up', async () => {
      const { metadata, status } = await rolloutOf(namespace)
      return status?.observedGeneration === metadata.generation || undefined
    })
    await sleep(2000)
  }
  assert.equal((await versions(namespace)).v1, 2, 'pods that nobody has touched')
  await cluster('thaw', 'kubelet')
  const done = await phase(namespace, ['Complete', 'Stopped'])
  assert.deepEqual([done.phase, done.updatedReady], ['Complete', 3])
  assert.deepEqual(await versions(namespace), { v2: 3 })
  await end()
})

/** A policy that has each changed pod take its image from a mirror. */
async function rewriteOnUpdate(namespace: string) {
  const { apiVersion } = mutatingPolicies
  const metadata = { name: `${namespace}.example` }
  await kubectl(
    'delete',
    'mutatingadmissionpolicies,mutatingadmissionpolicybindings',
    metadata.name,
    '--ignore-not-found',
  )
  const expression = `Object{spec: Object.spec{containers: object.spec.containers.filter(c, c.name == "envoy").map(c,
    Object.spec.containers{name: c.name, image: c.image.replace("docker.io/sidecar-first/", "docker.io/mirror/")})}}`
  await create(
    {
      apiVersion,
      kind: 'MutatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'rollout-test': 'mirror' } },
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['pods'] }],
        },
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
      },
    },
    { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata, spec: { policyName: metadata.name } },
  )
  const [pod] = await podsOf(namespace)
  await until('the policy to be in force', async () => {
    const set = ['set', 'image', '-n', namespace, `pod/${pod?.metadata.name}`, `envoy=${imageOf('v2')}`]
    const changed = await kubectl(...set, '--dry-run=server', '-o', 'json')
    return changed.includes('docker.io/mirror/test-rollout:v2') ? true : undefined
  })
}
