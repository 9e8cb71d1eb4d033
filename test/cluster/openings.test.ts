import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gateForms, type OpeningKind, openings } from '../../src/admission/words/openings.ts'
import { create, createNamespace, deleteNamespaces, kubectl, tryCreate, tryKubectl, until } from './cluster.ts'
import { hasLock } from './kubernetes.ts'
import {
  app,
  type Container,
  firstLineOf,
  firstRequest,
  getPod,
  type LivePod,
  logOf,
  markOf,
  pod,
  shared,
  sharedVolume,
  sidecar,
  statusOf,
} from './pod.ts'
import { startSlowRegistry } from './slow-registry.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const namespace = 'openings'
const probe = (port: number) => ({ httpGet: { path: '/ready', port } })
const limit = { 'sidecar-first.dev/timeout': '3s' }

/** Each case of the table that a pod can bring about by itself; the kubelet's restart is in alone/. */
const cases: Partial<Record<OpeningKind, { sidecar: Container; annotations?: Record<string, string> }>> = {
  crash: { sidecar: sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1', EXIT_AFTER: '1s' }) },
  'not-started': { sidecar: sidecar('sidecar', {}, { command: ['/absent'] }) },
  fail: { sidecar: sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1' }) },
  continue: {
    sidecar: sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1' }),
    annotations: { 'sidecar-first.dev/on-timeout': 'continue' },
  },
}
const forms = gateForms.filter((form) => form !== 'lock')

describe('what opens each gate, case by case', () => {
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('openings')
    await createNamespace(namespace, { test: 'openings' })
    await create(
      ...Object.entries(cases).flatMap(([kind, { sidecar: container, annotations }]) =>
        forms.map((form) => {
          const probes =
            form === 'startupProbe'
              ? { startupProbe: { ...probe(15_021), periodSeconds: 1, failureThreshold: 3 } }
              : { readinessProbe: probe(15_021) }
          const gate = form === 'hook' ? 'hook' : 'native'
          const asked = {
            'sidecar-first.dev/sidecars': 'sidecar',
            'sidecar-first.dev/gate': gate,
            ...limit,
            ...annotations,
          }
          return pod(namespace, `${kind}-${form}`.toLowerCase(), [app(), { ...container, ...probes }], {
            annotations: asked,
          })
        }),
      ),
      pod(namespace, 'tier', [app(), quitter, fine], {
        annotations: {
          'sidecar-first.dev/sidecars': 'quitter + fine',
          'check.sidecar-first.dev/quitter': 'tcp://:15031',
          ...limit,
        },
      }),
      pod(
        namespace,
        'deleted',
        [app(), sidecar('sidecar', { HTTP: ':15021', NEVER_READY: '1' }, { readinessProbe: probe(15_021) })],
        {
          annotations: { 'sidecar-first.dev/sidecars': 'sidecar', 'sidecar-first.dev/timeout': `${hookRuns}ms` },
        },
      ),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  test('a pod that is deleted while a hook runs ends only after the hook', async () => {
    const started = await until('the hook to run', async () => {
      const { stdout } = await tryKubectl([
        'get',
        'events',
        '-n',
        namespace,
        '-o',
        'json',
        '--field-selector=reason=Started,involvedObject.name=deleted',
      ])
      const { items } = JSON.parse(stdout || '{"items":[]}') as {
        items: { involvedObject: { fieldPath: string }; lastTimestamp: string }[]
      }
      const event = items.find(({ involvedObject }) => involvedObject.fieldPath.includes('{sidecar}'))
      return event && Date.parse(event.lastTimestamp)
    })
    await kubectl('delete', 'pod', 'deleted', '-n', namespace, '--wait=true')
    // Without the hook it would be gone after its grace period of a second. The kubelet's time is cut off to seconds, so it isn't late.
    assert.ok(Date.now() - started >= hookRuns)
  })

  for (const [kind, { when, ...then }] of Object.entries(openings)) {
    if (!(kind in cases)) continue
    for (const form of forms) {
      test(`${when}, ${form}: ${then[form]}`, async () => {
        const name = `${kind}-${form}`.toLowerCase()
        if (then[form] === 'opens') {
          const log = await logOf(namespace, name)
          assert.throws(() => markOf(log, 'sidecar', 'ready'))
          return
        }
        const live = await until(`trouble in ${name}`, async () => {
          const found = await getPod(namespace, name)
          return troubled(found) ? found : undefined
        })
        assert.equal(live.status.phase, 'Pending')
        assert.deepEqual(statusOf(live, 'app')?.state, { waiting: { reason: 'PodInitializing' } })
      })
    }
  }

  test('a tier of two: one that crashes is not restarted while the hook waits, and the message says so', async () => {
    const live = await until('the hook to fail', async () => {
      const found = await getPod(namespace, 'tier')
      return messageOf(found, 'fine') === undefined ? undefined : found
    })
    assert.match(
      messageOf(live, 'fine') ?? '',
      /^quitter .* it never answered and may have crashed, and nothing restarts it/,
    )
  })
})

/** Longer than a pod without a hook takes to end. */
const hookRuns = 15_000
const quitter = sidecar('quitter', { EXIT_AFTER: '500ms' })
const fine = sidecar('fine', { HTTP: ':15021' }, { readinessProbe: probe(15_021) })

const messageOf = (live: LivePod, name: string) => {
  const status = statusOf(live, name)
  return status?.state.terminated?.message ?? status?.lastState.terminated?.message
}

/** When it was started, which is the empty text until then; the texts are in the order of the times. */
const startOf = (live: LivePod, name: string) => statusOf(live, name)?.state.running?.startedAt ?? ''

function troubled(live: LivePod): boolean {
  const status = statusOf(live, 'sidecar')
  return (status?.restartCount ?? 0) >= 1 || /Error|BackOff/.test(status?.state.waiting?.reason ?? '')
}

// The sidecar has been ready.
describe('what a gate does that has been open', () => {
  const apart = 'opened'
  const gates = {
    hook: { 'sidecar-first.dev/lock': 'off' },
    native: { 'sidecar-first.dev/lock': 'off', 'sidecar-first.dev/gate': 'native' },
    startupProbe: { 'sidecar-first.dev/lock': 'off', 'sidecar-first.dev/gate': 'native' },
    leased: { 'sidecar-first.dev/lock': 'on' },
    always: { 'sidecar-first.dev/lock': 'on', 'sidecar-first.dev/lock-restarts': 'always' },
    unleased: { 'sidecar-first.dev/lock': 'on', 'sidecar-first.dev/waiter': 'shell' },
  } as const
  type Form = keyof typeof gates
  const forms = (Object.keys(gates) as Form[]).filter(
    (form) => hasLock || gates[form]['sidecar-first.dev/lock'] === 'off',
  )
  const script = (what: string, form: Form): Container => {
    const often = { ...probe(15_021), periodSeconds: 1 }
    return sidecar(
      'sidecar',
      { HTTP: ':15021' },
      {
        image: 'docker.io/sidecar-first/test-shell:1',
        command: ['sh', '-c', what],
        ...(form === 'startupProbe' ? { startupProbe: { ...often, failureThreshold: 30 } } : { readinessProbe: often }),
        ...shared,
      },
    )
  }
  /** Its first run ends while the app's image is pulled, its second one is ready a while after. */
  const dies =
    '[ -e /shared/2 ] && READY_AFTER=3s exec /entrypoint; true >/shared/2; READY_AFTER=1s EXIT_AFTER=4s exec /entrypoint'
  /** It runs on, and isn't ready any more. */
  const falls =
    '/entrypoint & until [ -e /shared/gone ]; do sleep 0.1; done; kill -9 $!; true >/shared/fallen; exec sleep 3600'
  const restarts = `[ -e /shared/fallen ] || { sleep 2; true >/shared/gone; until [ -e /shared/fallen ]; do sleep 0.1; done; exit 1; }; ${firstRequest('http://127.0.0.1:15021/ready')}`
  let webhook: Webhook | undefined
  let registry: Awaited<ReturnType<typeof startSlowRegistry>> | undefined
  before(async () => {
    webhook = await startWebhook(apart)
    registry = await startSlowRegistry()
    await createNamespace(apart, { test: apart })
    const on = (name: string, form: Form, containers: readonly Container[]) =>
      pod(apart, `${name}-${form}`.toLowerCase(), containers, {
        annotations: { 'sidecar-first.dev/sidecars': 'sidecar', ...gates[form] },
        spec: { volumes: [sharedVolume] },
      })
    const pulled = (form: Form) =>
      app(firstRequest('http://127.0.0.1:15021/ready'), {
        image: registry?.image(8, `opened-${form.toLowerCase()}`),
        imagePullPolicy: 'Always',
      })
    await create(
      ...forms.map((form) => on('dies-in-pull', form, [pulled(form), script(dies, form)])),
      ...forms.map((form) => on('later-start', form, [app(restarts, shared), script(falls, form)])),
    )
  })
  after(async () => {
    await deleteNamespaces(apart)
    await registry?.[Symbol.asyncDispose]()
    await webhook?.remove()
  })
  const request = async (name: string) => {
    const log = await logOf(apart, name, 'app', 2)
    return log.find(({ text }) => text.startsWith('first request '))?.text
  }

  test('the table says so', () => {
    const { 'dies-in-pull': dies, 'later-start': later } = openings
    for (const form of ['hook', 'native', 'startupProbe'] as const)
      assert.deepEqual([dies[form], later[form]], ['opens', 'opens'])
    assert.equal(dies.lock, 'closed with the lease, opens without')
    assert.equal(later.lock, 'opens after `lock-restarts` (5 s) with the lease, at once without')
  })

  for (const form of forms) {
    const isLeased = form === 'leased' || form === 'always'
    test(`${openings['dies-in-pull'].when}, ${form}: ${isLeased ? 'closed' : 'opens'}`, async () => {
      const name = `dies-in-pull-${form}`.toLowerCase()
      assert.equal(await request(name), isLeased ? 'first request succeeded' : 'first request failed')
      assert.equal(statusOf(await getPod(apart, name), 'app')?.restartCount, 0)
    })

    test(`${openings['later-start'].when}, ${form}: ${form === 'always' ? 'closed' : 'opens'}`, async () => {
      const name = `later-start-${form}`.toLowerCase()
      if (form === 'always') {
        const live = await until('a round to be over', async () => {
          const found = await getPod(apart, name)
          return statusOf(found, 'app')?.state.waiting?.reason === 'CreateContainerConfigError' ? found : undefined
        })
        assert.equal(statusOf(live, 'sidecar')?.restartCount, 0)
        return
      }
      assert.equal(await request(name), 'first request failed')
      const live = await getPod(apart, name)
      assert.deepEqual([statusOf(live, 'app')?.restartCount, statusOf(live, 'sidecar')?.restartCount], [1, 0])
      const told = /^sidecar-first: an app that started again waited for it no longer than 5s/m
      const log = await kubectl('logs', name, '-n', apart, '-c', 'sidecar')
      assert.equal(told.test(log), form === 'leased')
    })
  }
})

// The test sidecar stands for istio-proxy, and the probe of cache is as Istio's injector rewrites it: the proxy's agent answers it.
describe('a sidecar that holds back what answers its check', () => {
  const apart = 'deadlocks'
  const rewritten = '/app-health/cache/readyz'
  const probers = JSON.stringify({ [rewritten]: { httpGet: { path: '/ready', port: 15_031, scheme: 'HTTP' } } })
  const proxy = sidecar(
    'istio-proxy',
    { HTTP: ':15021', PATHS: '/healthz/ready', AGENT: ':15020', ISTIO_KUBE_APP_PROBERS: probers },
    {
      ports: [{ containerPort: 15_020 }, { containerPort: 15_021 }],
      readinessProbe: { httpGet: { path: '/healthz/ready', port: 15_021 } },
    },
  )
  const cache = sidecar(
    'cache',
    { HTTP: ':15031', READY_AFTER: '1s' },
    { readinessProbe: { httpGet: { path: rewritten, port: 15_020 } } },
  )
  const annotations = (sidecars: string, gate: string) => ({
    'sidecar-first.dev/sidecars': sidecars,
    'sidecar-first.dev/gate': gate,
    ...limit,
  })
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('deadlocks')
    await createNamespace(apart, { test: 'deadlocks' })
  })
  after(async () => {
    await deleteNamespaces(apart)
    await webhook?.remove()
  })
  const warned = async (name: string, sidecars: string, gate: string, position = 'last'): Promise<string> => {
    const asked = { ...annotations(sidecars, gate), 'sidecar-first.dev/native-position': position }
    const init = { ...app('echo redirected'), name: 'istio-init' }
    const { code, stderr } = await tryCreate([
      pod(apart, name, [app(), cache, proxy], { annotations: asked, spec: { initContainers: [init] } }),
    ])
    assert.equal(code, 0, stderr)
    return stderr
  }

  test('gate hook: a warning, and the app starts at the timeout, before the proxy', async () => {
    assert.match(await warned('hook', 'cache', 'hook'), /SF242.*deadlock: istio-proxy answers the check of cache/)
    const live = await until('both to start', async () => {
      const found = await getPod(apart, 'hook')
      return startOf(found, 'app') && startOf(found, 'istio-proxy') && messageOf(found, 'cache') ? found : undefined
    })
    assert.ok(startOf(live, 'app') <= startOf(live, 'istio-proxy'))
    assert.match(messageOf(live, 'cache') ?? '', /app-health.*connection refused/)
  })

  for (const [name, position, never] of [
    ['native', 'last', ['istio-proxy', 'app']],
    ['native-first', 'first', ['istio-init', 'istio-proxy', 'app']],
  ] as const) {
    test(`gate native, ${position}: a warning, and ${never.join(', ')} never start`, async () => {
      assert.match(await warned(name, 'cache', 'native', position), /SF242.*the app never starts/)
      const live = await until('the sidecar to be given up', async () => {
        const found = await getPod(apart, name)
        return (statusOf(found, 'cache')?.restartCount ?? 0) >= 1 ? found : undefined
      })
      for (const container of never) {
        const { state, restartCount } = statusOf(live, container) ?? {}
        assert.deepEqual([state?.running, state?.terminated, restartCount], [undefined, undefined, 0], container)
      }
    })
  }

  test('with the proxy named first, as the warning says: none, and the app finds both ready', async () => {
    assert.doesNotMatch(await warned('listed', 'istio-proxy, cache', 'hook'), /SF242/)
    const log = await logOf(apart, 'listed')
    assert.ok(markOf(log, 'cache', 'started') >= markOf(log, 'istio-proxy', 'ready'))
    assert.ok(firstLineOf(log) >= markOf(log, 'cache', 'ready'))
    assert.equal(statusOf(await getPod(apart, 'listed'), 'cache')?.restartCount, 0)
  })
})
