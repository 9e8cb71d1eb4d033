import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, tryCreate } from './cluster.ts'
import { hasImageVolumes } from './kubernetes.ts'
import { app, type Container, firstLineOf, getPod, logOf, markOf, pod, sidecar, statusOf } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

/** A pod whose sidecar is ready late and whose app must start after that. */
type Case = {
  name: string
  sidecar: Container
  before?: Container
  check?: string
  annotations?: Record<string, string>
}

// So many pods start at once that containers of one pod start seconds apart by themselves. An app that isn't held back
// must be seen to be too early all the same.
const late = { READY_AFTER: '12s' }
const web = { ...late, HTTP: ':15021' }
const probed = (readinessProbe: object, env: Record<string, string> = web) =>
  sidecar('sidecar', env, { readinessProbe })
const plain = (env: Record<string, string> = web, more: Record<string, unknown> = {}) => sidecar('sidecar', env, more)
const ready = { httpGet: { path: '/ready', port: 15_021 } }

const probes: Case[] = [
  { name: 'probe-http', sidecar: probed(ready) },
  {
    name: 'probe-http-named-port',
    sidecar: {
      ...probed({ httpGet: { path: '/ready', port: 'status' } }),
      ports: [{ name: 'status', containerPort: 15_021 }],
    },
  },
  {
    name: 'probe-http-header',
    sidecar: probed({ httpGet: { path: '/header', port: 15_021, httpHeaders: [{ name: 'X-Probe', value: 'yes' }] } }),
  },
  {
    name: 'probe-http-host-header',
    sidecar: probed({
      httpGet: { path: '/host', port: 15_021, httpHeaders: [{ name: 'Host', value: 'sidecar.example' }] },
    }),
  },
  { name: 'probe-http-slow', sidecar: probed({ httpGet: { path: '/slow', port: 15_021 }, timeoutSeconds: 3 }) },
  { name: 'probe-http-redirect', sidecar: probed({ httpGet: { path: '/redirect', port: 15_021 } }) },
  { name: 'probe-http-redirect-elsewhere', sidecar: probed({ httpGet: { path: '/elsewhere', port: 15_021 } }) },
  {
    name: 'probe-http-successes',
    sidecar: sidecar('sidecar', web, { readinessProbe: { ...ready, successThreshold: 3 } }),
  },
  {
    name: 'probe-https',
    sidecar: probed({ httpGet: { scheme: 'HTTPS', path: '/ready', port: 15_022 } }, { ...late, HTTPS: ':15022' }),
  },
  { name: 'probe-tcp', sidecar: probed({ tcpSocket: { port: 15_023 } }, { ...late, TCP: ':15023' }) },
  { name: 'probe-grpc', sidecar: probed({ grpc: { port: 15_024, service: 'sidecar' } }, { ...late, GRPC: ':15024' }) },
  {
    name: 'probe-exec',
    sidecar: probed({ exec: { command: ['/entrypoint', '$(COMMAND)'] } }, { ...web, COMMAND: 'check' }),
  },
  {
    // The readiness probe would never pass.
    name: 'probe-startup',
    sidecar: plain(web, { startupProbe: ready, readinessProbe: { httpGet: { path: '/never', port: 15_021 } } }),
  },
]

const checks: Case[] = [
  { name: 'check-http', sidecar: plain(), check: 'http://:15021/ready' },
  { name: 'check-https', sidecar: plain({ ...late, HTTPS: ':15022' }), check: 'https://127.0.0.1:15022/ready' },
  { name: 'check-tcp', sidecar: plain({ ...late, TCP: ':15023' }), check: 'tcp://:15023' },
  { name: 'check-grpc', sidecar: plain({ ...late, GRPC: ':15024' }), check: 'grpc://:15024/sidecar' },
  { name: 'check-unix', sidecar: plain({ ...late, UNIX: '/ready.sock' }), check: 'unix:///ready.sock' },
  { name: 'check-file', sidecar: plain({ ...late, FILE: '/ready' }), check: 'file:///ready' },
  { name: 'check-exec', sidecar: plain(), check: 'exec:["/entrypoint","check"]' },
  { name: 'check-hook', sidecar: plain(), check: 'hook:["/entrypoint","wait"]' },
  {
    // The startup probe passes at once.
    name: 'check-readiness',
    sidecar: plain(web, { readinessProbe: ready, startupProbe: { tcpSocket: { port: 15_021 } } }),
    check: 'probe:readiness',
  },
]

