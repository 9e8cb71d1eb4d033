import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createNamespace, deleteNamespaces, tryCreate } from './cluster.ts'
import { app, getPod, pod, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

// What reaches the person at kubectl, through a real API server.
describe('what kubectl prints', () => {
  const namespace = 'answer'
  let webhook: Webhook | undefined
  const ask = (name: string, annotations: Record<string, string>) =>
    tryCreate([pod(namespace, name, [app(), sidecar('sidecar', { HTTP: ':15021' })], { annotations })])
  before(async () => {
    webhook = await startWebhook('answer')
    await createNamespace(namespace, { test: 'answer' })
  })
  after(async () => {
    await deleteNamespaces(namespace)
    await webhook?.remove()
  })

  test('a refusal that names every annotation with a problem', async () => {
    const { code, stderr } = await ask('refused', {
      'sidecar-first.dev/sidecars': 'sidecar,,',
      'timeout.sidecar-first.dev/sidecar': 'soon',
    })
    assert.equal(code, 1)
    assert.match(stderr, /denied the request/)
    assert.match(stderr, /sidecar-first\.dev\/sidecars/)
    assert.match(stderr, /timeout\.sidecar-first\.dev\/sidecar/)
  })

  test('a warning for a sidecar that nothing can wait for', async () => {
    const { code, stderr } = await ask('warned', { 'sidecar-first.dev/sidecars': 'sidecar' })
    assert.equal(code, 0, stderr)
    assert.match(stderr, /^Warning: SF204 sidecar is started first but not waited for/m)
  })

  // The warning is for those who see nothing else: an injector might still add it. The final pod is refused.
  test('a warning and a refusal for a container that is not there', async () => {
    const { code, stderr } = await ask('absent', { 'sidecar-first.dev/sidecars': 'sidecar, otel' })
    assert.equal(code, 1)
    assert.match(stderr, /^Warning: .*otel/m)
    assert.match(stderr, /denied the request: .*otel/)
  })

  test('nothing for a pod that asks for nothing', async () => {
    const { code, stderr } = await ask('plain', {})
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    const { spec, metadata } = await getPod(namespace, 'plain')
    assert.equal(spec.containers[0]?.name, 'app')
    assert.equal(metadata.annotations?.['sidecar-first.dev/status'], undefined)
  })
})
