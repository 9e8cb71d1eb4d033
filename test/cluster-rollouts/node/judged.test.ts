import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createNamespace, deleteNamespaces, until } from '../../cluster/cluster.ts'
import { type Controller, prepare, startController } from './controller.ts'
import { deploy, phase, rollout, rolloutOf, versions } from './shop.ts'

const namespaces = ['rollout-mute', 'rollout-late']
const [mute = '', late = ''] = namespaces
let controller: Controller

describe('what people see decides', { concurrency: true }, () => {
  before(async () => {
    await prepare()
    await Promise.all(namespaces.map((name) => createNamespace(name)))
    controller = await startController('5s')
  })
  after(async () => {
    await controller?.stop()
    await deleteNamespaces(...namespaces)
  })

  test('a new sidecar that is ready and does not proxy: one app is down, and its pod is put back', async () => {
    await deploy(mute, { replicas: 4, proxied: true })
    // It takes three probes until its app isn't ready any more.
    const strategy = { onFailure: 'rollback', progressDeadlineSeconds: 20, bakeSeconds: 10 }
    await rollout(mute, { image: 'v6', strategy })
    const message = await until('it to be said', async () => {
      const { status } = await rolloutOf(mute)
      const found = status?.conditions.find(({ type }) => type === 'Ready')?.message
      return found?.includes('app is not ready') ? found : undefined
    })
    assert.match(message, /^0 of 4 pods are done; waiting for shop-\S+ \(app is not ready\)/)
    const { phase: at, failure } = await phase(mute, ['RolledBack', 'Complete', 'Stopped'])
    assert.deepEqual([at, failure?.reason], ['RolledBack', 'AppNotReady'])
    assert.match(failure?.message ?? '', /not again within \d+ s, though envoy is: app is not ready/)
    assert.deepEqual(await versions(mute), { v1: 4 })
    assert.equal((await rolloutOf(mute)).status?.ready, 4)
  })

  test('a new sidecar that ends 15 s after it was ready: no second pod gets it, and the first is put back', async () => {
    await deploy(late, { replicas: 4 })
    await rollout(late, { image: 'v7', strategy: { onFailure: 'rollback', bakeSeconds: 25 } })
    const reason = await until('it to bake', async () => {
      const { status } = await rolloutOf(late)
      assert.ok((status?.updated ?? 0) <= 1, 'a second pod has it')
      const found = status?.conditions.find(({ type }) => type === 'Progressing')
      return found?.reason === 'Baking' ? found.message : undefined
    })
    assert.match(
      reason,
      /1 of 4 pods are done; baking until [\d:]{8} UTC: shop-\S+ must run for 25 s before others get it/,
    )
    const { phase: at, failure } = await phase(late, ['RolledBack', 'Complete', 'Stopped'])
    assert.deepEqual([at, failure?.reason], ['RolledBack', 'Crashed'])
    assert.match(failure?.message ?? '', /envoy was ready and ended, 2 times while it baked/)
    assert.deepEqual(await versions(late), { v1: 4 })
  })
})
