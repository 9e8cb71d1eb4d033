import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces } from './cluster.ts'
import { app, firstLineOf, getPod, late, logOf, markOf, pod, podSpec, sharedVolume, tier } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

describe('the start order', () => {
  const namespace = 'order'
  let webhook: Webhook | undefined
  before(async () => {
    webhook = await startWebhook('order')
    await createNamespace(namespace, { test: 'order' })
    const template = {
      metadata: { labels: { app: 'order' }, annotations: { 'sidecar-first.dev/sidecars': 'first' } },
      spec: podSpec([app(), late('first', 15_021)]),
    }
    await create(
      pod(namespace, 'tiers', [app(), late('second', 15_022), late('first', 15_021)], {
        annotations: { 'sidecar-first.dev/sidecars': 'first, second' },
      }),
      pod(namespace, 'tier', [app(), ...tier({ one: 15_021, two: 15_022, three: 15_023 })], {
        annotations: { 'sidecar-first.dev/sidecars': 'one + two + three' },
        spec: { volumes: [sharedVolume] },
      }),
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { name: 'daemonset', namespace },
        spec: { selector: { matchLabels: { app: 'order' } }, template },
      },
      {
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name: 'job', namespace },
        spec: { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
      },
    )
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  test('goes tier by tier', async () => {
    const log = await logOf(namespace, 'tiers')
    assert.ok(markOf(log, 'second', 'started') >= markOf(log, 'first', 'ready'))
    assert.ok(firstLineOf(log) >= markOf(log, 'second', 'ready'))
  })

  test('starts the sidecars of a tier side by side, and the app when all are ready', async () => {
    const log = await logOf(namespace, 'tier')
    const members = ['one', 'two', 'three']
    const lastStart = Math.max(...members.map((name) => markOf(log, name, 'started')))
    const ready = members.map((name) => markOf(log, name, 'ready'))
    assert.ok(lastStart <= Math.min(...ready), 'none waits for another')
    assert.ok(firstLineOf(log) >= Math.max(...ready))
  })

  for (const kind of ['daemonset', 'job']) {
    test(`holds in a ${kind}`, async () => {
      const log = await logOf(namespace, kind)
      assert.ok(firstLineOf(log) >= markOf(log, 'first', 'ready'))
    })
  }

  test('leaves the containers that it was not told about in their order', async () => {
    const { spec } = await getPod(namespace, 'tiers')
    assert.deepEqual(
      spec.containers.map(({ name }) => name),
      ['first', 'second', 'app'],
    )
  })
})
