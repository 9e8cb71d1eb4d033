import assert from 'node:assert/strict'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  create,
  createNamespace,
  deleteNamespaces,
  type KubernetesObject,
  kubectl,
  tryCreate,
  tryKubectl,
  until,
} from './cluster.ts'
import { hasLock, lockRefused } from './kubernetes.ts'
import {
  app,
  type Container,
  firstLineOf,
  firstRequest,
  getPod,
  getPods,
  logOf,
  markOf,
  type PodOptions,
  pod,
  sidecar,
  statusOf,
} from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// Without the lock each of these apps, but for the native gate's, starts without its sidecar: its first request fails. Where no sidecar ever
// starts, pods without the lock stand beside the others.
const describeLock = hasLock ? describe : () => {}
describeLock('the lock', () => {
  const namespace = 'lock'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('lock')
    await createNamespace(namespace, { test: 'lock' })
    await create(
      locked('crashes-once', crashing(1)),
      locked('crashes-once-init', crashing(1), { 'sidecar-first.dev/waiter': 'init-container' }),
      locked('crashes-once-shell', crashing(1), { 'sidecar-first.dev/waiter': 'shell' }),
      locked('crashes-once-native', crashing(1), { 'sidecar-first.dev/gate': 'native' }),
      locked('crashes-thrice', crashing(3)),
      locked('exits-0', crashing(1, 0)),
      locked('times-out', script('sleep 60', 1), { 'sidecar-first.dev/timeout': '2s' }),
      locked('crashes-for-ever', crashing(100)),
      ...Object.entries(neverStarting).flatMap(([name, container]) => [
        locked(name, container),
        locked(`${name}-open`, container, { 'sidecar-first.dev/lock': 'off' }),
      ]),
      ...sandboxes.map((delivery) =>
        locked(`sandbox-${delivery}`, crashesAgain, { 'sidecar-first.dev/waiter': delivery }),
      ),
      locked('sandbox-open', crashesAgain, { 'sidecar-first.dev/lock': 'off' }),
      tiers('tiers', 1),
      locked('deleted', never, { 'sidecar-first.dev/timeout': '9m59s' }),
      sharing(locked('shares-processes', crashing(100), { 'sidecar-first.dev/timeout': '9m58s' })),
      locked('upgraded', ready),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  // First, while its hook runs: it is handed over after 30 s.
  test('deleted in a wait of ten minutes: the pod is gone soon after the hand-over at 30 seconds', async () => {
    await until('the sidecar to start', async () => ((await started('deleted', 'sidecar')) ? true : undefined))
    await sleep(4000)
    await kubectl('delete', 'pod', 'deleted', '-n', namespace, '--wait=false')
    // Not after the ten minutes, for which nobody waits here.
    await until('the pod to be gone', async () => ((await getPods(namespace)).has('deleted') ? undefined : true))
    assert.equal(await started('deleted', 'app'), false)
    assert.deepEqual(await waiters('9m59s'), [])
  })

  for (const name of [
    'crashes-once',
    'crashes-once-init',
    'crashes-once-shell',
    'crashes-once-native',
    'crashes-thrice',
    'exits-0',
    'times-out',
    'tiers',
  ]) {
    test(`${name}: the app's first request succeeds, soon after the sidecar is ready`, async (t) => {
      const log = await logOf(namespace, name, 'app', 2)
      assert.ok(
        log.some(({ text }) => text === 'first request succeeded'),
        log.map(({ text }) => text).join('\n'),
      )
      const readyAt = log
        .filter(({ text }) => text.startsWith('ready '))
        .map(({ container }) => markOf(log, container, 'ready'))
      const waited = firstLineOf(log) - Math.max(...readyAt)
      assert.ok(waited > 0, `${waited} ms`)
      t.diagnostic(`${waited} ms, of which the kubelet's own pause is up to 15 s`)
      const live = await getPod(namespace, name)
      assert.equal(statusOf(live, 'app')?.restartCount, 0)
    })
  }

  for (const [name, reason] of [
    ['crashes-for-ever', /./],
    ['no-command', /./],
    ['no-image', /ErrImageNeverPull|ImagePullBackOff|ErrImagePull/],
  ] as const) {
    test(`${name}: the app never starts`, async () => {
      const live = await until('the app to be refused', async () => {
        const found = await getPod(namespace, name)
        return waitingOf(found, 'app') === 'CreateContainerConfigError' &&
          (name === 'no-image' || (statusOf(found, 'sidecar')?.restartCount ?? 0) > 1)
          ? found
          : undefined
      })
      if (name === 'no-image') assert.match(waitingOf(live, 'sidecar') ?? '', reason)
      assert.equal(await started(name, 'app'), false)
      // As long as the sidecar hasn't started, there is no file.
      const described = await kubectl('describe', 'pod', name, '-n', namespace)
      if (name === 'no-image') assert.match(described, /Error: couldn't parse env file/)
      else if (name === 'crashes-for-ever') {
        assert.match(described, /Error: environment variable key "SIDECAR_FIRST_READY_1_SIDECAR" not found in file/)
      }
    })
  }

  for (const name of ['no-command', 'no-image']) {
    test(`${name}, without the lock: the app starts, and its first request fails`, async () => {
      // The logs of all its containers can't be read: one has none.
      const verdict = await until('the first request', async () => {
        const { stdout } = await tryKubectl(['logs', `${name}-open`, '-n', namespace, '-c', 'app'])
        return /^first request \w+$/m.exec(stdout)?.[0]
      })
      assert.equal(verdict, 'first request failed')
    })
  }

  // The volume outlives the sandbox, and the lock in it is open; the sidecar crashes once in the new one.
  test('only the sandbox is killed: the app starts again behind its sidecar, with each delivery; without the lock before it', async () => {
    const names = [...sandboxes.map((delivery) => `sandbox-${delivery}`), 'sandbox-open']
    for (const name of names) {
      await logOf(namespace, name, 'app', 2)
      process.kill(await sandboxOf(name), 'SIGKILL')
    }
    for (const name of names) {
      const again = async () => {
        const found = await getPod(namespace, name)
        const { restartCount = 0, state } = statusOf(found, 'app') ?? {}
        return restartCount > 0 && state?.running ? found : undefined
      }
      const live = await until(`the app of ${name} to start again`, again, 150_000)
      const log = await logOf(namespace, name, 'app', 2)
      const isOpen = name === 'sandbox-open'
      const request = `first request ${isOpen ? 'failed' : 'succeeded'}`
      assert.ok(
        log.some(({ text }) => text === request),
        `${name}: ${log.map(({ text }) => text).join('\n')}`,
      )
      assert.ok(isOpen || (statusOf(live, 'sidecar')?.restartCount ?? 0) > 1, 'it has crashed in the new sandbox')
    }
  })

  test('a sidecar upgraded in place to one that never gets ready: the app that runs goes on', async () => {
    await logOf(namespace, 'upgraded', 'app', 2)
    const image = JSON.stringify({
      spec: { containers: [{ name: 'sidecar', image: 'docker.io/sidecar-first/test-app:1' }] },
    })
    await kubectl('patch', 'pod', 'upgraded', '-n', namespace, '--patch', image)
    const live = await until('the new sidecar to fail', async () => {
      const found = await getPod(namespace, 'upgraded')
      return (statusOf(found, 'sidecar')?.restartCount ?? 0) > 1 ? found : undefined
    })
    assert.ok(statusOf(live, 'app')?.state.running)
    assert.equal(statusOf(live, 'app')?.restartCount, 0)
  })

  test("wait --why says what the app waits for, and when it doesn't any more", async () => {
    const why = (name: string) =>
      tryKubectl(['exec', '-n', namespace, name, '-c', 'sidecar', '--', '/.sidecar-first/wait', '--why'])
    await logOf(namespace, 'crashes-once', 'app', 2)
    const { stdout, code } = await why('crashes-once')
    assert.match(stdout, /^tier 1: asked and answered at /)
    assert.equal(code, 0)
  })

  // There the sidecar is not the first process, with which all others would end.
  test('a sidecar that crashes and shares its processes leaves no waiter behind', async () => {
    await until('the sidecar to have crashed', async () => {
      const found = await getPod(namespace, 'shares-processes')
      return (statusOf(found, 'sidecar')?.restartCount ?? 0) > 1 ? true : undefined
    })
    // At most the hook and what waits for it, if it runs just now; what has just crashed may be ending.
    await until('no waiter to be left', async () => ((await waiters('9m58s')).length <= 2 ? true : undefined))
  })

  test('what runs in the sidecar, once it is ready: one process that answers', async () => {
    await logOf(namespace, 'crashes-once', 'app', 2)
    const inside = (file: string) =>
      kubectl('exec', '-n', namespace, 'crashes-once', '-c', 'sidecar', '--', 'sh', '-c', `cat /proc/[0-9]*/${file}`)
    assert.doesNotMatch(await inside('stat'), /\) Z /)
    assert.equal((await inside('cmdline')).match(/--detached/g)?.length, 1)
  })

  const started = async (name: string, container: string) => {
    const selector = `--field-selector=reason=Started,involvedObject.name=${name}`
    const events = await kubectl('get', 'events', '-n', namespace, '-o', 'json', selector)
    return events.includes(`{${container}}`)
  }
  const locked = (name: string, container: Container, annotations: Record<string, string> = {}, more = {}) =>
    pod(namespace, name, [request(more), container], options(annotations))
  /** The first of three crashes while the second's hook runs. */
  const tiers = (name: string, times: number) =>
    pod(
      namespace,
      name,
      [
        request(),
        sidecar('third', { HTTP: ':15023' }, { readinessProbe: probe(15_023) }),
        sidecar('second', { HTTP: ':15022', READY_AFTER: '8s' }, { readinessProbe: probe(15_022) }),
        script('/entrypoint & sleep 3; kill $!; exit 1', times),
      ],
      options({ 'sidecar-first.dev/sidecars': 'sidecar, second, third' }),
    )
})

// Whatever the node's Kubernetes is.
describe('the lock on a Kubernetes before 1.35', () => {
  const namespace = 'lock-older'
  const on = { 'sidecar-first.dev/lock': 'on', 'sidecar-first.dev/waiter': 'init-container' }
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('lock-older', { kubernetesVersion: '1.34' })
    await createNamespace(namespace, { test: 'lock-older' })
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })
  const creating = (lock: Record<string, string>) =>
    tryCreate([pod(namespace, 'asks', [request(), ready], options({ ...on, ...lock }))])

  test('on: the pod is refused, and why', async () => {
    const { code, stderr } = await creating({})
    assert.equal(code, 1)
    assert.match(stderr, /SF160.*needs Kubernetes 1\.35 on every node, .* kubernetesVersion is 1\.34/)
  })

  test('auto: the pod is not locked, and the hook holds its app', async () => {
    const { code, stderr } = await creating({ 'sidecar-first.dev/lock': 'auto' })
    assert.equal(code, 0, stderr)
    const log = await logOf(namespace, 'asks', 'app', 3) // the date, the answer, the verdict
    assert.ok(log.some(({ text }) => text === 'first request succeeded'))
    const { containers, volumes } = (await getPod(namespace, 'asks')).spec
    assert.ok(containers.every((each) => !JSON.stringify(each).includes('fileKeyRef')))
    assert.ok(!volumes?.some(({ name }) => name === 'sidecar-first-lock'))
  })
})

