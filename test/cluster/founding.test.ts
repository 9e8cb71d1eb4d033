import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, type KubernetesObject, kubectl, tryCreate } from './cluster.ts'
import { app, firstLineOf, firstRequest, getPod, type Line, logOf, markOf, podSpec, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// The example the project was founded on: an app that talks to its sidecar in its first line, and lists it last.
describe('a Deployment whose sidecar is ready 3 s after its start', () => {
  const withWebhook = 'founding'
  const without = 'founding-control'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('founding')
    await createNamespace(withWebhook, { test: 'founding' })
    await createNamespace(without)
    await create(
      sample(withWebhook, 'sample', { 'sidecar-first.dev/sidecars': 'sidecar' }),
      sample(withWebhook, 'own-waiter', {
        'sidecar-first.dev/sidecars': 'sidecar',
        'check.sidecar-first.dev/sidecar': 'hook:["/entrypoint","wait"]',
      }),
      sample(without, 'sample', { 'sidecar-first.dev/sidecars': 'sidecar' }),
    )
  })
  after(async () => {
    await deleteNamespaces(withWebhook, without)
    await webhook?.remove()
  })

  test('has its first request answered, by an annotation alone', async () => {
    const log = await logOf(withWebhook, 'sample', 'app', 2)
    assertFirstRequest(log, 'succeeded')
    assert.ok(dateOf(log) > markOf(log, 'sidecar', 'ready') - 1000, 'date prints whole seconds, cut off')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
  })

  test('has its first request answered, by the waiter in the image', async () => {
    const log = await logOf(withWebhook, 'own-waiter', 'app', 2)
    assertFirstRequest(log, 'succeeded')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    const { spec } = await getPod(withWebhook, 'own-waiter')
    assert.equal(spec.initContainers, undefined, 'nothing is injected')
  })

  test('has its first request fail without the webhook', async () => {
    const log = await logOf(without, 'sample', 'app', 2)
    assertFirstRequest(log, 'failed')
    const ready = await logOf(without, 'sample', 'sidecar', 2)
    assert.ok(firstLineOf(ready) < markOf(ready, 'sidecar', 'ready'))
  })

  test('shows the app in `kubectl logs`, though it is no longer first', async () => {
    await logOf(withWebhook, 'sample', 'app', 2)
    const { metadata, spec } = await getPod(withWebhook, 'sample')
    assert.deepEqual(
      spec.containers.map(({ name }) => name),
      ['sidecar', 'app'],
    )
    assert.match(await kubectl('logs', '-n', withWebhook, metadata.name), /first request succeeded/)
    assert.equal(await kubectl('exec', '-n', withWebhook, metadata.name, '--', 'echo', 'in the app'), 'in the app\n')
  })

  test('works with --dry-run=server', async () => {
    const { stdout, stderr } = await tryCreate(
      [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'dry', namespace: withWebhook, annotations: { 'sidecar-first.dev/sidecars': 'sidecar' } },
          spec: podSpec([app(), lateSidecar]),
        },
      ],
      '--dry-run=server',
      '-o',
      'json',
    )
    assert.ok(stdout, stderr)
    const dry = JSON.parse(stdout) as KubernetesObject
    assert.ok('sidecar-first.dev/status' in (dry.metadata.annotations ?? {}))
    await assert.rejects(getPod(withWebhook, 'dry'))
  })
})

const lateSidecar = sidecar(
  'sidecar',
  { HTTP: ':15021', READY_AFTER: '3s' },
  { readinessProbe: { httpGet: { path: '/ready', port: 15021 } } },
)

/** The Deployment, its app listed first and its sidecar last. */
function sample(namespace: string, name: string, annotations: Record<string, string>): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name }, annotations },
        spec: podSpec([app(firstRequest('http://127.0.0.1:15021/ready')), lateSidecar]),
      },
    },
  }
}

/** What the app's own `date` printed, in ms. */
function dateOf(log: readonly Line[]): number {
  const { text = '' } = log.find(({ container }) => container === 'app') ?? {}
  return Date.parse(text)
}

function assertFirstRequest(log: readonly Line[], outcome: 'succeeded' | 'failed'): void {
  const lines = log.filter(({ container }) => container === 'app').map(({ text }) => text)
  assert.ok(lines.includes(`first request ${outcome}`), lines.join('\n'))
}
