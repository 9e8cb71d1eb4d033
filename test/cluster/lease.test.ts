import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from './cluster.ts'
import { hasLock } from './kubernetes.ts'
import {
  app,
  type Container,
  firstRequest,
  getPod,
  getPods,
  logOf,
  markOf,
  type PodOptions,
  pod,
  podSpec,
  shared,
  sharedVolume,
  sidecar,
  statusOf,
} from './pod.ts'
import { startSlowRegistry } from './slow-registry.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// The kubelet pulls an app's image, and then sleeps in open(2) until the sidecars' checks hold.
const describeLock = hasLock ? describe : () => {}
describeLock('the lock, asked at the moment of a start', () => {
  const namespace = 'lease'
  let webhook: Webhook | undefined
  let registry: Awaited<ReturnType<typeof startSlowRegistry>> | undefined
  before(async () => {
    webhook = await startWebhook(namespace)
    registry = await startSlowRegistry()
    await createNamespace(namespace, { test: namespace })
    const pulled = (name: string, seconds = 8) => ({
      image: registry?.image(seconds, name),
      imagePullPolicy: 'Always',
    })
    const slow = (name: string, seconds = 8) => app(firstRequest(ready1), pulled(name, seconds))
    await mkdir(dirname(withoutLeases), { recursive: true })
    await writeFile(withoutLeases, JSON.stringify(noLeases))
    await create(
      leased('evicted', [slow('evicted', 1), never]),
      leased('deleted', [leavingTraces, readyWhileItsAppRuns], { 'sidecar-first.dev/lock-restarts': 'always' }),
      leased('unready-in-the-pull', [slow('unready'), unreadyInThePull]),
      leased('out-of-memory', [slow('out-of-memory'), outOfMemory]),
      leased('waiter-killed', [slow('waiter-killed', 1), losesItsWaiter]),
      leased('without-leases', [slow('without-leases', 1), ready('3s')], {}, { securityContext: unleased }),
      leased('eight-tiers', eightTiers, { 'sidecar-first.dev/sidecars': eight.join(', ') }),
      leased(
        'between',
        [app(`${bothAnswer}; exec sleep 3600`)],
        { ...twoTiers, ...native },
        { initContainers: [always(one), { ...app(oneAnswers), name: 'init' }, always(two)] },
      ),
      job('job', app(oneAnswers, pulled('job')), diesInThePull),
      leased('dies-in-the-pull', [slow('hook'), diesInThePull]),
      leased('dies-in-the-pull-native', [slow('native'), diesInThePull], native),
      leased('both', [slow('both'), ready('12s')]),
      leased('both-native', [slow('both-native'), ready('12s')], native),
      leased('depends-on-its-app', [leavingTraces, readyWhileItsAppRuns]),
      leased('users', apps, twoTiers),
      leased('users-init', apps, { ...twoTiers, 'sidecar-first.dev/waiter': 'init-container' }),
      leased(
        'users-native',
        apps,
        { ...twoTiers, ...native, 'sidecar-first.dev/native-position': 'first' },
        { initContainers: [init] },
      ),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await rm(withoutLeases, { force: true })
    await registry?.[Symbol.asyncDispose]()
    await webhook?.remove()
  })

  // The kubelet does nothing else for such a pod until its open returns. The other pods go on meanwhile.
  test('evicted before the first start, and deleted before a later one, while an open sleeps: gone at the end of its round', async (t) => {
    await until('the app to be pulled', async () => (await told('evicted', 'Pulled')).includes('{app}') || undefined)
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'evicted', namespace } }
    const url = `/api/v1/namespaces/${namespace}/pods/evicted/eviction`
    const { code, stderr } = await tryKubectl(['create', '--raw', url, '-f', '-'], JSON.stringify(eviction))
    assert.equal(code, 0, stderr)
    await until('the app to end', async () => {
      const { state, lastState } = statusOf(await getPod(namespace, 'deleted'), 'app') ?? {}
      return state?.terminated ?? lastState?.terminated
    })
    await kubectl('delete', 'pod', 'deleted', '-n', namespace, '--wait=false')
    const from = Date.now()
    for (const name of ['evicted', 'deleted']) {
      await until(`${name} to be gone`, async () => !(await getPods(namespace)).has(name) || undefined)
      t.diagnostic(`${name}: gone by ${Date.now() - from} ms after the deletion`)
    }
    assert.doesNotMatch(await told('evicted', 'Started'), /\{app\}/)
  })

  for (const name of ['dies-in-the-pull', 'dies-in-the-pull-native', 'out-of-memory', 'waiter-killed']) {
    test(`${name}: a sidecar that was ready: the app is created when it is ready again`, async () => {
      const log = await logOf(namespace, name, 'app', 2)
      assert.ok(
        log.some(({ text }) => text === 'first request succeeded'),
        log.map(({ text }) => text).join('\n'),
      )
      const live = await getPod(namespace, name)
      assert.ok((statusOf(live, 'sidecar')?.restartCount ?? 0) > 0, 'it died')
      assert.equal(statusOf(live, 'app')?.restartCount, 0)
    })
  }

  test('unready-in-the-pull: a sidecar that was ready and still runs: the app is created when it is ready again', async () => {
    const log = await logOf(namespace, 'unready-in-the-pull', 'app', 2)
    assert.ok(log.some(({ text }) => text === 'first request succeeded'))
    assert.equal(statusOf(await getPod(namespace, 'unready-in-the-pull'), 'sidecar')?.restartCount, 0)
  })

  test('job: it ends, with a sidecar that died in the pull and restartPolicy: Never', async () => {
    await kubectl('wait', '--for=condition=Complete', 'job/job', '-n', namespace, '--timeout=180s')
    const live = await getPod(namespace, 'job')
    assert.ok((statusOf(live, 'sidecar')?.restartCount ?? 0) > 0, 'it died')
  })

  test('without-leases: a kernel that gives none: the lock opens once, and why is told', async () => {
    const log = await logOf(namespace, 'without-leases', 'app', 2)
    assert.ok(log.some(({ text }) => text === 'first request succeeded'))
    assert.match(
      log.map(({ text }) => text).join('\n'),
      /^sidecar-first: the lock can't be asked at the moment of a start, .*: invalid argument$/m,
    )
  })

  for (const name of ['eight-tiers', 'between']) {
    test(`${name}: each is there when what is behind it starts`, async () => {
      for (const each of name === 'between' ? ['init', 'app'] : ['app']) {
        const log = await logOf(namespace, name, each, 2)
        assert.ok(
          log.some(({ text, container }) => container === each && text === 'first request succeeded'),
          `${each}: ${log.map(({ text }) => text).join('\n')}`,
        )
      }
    })
  }

  for (const name of ['both', 'both-native']) {
    test(`${name}: the image is pulled while the sidecar gets ready`, async () => {
      const log = await logOf(namespace, name, 'app', 2)
      assert.ok(log.some(({ text }) => text === 'first request succeeded'))
      const { items } = JSON.parse(await told(name, 'Pulling')) as {
        items: { firstTimestamp: string; involvedObject: { fieldPath: string } }[]
      }
      const pulling = items.find(({ involvedObject }) => involvedObject.fieldPath.includes('{app}'))
      assert.ok(Date.parse(pulling?.firstTimestamp ?? '') < markOf(log, 'sidecar', 'ready'))
    })
  }

  test('an app that restarts while its sidecar waits for it: it goes on after a while, and why is told', async () => {
    const name = 'depends-on-its-app'
    await until('the app to start again', async () => {
      const { restartCount, state } = statusOf(await getPod(namespace, name), 'app') ?? {}
      return restartCount === 1 && state?.running ? true : undefined
    })
    // An exec may fail where the node is busy.
    const line = /an app that started again waited for it no longer than 5s/
    await until('wait --why to tell it', async () => line.test((await why(name)).stdout) || undefined)
    assert.match(await kubectl('logs', name, '-n', namespace, '-c', 'sidecar'), /^sidecar-first: an app that started/m)
    await kubectl('wait', '--for=condition=Ready', `pod/${name}`, '-n', namespace, '--timeout=60s')
    assert.equal(statusOf(await getPod(namespace, name), 'sidecar')?.restartCount, 0)
  })

  for (const name of ['users', 'users-init', 'users-native']) {
    test(`${name}: two tiers of different users, two apps`, async () => {
      for (const each of ['app', 'other', ...(name === 'users-native' ? ['init'] : [])]) {
        const log = await logOf(namespace, name, each, 2)
        assert.ok(
          log.some(({ text, container }) => container === each && text === 'first request succeeded'),
          `${each}: ${log.map(({ text }) => text).join('\n')}`,
        )
      }
      const { stdout, code } = await why(name, 'one')
      assert.match(stdout, /^tier 1: asked and answered at .*\ntier 2: asked and answered at .*\n$/)
      assert.equal(code, 0)
    })
  }

  /** The pod's events of this reason, as JSON. */
  const told = (name: string, reason: string) =>
    kubectl(
      ...['get', 'events', '-n', namespace, '-o', 'json'],
      `--field-selector=reason=${reason},involvedObject.name=${name}`,
    )
  const why = (name: string, container = 'sidecar') =>
    tryKubectl(['exec', '-n', namespace, name, '-c', container, '--', '/.sidecar-first/wait', '--why'])
  const leased = (
    name: string,
    containers: readonly Container[],
    annotations: Record<string, string> = {},
    spec: Record<string, unknown> = {},
  ) => pod(namespace, name, containers, options(annotations, spec))
  const job = (name: string, ...containers: readonly Container[]) => {
    const { annotations, spec } = options(native, { restartPolicy: 'Never' })
    const template = { metadata: { annotations }, spec: podSpec(containers, spec) }
    return { apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace }, spec: { backoffLimit: 0, template } }
  }
})