if (!hasLock) {
  describe('the lock, where nobody has told the webhook that Kubernetes is older', () => {
    const namespace = 'lock-untold'
    let webhook: Webhook | undefined
    before(async () => {
      webhook = await startWebhook('lock-untold')
      await createNamespace(namespace, { test: 'lock-untold' })
    })
    after(async () => {
      await deleteNamespaces(namespace)
      await webhook?.remove()
    })

    test('the API server drops the field and refuses what is left: no app starts unlocked', async () => {
      const asks = pod(namespace, 'asks', [request(), ready], options({ 'sidecar-first.dev/waiter': 'init-container' }))
      const { code, stderr } = await tryCreate([asks])
      assert.equal(code, 1)
      assert.match(stderr, lockRefused)
    })
  })
}

/** The processes of the node that wait with this timeout. */
const waiters = async (timeout: string): Promise<string[]> => {
  const found = (await readdir('/proc')).map(async (pid) => {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return line.includes('--spec') && line.includes(`"${timeout}"`) ? [pid] : []
  })
  return (await Promise.all(found)).flat()
}
/** The process that holds the namespaces of a pod with this name, on the node that these tests run on: there may be others. */
async function sandboxOf(name: string): Promise<number> {
  const networkOf = (pid: string) => readlink(`/proc/${pid}/ns/net`).catch(() => '')
  const processes = await Promise.all(
    (await readdir('/proc'))
      .filter((pid) => /^[0-9]+$/.test(pid))
      .map(async (pid) => {
        const [, program, parent = ''] = /\((.*)\) \S (\d+)/.exec(await read(`/proc/${pid}/stat`)) ?? []
        const environment = (await read(`/proc/${pid}/environ`)).split('\0')
        return { pid, program, parent, environment, network: await networkOf(pid) }
      }),
  )
  const own = await networkOf('self')
  const ofPod = new Set(
    processes.filter(({ environment }) => environment.includes(`HOSTNAME=${name}`)).map(({ network }) => network),
  )
  for (const { pid, program, parent, network } of processes) {
    if (program === 'pause' && ofPod.has(network) && (await networkOf(parent)) === own) return Number(pid)
  }
  throw new Error(`no sandbox of ${name}`)
}
const read = (file: string) => readFile(file, 'utf8').catch(() => '')
const sharing = (object: KubernetesObject): KubernetesObject => ({
  ...object,
  spec: { ...(object.spec as object), shareProcessNamespace: true },
})

