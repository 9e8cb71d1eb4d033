import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces } from './cluster.ts'
import { app, firstLineOf, getPod, late, logOf, markOf, pod } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// The test sidecar stands for istio-proxy: by its names, its init container and its hook.
describe('a mesh proxy that already waits', () => {
  const namespace = 'istio'
  const ruled = 'istio-ruled'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('istio', { rules })
    await createNamespace(namespace, { test: 'istio' })
    await createNamespace(ruled, { test: 'istio', mesh: 'istio' })
    await create(
      pod(namespace, 'leading', [proxy, app(), late('sidecar', 15_031)], {
        annotations: { 'sidecar-first.dev/sidecars': 'sidecar' },
        spec: { initContainers: [init] },
      }),
      pod(ruled, 'last', [app(), proxy], { spec: { initContainers: [init] } }),
    )
  })
  after(async () => {
    await deleteNamespaces(namespace, ruled)
    await webhook?.remove()
  })

  test('not listed and leading: stays in front, and the sidecar waits for it', async () => {
    const { containers } = (await getPod(namespace, 'leading')).spec
    assert.deepEqual(
      containers.map(({ name }) => name),
      ['istio-proxy', 'sidecar', 'app'],
    )
    assert.deepEqual(containers[0]?.lifecycle, proxy.lifecycle)
    const log = await logOf(namespace, 'leading')
    assert.ok(markOf(log, 'sidecar', 'started') >= markOf(log, 'istio-proxy', 'ready'))
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  test('matched by a rule: goes first and keeps its own hook, and nothing is added', async () => {
    const { containers, initContainers, volumes } = (await getPod(ruled, 'last')).spec
    assert.deepEqual(
      containers.map(({ name }) => name),
      ['istio-proxy', 'app'],
    )
    assert.deepEqual(containers[0]?.lifecycle, proxy.lifecycle)
    assert.deepEqual(
      initContainers?.map(({ name }) => name),
      ['istio-init'],
    )
    assert.ok(volumes?.every(({ projected }) => projected))
    const log = await logOf(ruled, 'last')
    assert.ok(firstLineOf(log) >= markOf(log, 'istio-proxy', 'ready'))
  })
})

const rules = `
- name: mesh
  match: {preset: istio, namespaceSelector: {matchLabels: {mesh: istio}}}
`
const proxy = late('istio-proxy', 15_021, {
  lifecycle: { postStart: { exec: { command: ['/usr/local/bin/pilot-agent', 'wait'] } } },
})
const init = { ...app('echo redirected'), name: 'istio-init' }