const options = (annotations: Record<string, string>, spec: Record<string, unknown>): PodOptions => ({
  annotations: {
    'sidecar-first.dev/sidecars': 'sidecar',
    'sidecar-first.dev/lock': 'on',
    'sidecar-first.dev/waiter': 'image-volume',
    ...annotations,
  },
  spec: { volumes: [sharedVolume], ...spec },
})
const ready1 = 'http://127.0.0.1:15021/ready'
const native = { 'sidecar-first.dev/gate': 'native' }
const probe = (port: number) => ({ readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 1 } })
const ready = (after: string) => sidecar('sidecar', { HTTP: ':15021', READY_AFTER: after }, probe(15_021))

/** A sidecar that runs a script. */
const script = (what: string): Container => ({
  ...sidecar('sidecar', { HTTP: ':15021' }, { ...probe(15_021), ...shared }),
  image: 'docker.io/sidecar-first/test-shell:1',
  command: ['sh', '-c', what],
})
/** Its first run is over before the image is there, its second one is ready a while after. */
const diesInThePull = script(
  '[ -e /shared/2 ] && READY_AFTER=3s exec /entrypoint; true >/shared/2; READY_AFTER=1s EXIT_AFTER=4s exec /entrypoint',
)
const never = sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1' }, probe(15_021))
/** Ready from 1 s to 4 s, and again from 12 s. */
const unreadyInThePull = script('/entrypoint & sleep 4; kill -9 $!; sleep 8; exec /entrypoint')
const once = (what: string) => script(`[ -e /shared/2 ] && exec /entrypoint; true >/shared/2; ${what}; exit 1`)
/** The waiter and it are killed while the image is pulled. */
const outOfMemory = {
  ...once('/entrypoint & sleep 4; exec busybox dd if=/dev/zero of=/dev/null bs=200M count=1'),
  resources: { limits: { memory: '100Mi' } },
}
/** While an open sleeps, nobody is left to answer it, though the sidecar is ready some seconds later. */
const losesItsWaiter = once(
  [
    'READY_WHEN=/shared/killed /entrypoint & until grep -l -e -[-]detached /proc/[0-9]*/cmdline >/shared/waiter 2>/dev/null; do sleep 0.1; done',
    'sleep 4; IFS=/ read -r _ _ p _ </shared/waiter; kill -9 $p; true >/shared/killed; sleep 10',
  ].join('; '),
)
/** Once its app has been there. */
const readyWhileItsAppRuns = script(
  '/entrypoint & p=$!; until [ -e /shared/gone ]; do sleep 0.1; done; kill -9 $p; while [ -e /shared/gone ]; do sleep 0.1; done; exec /entrypoint',
)
const leavingTraces = app(
  'date; [ -e /shared/gone ] && rm /shared/gone && exec sleep 3600; sleep 2; true >/shared/gone; exit 1',
  shared,
)