const waitingOf = (live: Parameters<typeof statusOf>[0], container: string) =>
  statusOf(live, container)?.state.waiting?.reason

const shared = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] }
const options = (annotations: Record<string, string>): PodOptions => ({
  annotations: {
    'sidecar-first.dev/sidecars': 'sidecar',
    'sidecar-first.dev/lock': 'on',
    'sidecar-first.dev/waiter': 'image-volume',
    ...annotations,
  },
  spec: { volumes: [{ name: 'shared', emptyDir: {} }] },
})
const request = (more = {}): Container => app(firstRequest('http://127.0.0.1:15021/ready'), more)
const probe = (port: number) => ({ httpGet: { path: '/ready', port }, periodSeconds: 1 })

/** A sidecar that does something else at some of its starts. */
const script = (what: string, times: number, from = 1): Container => ({
  ...sidecar('sidecar', { HTTP: ':15021', READY_AFTER: '1s' }, { readinessProbe: probe(15_021), ...shared }),
  image: 'docker.io/sidecar-first/test-shell:1',
  command: [
    'sh',
    '-c',
    `i=1; while [ -e /shared/$i ]; do i=$((i + 1)); done; true >/shared/$i; if [ $i -ge ${from} ] && [ $i -lt ${from + times} ]; then ${what}; fi; exec /entrypoint`,
  ],
})
const crashing = (times: number, code = 1): Container => script(`sleep 1; exit ${code}`, times)
/** Its hook has begun by then, on a busy node, too: one that dies before its hook leaves a lock open that has survived its sandbox. */
const crashesAgain = script('sleep 10; exit 1', 1, 2)
const ready = script('true', 0)
const never = sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1' }, { readinessProbe: probe(15_021) })
const neverStarting = {
  'no-command': { ...ready, command: ['/nope'] },
  'no-image': { ...ready, image: 'docker.io/sidecar-first/nope:1' },
}
const sandboxes = ['shell', 'image-volume', 'init-container'] as const
