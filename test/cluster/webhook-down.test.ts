import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createNamespace, deleteNamespaces, tryCreate } from './cluster.ts'
import { app, getPod, pod, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

for (const failurePolicy of ['Ignore', 'Fail'] as const) {
  describe(`the webhook down under failurePolicy ${failurePolicy}`, () => {
    const namespace = `down-${failurePolicy.toLowerCase()}`
    const asking = (name: string) =>
      pod(namespace, name, [app(), sidecar('sidecar', { HTTP: ':15021' })], {
        annotations: {
          'sidecar-first.dev/sidecars': 'sidecar',
          'check.sidecar-first.dev/sidecar': 'http://:15021/ready',
        },
      })
    let webhook: Webhook | undefined
    before(async () => {
      webhook = await startWebhook(namespace, { failurePolicy })
      await createNamespace(namespace, { test: namespace })
    })
    after(async () => {
      await deleteNamespaces(namespace)
      await webhook?.remove()
    })

    test('patches while it is up', async () => {
      const { code, stderr } = await tryCreate([asking('up')])
      assert.equal(code, 0, stderr)
      assert.equal((await getPod(namespace, 'up')).spec.containers[0]?.name, 'sidecar')
    })

    test(failurePolicy === 'Fail' ? 'refuses pods' : 'lets pods through as they are', async () => {
      await webhook?.stopServer()
      const { code, stderr } = await tryCreate([asking('down')])
      if (failurePolicy === 'Fail') {
        assert.equal(code, 1)
        assert.match(stderr, /failed calling webhook "pods\.sidecar-first\.dev"/)
        await assert.rejects(getPod(namespace, 'down'))
      } else {
        assert.equal(code, 0, stderr)
        assert.equal((await getPod(namespace, 'down')).spec.containers[0]?.name, 'app')
      }
    })
  })
}