const twoTiers = { 'sidecar-first.dev/sidecars': 'one, two' }
const user = (id: number) => ({ securityContext: { runAsUser: id } })
const oneAnswers = `date; wget -q -O - ${ready1} && echo first request succeeded`
const bothAnswer =
  'date; wget -q -O - http://127.0.0.1:15021/ready http://127.0.0.1:15022/ready && echo first request succeeded'
const two = sidecar('two', { HTTP: ':15022', READY_AFTER: '3s' }, { ...probe(15_022), ...user(2000) })
const one = sidecar('one', { HTTP: ':15021', READY_AFTER: '1s' }, { ...probe(15_021), ...user(1000) })
const apps = [
  app(`${bothAnswer}; exec sleep 3600`),
  { ...app(`${bothAnswer}; exec sleep 3600`), name: 'other' },
  two,
  one,
]
const always = (container: Container) => ({ ...container, restartPolicy: 'Always' })
const eight = Array.from({ length: 8 }, (_, index) => `tier-${index}`)
const eightTiers = [
  app(
    `date; wget -q -O - ${eight.map((_, index) => `http://127.0.0.1:${15_021 + index}/ready`).join(' ')} && echo first request succeeded; exec sleep 3600`,
  ),
  ...eight.map((name, index) =>
    sidecar(name, { HTTP: `:${15_021 + index}`, READY_AFTER: '500ms' }, probe(15_021 + index)),
  ),
]

/** A kernel without leases, for one pod: this call fails as there. */
const noLeases = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [
    {
      names: ['fcntl'],
      action: 'SCMP_ACT_ERRNO',
      errnoRet: 22, // EINVAL
      args: [{ index: 1, value: 1024, op: 'SCMP_CMP_EQ' }], // F_SETLEASE
    },
  ],
}
/** The node's folder of such profiles; beside its kubeconfig is its root. */
const profile = 'no-leases.json'
const withoutLeases = join(dirname(process.env.KUBECONFIG ?? ''), 'var/lib/kubelet/seccomp', profile)
const unleased = { seccompProfile: { type: 'Localhost', localhostProfile: profile } }
const init = { ...app(bothAnswer), name: 'init' }
