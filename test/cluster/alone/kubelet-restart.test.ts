import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { run } from '../../cli/process.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from '../cluster.ts'
import { hasLock } from '../kubernetes.ts'
import {
  app,
  firstLineOf,
  firstRequest,
  getPod,
  logOf,
  markOf,
  pod,
  shared,
  sharedVolume,
  sidecar,
  statusOf,
} from '../pod.ts'
import { startWebhook, type Webhook } from '../webhook.ts'

const script = join(import.meta.dirname, '../../../scripts/cluster')
const pods = ['hook', 'hook-startup', 'native', 'native-startup']
/** With the lock; the first of them with sidecars that are older than the 10 s after which a kubelet takes a startupProbe for passed. */
const old = hasLock ? ['locked-hook-old', 'locked-native-old', 'locked-native-startup-old'] : []
const young = ['locked-hook', 'locked-hook-startup', 'locked-hook-shell', 'locked-native', 'locked-native-startup']
const locked = hasLock ? [...old, ...young] : []

// The kubelet keeps no record of hooks: to the next one, a sidecar that runs has started.
describe('a kubelet restarted in mid-hook', () => {
  const namespace = 'kubelet-restart'
  let webhook: Webhook | undefined
  let failedBefore: readonly string[]
  before(async () => {
    webhook = await startWebhook('kubelet-restart')
    await createNamespace(namespace, { test: 'kubelet-restart' })
    if (hasLock) {
      await create(...old.map(waiting))
      await sleep(15_000)
    }
    await create(...[...pods, ...locked.slice(old.length)].map(waiting))
    const all = pods.length + locked.length
    await until('all sidecars to be in their hooks', async () =>
      (await started('sidecar')).length === all ? true : undefined,
    )
    await sleep(5000)
    assert.deepEqual(await runningApps(), [])
    failedBefore = await failedProbes()
    await promisify(execFile)(script, ['restart', 'kubelet'])
  })
  after(async () => {
    // A hook that still runs would hold its pod for minutes.
    for (const name of [...pods, ...locked]) await makeReady(name)
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  for (const name of ['hook', 'hook-startup', 'native']) {
    test(`${name}: the app starts, ready or not`, async () => {
      const log = await logOf(namespace, name)
      assert.throws(() => markOf(log, 'sidecar', 'ready'))
      assert.equal(statusOf(await getPod(namespace, name), 'sidecar')?.restartCount, 0)
    })
  }

  for (const name of ['hook', 'native']) {
    test(`${name}: timeline says so, and draws nothing as ready`, async () => {
      await until('its start to be known', async () => {
        const { state, restartCount } = statusOf(await getPod(namespace, name), 'app') ?? {}
        return state?.running || restartCount ? true : undefined
      })
      // That the sidecar wasn't ready is known once a probe has failed.
      const { outcome, containers } = await until('its outcome', async () => {
        const { stdout } = await run(['timeline', '-n', namespace, `pod/${name}`, '-o', 'json'])
        const told = JSON.parse(stdout)
        return told.outcome.kind === 'unknown' ? undefined : told
      })
      assert.deepEqual(outcome.reasons, [{ why: 'kubelet-restarted', sidecars: ['sidecar'] }])
      assert.equal(outcome.kind, 'too-early')
      assert.equal(containers.find((each: { name: string }) => each.name === 'sidecar').ready, undefined)
    })
  }

  // To a kubelet that has just started (1.36), a container counts as started until there is a worker for its startupProbe: syncPod sets the
  // status before it adds the probes. A worker that looks before the next sync takes that for a success (prober/worker.go, doProbe).
  test('native-startup: the app still waits, unless the kubelet takes the probe for passed', async (t) => {
    // Once the new kubelet has asked, it doesn't take the probe for passed any more.
    const live = await until('the app to run, or a failed probe', async () => {
      const failed = await failedProbes()
      const found = await getPod(namespace, 'native-startup')
      const asked = failed.some((uid) => !failedBefore.includes(uid))
      return asked || statusOf(found, 'app')?.state.running ? found : undefined
    })
    if (statusOf(live, 'app')?.state.running) {
      t.diagnostic('the kubelet took the probe for passed')
      assert.equal(statusOf(live, 'sidecar')?.started, true)
      return
    }
    t.diagnostic('it waits')
    await makeReady('native-startup')
    const log = await logOf(namespace, 'native-startup')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  const testLock = hasLock ? test : () => {}
  testLock('locked: no app starts before its sidecar is ready', async () => {
    await sleep(10_000) // the kubelet's next attempts
    const apps = await started('app')
    assert.deepEqual(
      locked.filter((name) => apps.includes(name)),
      [],
    )
    // The kubelet sleeps in an open of the lock's file while containerd restarts, too.
    await promisify(execFile)(script, ['restart', 'containerd'])
    await Promise.all(
      locked.map((name) => until(`exec in ${name}`, async () => (await makeReady(name)).code === 0 || undefined)),
    )
    for (const name of locked) {
      const log = await logOf(namespace, name, 'app', 2)
      assert.ok(
        log.some(({ text }) => text === 'first request succeeded'),
        name,
      )
      assert.equal(statusOf(await getPod(namespace, name), 'sidecar')?.restartCount, 0, name)
    }
  })

  const waiting = (name: string) => {
    const container = name.includes('-startup') ? withStartupProbe : withReadinessProbe
    const shell = name.endsWith('-shell')
    return pod(
      namespace,
      name,
      [
        locked.includes(name) ? app(firstRequest('http://127.0.0.1:15021/ready')) : app(),
        shell ? { ...container, image: 'docker.io/sidecar-first/test-shell:1' } : container,
      ],
      {
        annotations: {
          'sidecar-first.dev/sidecars': 'sidecar',
          'sidecar-first.dev/gate': name.includes('native') ? 'native' : 'hook',
          'sidecar-first.dev/lock': locked.includes(name) ? 'on' : 'off',
          'sidecar-first.dev/timeout': '10m',
          ...(shell ? { 'sidecar-first.dev/waiter': 'shell' } : {}),
        },
        spec: { initContainers: [theSwitch], volumes: [sharedVolume] },
      },
    )
  }
  // While the first hook runs, the kubelet reports no status; its event of the start comes right before the hook.
  /** The pods in which a container of that name has been started. */
  const started = async (container: string) => {
    const selector = '--field-selector=reason=Started'
    const { items } = JSON.parse(await kubectl('get', 'events', '-n', namespace, '-o', 'json', selector)) as {
      items: { involvedObject: { name: string; fieldPath: string } }[]
    }
    return items
      .filter(({ involvedObject }) => involvedObject.fieldPath.endsWith(`{${container}}`))
      .map(({ involvedObject }) => involvedObject.name)
  }
  /** The events about failed probes of native-startup; a kubelet that has restarted begins new ones. */
  const failedProbes = async () => {
    const selector = '--field-selector=reason=Unhealthy,involvedObject.name=native-startup'
    const uids = await kubectl('get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].metadata.uid}', selector)
    return uids.split(' ').filter((uid) => uid !== '')
  }
  const runningApps = async () => {
    const live = await Promise.all(pods.map((name) => getPod(namespace, name)))
    return live.filter((each) => statusOf(each, 'app')?.state.running).map(({ metadata }) => metadata.name)
  }
  const makeReady = (name: string) =>
    tryKubectl(['exec', '-n', namespace, name, '-c', 'switch', '--', 'touch', '/shared/ready'])
})

const ready = { httpGet: { path: '/ready', port: 15_021 } }
const theSwitch = { ...app('exec sleep 3600'), name: 'switch', restartPolicy: 'Always', ...shared }
const env = { HTTP: ':15021', READY_WHEN: '/shared/ready' }
const withReadinessProbe = sidecar('sidecar', env, { readinessProbe: ready, ...shared })
const withStartupProbe = sidecar('sidecar', env, { startupProbe: { ...ready, failureThreshold: 60 }, ...shared })
