import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { fetchPod } from '../../../rollouts/controller/fetch.ts'
import { createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from '../../cluster/cluster.ts'
import { hasImageVolumes } from '../../cluster/kubernetes.ts'
import { type Controller, prepare, startController } from './controller.ts'
import { apps, change, deploy, envoy, imageOf, phase, podsOf, rollout, rolloutOf, versions, watchPods } from './shop.ts'

let controller: Controller
const namespaces: string[] = []
async function open(name: string): Promise<string> {
  namespaces.push(name)
  await createNamespace(name)
  return name
}
before(async () => {
  await prepare()
  controller = await startController('5s')
})
after(async () => {
  await controller?.stop()
  await deleteNamespaces(...namespaces)
})
const fetchPods = async (namespace: string) =>
  (await kubectl('get', 'pods', '-n', namespace, '-l', 'sidecar-first.dev/fetch', '-o', 'name')).trim()

describe('sidecars upgraded in place', { concurrency: true }, () => {
  describe('a Deployment of 8 pods, from v1 to v2', { concurrency: 1 }, () => {
    let namespace: string
    before(async () => {
      namespace = await open('rollout-upgrade')
      await deploy(namespace, { replicas: 8 })
    })

    test('goes in shares; the apps go on and no client notices; one sidecar is away at a time', async (t) => {
      const before = await apps(namespace)
      const watch = await watchPods(t, namespace)
      await rollout(namespace, { strategy: { partition: '75%' } })
      const first = await phase(namespace, ['Complete', 'Stopped'])
      assert.deepEqual([first.phase, first.matched, first.updatedReady], ['Complete', 8, 2], JSON.stringify(first))
      assert.deepEqual(await versions(namespace), { v1: 6, v2: 2 })
      assert.deepEqual(first.previousImages, [{ image: imageOf('v1'), pods: 2 }])
      await change(namespace, { strategy: { partition: '50%' } })
      assert.equal((await phase(namespace, ['Complete', 'Stopped'])).updatedReady, 4)
      const one = await watch.end()
      const rest = await watchPods(t, namespace)
      await change(namespace, { strategy: { partition: 0, maxUnavailable: 2 } })
      assert.equal((await phase(namespace, ['Complete', 'Stopped'])).updatedReady, 8)
      const two = await rest.end()
      assert.deepEqual(await versions(namespace), { v2: 8 })
      assert.deepEqual(await apps(namespace), before)
      assert.ok(before.every(([, restarts]) => restarts === 0))
      assert.deepEqual([one.failed, one.mostDown], [[], 1])
      // A node that can't fetch ahead has one pod touched at a time.
      assert.deepEqual([two.failed, two.mostDown], [[], hasImageVolumes ? 2 : 1])
      assert.equal(
        await until('the pods that fetched to go', async () => ((await fetchPods(namespace)) === '' ? '' : undefined)),
        '',
      )
      console.log(`${one.requests + two.requests} requests to the apps, none failed`)
    })

    test('a raised partition takes them back', async (t) => {
      const watch = await watchPods(t, namespace)
      await change(namespace, { strategy: { partition: '50%', maxUnavailable: 2 } })
      await phase(namespace, ['Complete', 'Stopped'])
      assert.deepEqual(await versions(namespace), { v1: 4, v2: 4 })
      const { failed, mostDown } = await watch.end()
      assert.deepEqual([failed, mostDown <= 2], [[], true])
    })

    test('pods that appear get what their share says, and a rollout that is complete stays so', async () => {
      await change(namespace, { strategy: { partition: 0, maxUnavailable: 2 } })
      await phase(namespace, ['Complete'])
      await kubectl('scale', '-n', namespace, 'deploy/shop', '--replicas=10')
      await kubectl('delete', 'pod', '-n', namespace, (await podsOf(namespace))[0]?.metadata.name ?? '')
      await until('all ten on v2', async () => ((await versions(namespace)).v2 === 10 ? true : undefined))
      await kubectl('rollout', 'status', '-n', namespace, 'deploy/shop', '--timeout=180s')
      const status = await until('all ten done', async () => {
        const { status } = await rolloutOf(namespace)
        return status?.updatedReady === 10 && status.phase === 'Complete' ? status : undefined
      })
      assert.equal(status.inProgress, 0)
    })

    test('a client reads it all from the metrics and the events', async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${await controller.metricsPort}/metrics`)).text()
      assert.match(metrics, /sidecar_first_rollout_pods\{namespace="rollout-upgrade",rollout="envoy",state="done"\} 10/)
      const [, away = '0'] = /^sidecar_first_rollout_away_seconds_count (\d+)/m.exec(metrics) ?? []
      assert.ok(Number(away) >= 8, metrics)
      const events = await kubectl('get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].reason}')
      assert.match(events, /Complete/)
    })
  })

  describe('an image that does not work', () => {
    test('v3 never gets ready: pause stops at the first pod, and the partition takes it back', async (t) => {
      const namespace = await open('rollout-pause')
      await deploy(namespace, { replicas: 4 })
      const before = await apps(namespace)
      const watch = await watchPods(t, namespace)
      await rollout(namespace, { image: 'v3' })
      const { failure, ...status } = await phase(namespace, ['Stopped', 'Complete'])
      assert.equal(failure?.reason, 'HookFailed')
      assert.match(failure?.message ?? '', /envoy .* was not ready after [\d.]+s, tried \d+ times: answered 503/)
      assert.deepEqual([status.updated, status.updatedReady], [1, 0])
      assert.deepEqual(await versions(namespace), { v1: 3, v3: 1 })
      const [touched] = (await podsOf(namespace)).filter(({ spec }) => spec.containers[0]?.image === imageOf('v3'))
      assert.equal(failure?.pod, touched?.metadata.name)
      await change(namespace, { strategy: { partition: '100%' } })
      await phase(namespace, ['Complete'])
      assert.deepEqual(await versions(namespace), { v1: 4 })
      const { failed, mostDown } = await watch.end()
      assert.deepEqual([failed, mostDown], [[], 1])
      assert.deepEqual(await apps(namespace), before)
    })

    test('v3 with rollback: every pod has its image back', async (t) => {
      const namespace = await open('rollout-back')
      await deploy(namespace, { replicas: 4 })
      await rollout(namespace, { strategy: { maxUnavailable: 2 } })
      await phase(namespace, ['Complete'])
      const watch = await watchPods(t, namespace)
      await change(namespace, { image: imageOf('v3'), strategy: { onFailure: 'rollback' } })
      const status = await phase(namespace, ['RolledBack', 'Complete', 'Stopped'])
      assert.deepEqual([status.phase, status.failure?.reason], ['RolledBack', 'HookFailed'])
      assert.deepEqual(await versions(namespace), { v2: 4 })
      assert.equal(
        await until('all ready', async () => ((await rolloutOf(namespace)).status?.ready === 4 ? 4 : undefined)),
        4,
      )
      const { failed, mostDown } = await watch.end()
      assert.deepEqual([failed, mostDown <= 2], [[], true])
    })

    const skip = hasImageVolumes ? false : 'what is not fetched first is found out by touching a pod'
    test("v4 can't be pulled: no pod is touched", { skip }, async () => {
      const namespace = await open('rollout-missing')
      await deploy(namespace, { replicas: 2 })
      const generations = async () => (await podsOf(namespace)).map(({ metadata }) => metadata.generation)
      const before = await generations()
      await rollout(namespace, { image: 'v4' })
      const { phase: at, failure, updated } = await phase(namespace, ['Stopped', 'Complete'])
      assert.deepEqual([at, failure?.reason, failure?.pod, updated], ['Stopped', 'ImageUnavailable', undefined, 0])
      assert.match(failure?.message ?? '', /test-rollout:v4/)
      assert.deepEqual(await generations(), before)
      assert.equal(
        await until('the pod that fetched to go', async () => ((await fetchPods(namespace)) === '' ? '' : undefined)),
        '',
      )
    })
  })

  describe('tiers and native sidecars', () => {
    for (const gate of ['hook', 'native']) {
      test(`${gate}: either of two tiers is upgraded, and the app goes on`, async (t) => {
        const namespace = await open(`rollout-tiers-${gate}`)
        const sidecars = [envoy('vault', 15022), envoy()]
        await deploy(namespace, { replicas: 3, sidecars, annotations: { 'sidecar-first.dev/gate': gate } })
        const before = await apps(namespace)
        const watch = await watchPods(t, namespace)
        await rollout(namespace, { name: 'envoy' })
        await rollout(namespace, { name: 'vault', container: 'vault' })
        assert.equal((await phase(namespace, ['Complete', 'Stopped'])).updatedReady, 3)
        assert.equal((await phase(namespace, ['Complete', 'Stopped'], 'vault')).updatedReady, 3)
        assert.deepEqual([await versions(namespace), await versions(namespace, 'vault')], [{ v2: 3 }, { v2: 3 }])
        const { failed, mostDown } = await watch.end()
        assert.deepEqual([failed, mostDown], [[], 1])
        assert.deepEqual(await apps(namespace), before)
      })
    }
  })

  describe('others', () => {
    test('of two rollouts for one container the younger waits until the older is gone', async () => {
      const namespace = await open('rollout-rivals')
      await deploy(namespace, { replicas: 2 })
      await rollout(namespace, { strategy: { paused: true } })
      await phase(namespace, ['Paused'])
      await new Promise((resolve) => setTimeout(resolve, 1100)) // ages are whole seconds
      await rollout(namespace, { name: 'younger' })
      const { conditions } = await phase(namespace, ['Waiting'], 'younger')
      assert.match(
        conditions.find(({ type }) => type === 'Conflicting')?.message ?? '',
        /SidecarRollout envoy is older/,
      )
      assert.deepEqual(await versions(namespace), { v1: 2 })
      await kubectl('delete', 'sidecarrollout', '-n', namespace, 'envoy')
      await phase(namespace, ['Complete'], 'younger')
      assert.deepEqual(await versions(namespace), { v2: 2 })
    })

    test('a pod that somebody else has patched is left alone; a disruption budget is honoured', async () => {
      const namespace = await open('rollout-others')
      await deploy(namespace, { replicas: 3 })
      await kubectl(
        'create',
        'poddisruptionbudget',
        '-n',
        namespace,
        'shop',
        '--selector=app=shop',
        '--min-available=3',
      )
      await rollout(namespace)
      await until('the budget to hold it', async () => {
        const { status } = await rolloutOf(namespace)
        return status?.conditions.some(({ reason }) => reason === 'HeldByDisruptionBudget') ? true : undefined
      })
      assert.deepEqual(await versions(namespace), { v1: 3 })
      await kubectl(
        'patch',
        'poddisruptionbudget',
        '-n',
        namespace,
        'shop',
        '--type=merge',
        '-p',
        '{"spec":{"minAvailable":2}}',
      )
      await phase(namespace, ['Complete'])
      const [one] = await podsOf(namespace)
      await kubectl('set', 'image', '-n', namespace, `pod/${one?.metadata.name}`, `envoy=${imageOf('v1')}`)
      const message = await until('it to be noticed', async () => {
        const { status } = await rolloutOf(namespace)
        return status?.conditions.find(({ type }) => type === 'Superseded')?.message
      })
      assert.match(message, new RegExp(one?.metadata.name ?? 'none'))
      assert.deepEqual(await versions(namespace), { v1: 1, v2: 2 })
    })

    test('the pod that fetches passes PodSecurity restricted', async () => {
      const namespace = await open('rollout-restricted')
      await kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted')
      await rollout(namespace, { strategy: { paused: true } })
      const like = { node: 'node', image: imageOf('v2'), pullPolicy: 'IfNotPresent', pullSecrets: [], waiter: 'waiter' }
      const pod = JSON.stringify(fetchPod(await rolloutOf(namespace), like))
      const { stderr } = await tryKubectl(['create', '--dry-run=server', '-f', '-'], pod)
      assert.equal(stderr, '')
    })

    test('nonsense is refused', async () => {
      const namespace = await open('rollout-nonsense')
      const refused = async (spec: object) => {
        const object = {
          apiVersion: 'sidecar-first.dev/v1alpha1',
          kind: 'SidecarRollout',
          metadata: { name: 'x', namespace },
        }
        const sound = { selector: { matchLabels: { app: 'x' } }, container: 'envoy', image: 'envoy' }
        const { stderr } = await tryKubectl(
          ['create', '-f', '-'],
          JSON.stringify({ ...object, spec: { ...sound, ...spec } }),
        )
        return stderr
      }
      assert.match(await refused({ selector: {} }), /an empty selector would match every pod/)
      assert.match(await refused({ image: 'a b' }), /spec.image/)
      assert.match(await refused({ strategy: { partition: '101%' } }), /partition is a number from 0, or a percentage/)
      assert.match(await refused({ strategy: { maxUnavailable: 0 } }), /maxUnavailable is a number from 1/)
      assert.match(await refused({ strategy: { minReadySeconds: 300 } }), /progressDeadlineSeconds must be more than/)
      assert.equal(await refused({}), '')
      const moved = await tryKubectl([
        'patch',
        'scr',
        '-n',
        namespace,
        'x',
        '--type=merge',
        '-p',
        '{"spec":{"container":"other"}}',
      ])
      assert.match(moved.stderr, /container can't be changed/)
    })
  })
})