const imageVolume: Case = {
  name: 'image-volume',
  sidecar: probed(ready),
  annotations: { 'sidecar-first.dev/waiter': 'image-volume' },
}

const containers: Case[] = [
  ...(hasImageVolumes ? [imageVolume] : []),
  {
    name: 'shell',
    sidecar: { ...probed(ready), image: 'docker.io/sidecar-first/test-shell:1' },
    annotations: { 'sidecar-first.dev/waiter': 'shell' },
  },
  {
    name: 'shell-tcp',
    sidecar: { ...plain({ ...late, TCP: ':15023' }), image: 'docker.io/sidecar-first/test-shell:1' },
    check: 'tcp://:15023',
    annotations: { 'sidecar-first.dev/waiter': 'shell' },
  },
  {
    name: 'memory-limit',
    sidecar: { ...probed(ready), resources: { limits: { memory: '16Mi' }, requests: { memory: '16Mi' } } },
  },
  {
    name: 'non-root-read-only',
    sidecar: {
      ...probed(ready),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 12_345,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      },
    },
  },
]

const hooked: Case[] = [
  {
    name: 'chained-exec',
    sidecar: { ...probed(ready), lifecycle: { postStart: { exec: { command: ['/entrypoint', 'mark', 'hook'] } } } },
  },
  {
    // The kubelet asks once, and so do we: whom it asks must be there already, so it is a tier ahead.
    name: 'chained-http',
    sidecar: { ...probed(ready), lifecycle: { postStart: { httpGet: { path: '/hook', port: 15_031 } } } },
    before: sidecar('first', { HTTP: ':15031' }),
    annotations: {
      'sidecar-first.dev/sidecars': 'first, sidecar',
      'check.sidecar-first.dev/first': 'http://:15031/ready',
    },
  },
  { name: 'chained-sleep', sidecar: { ...probed(ready), lifecycle: { postStart: { sleep: { seconds: 1 } } } } },
]

describe('an app waits for its sidecar', () => {
  const namespace = 'checks'
  const cases = [...probes, ...checks, ...containers, ...hooked]
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('checks')
    await createNamespace(namespace, { test: 'checks' })
    await create(
      ...cases.map(podOf),
      pod(namespace, 'check-none', [app(), plain({ HTTP: ':15021', NEVER_READY: '1' })], {
        annotations: { 'sidecar-first.dev/sidecars': 'sidecar', 'check.sidecar-first.dev/sidecar': 'none' },
      }),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  const podOf = ({ name, sidecar, before, check, annotations }: Case) =>
    pod(namespace, name, [app(), sidecar, ...(before ? [before] : [])], {
      annotations: {
        'sidecar-first.dev/sidecars': 'sidecar',
        ...(check && { 'check.sidecar-first.dev/sidecar': check }),
        ...annotations,
      },
    })

  if (!hasImageVolumes) {
    test('image-volume: the API server drops such volumes, and the pod is refused, with the way out', async () => {
      const { code, stderr } = await tryCreate([podOf(imageVolume)])
      assert.equal(code, 1)
      assert.match(stderr, /SF144 the volume of the waiter is missing; an API server without image volumes drops it/)
    })
  }

  for (const { name } of cases) {
    test(name, async () => {
      const log = await logOf(namespace, name)
      const status = statusOf(await getPod(namespace, name), 'sidecar')
      // A sidecar that was killed has started a new log; why it was killed is in its last state.
      assert.deepEqual([status?.restartCount, status?.lastState], [0, {}])
      assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    })
  }

  for (const [name, asked] of [
    ['chained-exec', 'sidecar'],
    ['chained-http', 'first'],
  ] as const) {
    test(`${name} runs the sidecar's own hook first`, async () => {
      const log = await logOf(namespace, name)
      assert.ok(markOf(log, asked, 'hook') < markOf(log, 'sidecar', 'ready'))
    })
  }

  test('check-none: it is ordered, not waited for', async () => {
    const log = await logOf(namespace, 'check-none')
    assert.throws(() => markOf(log, 'sidecar', 'ready'))
    const [first] = (await getPod(namespace, 'check-none')).spec.containers
    assert.equal(first?.name, 'sidecar')
    assert.equal(first.lifecycle, undefined)
  })
})
