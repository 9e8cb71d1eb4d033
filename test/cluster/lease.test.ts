import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, kubectl, tryKubectl, until } from './cluster.ts'
import { hasLock } from './kubernetes.ts'
import {
  app,
  type Container,
  firstRequest,
  getPod,
  logOf,
  markOf,
  type PodOptions,
  pod,
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
    const slow = (name: string) =>
      app(firstRequest('http://127.0.0.1:15021/ready'), {
        image: registry?.image(8, name),
        imagePullPolicy: 'Always',
      })
    await create(
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
    await registry?.[Symbol.asyncDispose]()
    await webhook?.remove()
  })

  for (const name of ['dies-in-the-pull', 'dies-in-the-pull-native']) {
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

  for (const name of ['both', 'both-native']) {
    test(`${name}: the image is pulled while the sidecar gets ready`, async () => {
      const log = await logOf(namespace, name, 'app', 2)
      assert.ok(log.some(({ text }) => text === 'first request succeeded'))
      const { items } = JSON.parse(
        await kubectl(
          ...['get', 'events', '-n', namespace, '-o', 'json'],
          `--field-selector=reason=Pulling,involvedObject.name=${name}`,
        ),
      ) as { items: { firstTimestamp: string; involvedObject: { fieldPath: string } }[] }
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
    const told = /an app that started again waited for it no longer than 5s/
    await until('wait --why to tell it', async () => told.test((await why(name)).stdout) || undefined)
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

  const why = (name: string, container = 'sidecar') =>
    tryKubectl(['exec', '-n', namespace, name, '-c', container, '--', '/.sidecar-first/wait', '--why'])
  const leased = (
    name: string,
    containers: readonly Container[],
    annotations: Record<string, string> = {},
    spec: Record<string, unknown> = {},
  ) => pod(namespace, name, containers, options(annotations, spec))
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
const bothAnswer =
  'date; wget -q -O - http://127.0.0.1:15021/ready http://127.0.0.1:15022/ready && echo first request succeeded'
const apps = [
  app(`${bothAnswer}; exec sleep 3600`),
  { ...app(`${bothAnswer}; exec sleep 3600`), name: 'other' },
  sidecar('two', { HTTP: ':15022', READY_AFTER: '3s' }, { ...probe(15_022), ...user(2000) }),
  sidecar('one', { HTTP: ':15021', READY_AFTER: '1s' }, { ...probe(15_021), ...user(1000) }),
]
const init = { ...app(bothAnswer), name: 'init' }
