import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { create, createNamespace, deleteNamespaces, tryCreate } from './cluster.ts'
import { type FakeInjector, injectKey, startFakeInjector } from './injector.ts'
import { hasLock, lockRefused } from './kubernetes.ts'
import { app, type Container, firstLineOf, getPod, late, logOf, markOf, pod } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

describe('an injector beside sidecar-first', () => {
  const [before_, after_, insisting] = ['injector-before', 'injector-after', 'injector-insisting']
  const [forgetful, forgetting] = ['injector-forgetful', 'injector-forgetting']
  const namespaces = [before_, after_, insisting, forgetful, forgetting]
  let webhook: Webhook | undefined
  const injectors: FakeInjector[] = []
  before(async () => {
    webhook = await startWebhook('injector', { rules })
    for (const injector of namespaces) await createNamespace(injector, { test: 'injector', injector })
    injectors.push(
      await startFakeInjector('aa-fake-injector', { injector: before_ }),
      await startFakeInjector('zzz-fake-injector', { injector: after_ }),
      await startFakeInjector('zzz-fake-injector-insisting', { injector: insisting }, { insists: true }),
      await startFakeInjector('zzz-fake-injector-forgetful', { injector: forgetful }, { forgets: 'once' }),
      await startFakeInjector('zzz-fake-injector-forgetting', { injector: forgetting }, { forgets: 'reinvoked' }),
    )
    await create(
      pod(after_, 'annotated', [app(), late('sidecar', 15_021)], { annotations: { ...asked, ...injects(other) } }),
      pod(before_, 'ruled', [app()], { annotations: injects(late('ruled', 15_021)) }),
    )
  })
  after(async () => {
    await deleteNamespaces(...namespaces)
    for (const injector of injectors) await injector.remove()
    await webhook?.remove()
  })

  test('after us: what it puts in front is made right by reinvocation', async () => {
    assert.deepEqual(await order(after_, 'annotated'), ['sidecar', 'other', 'app'])
    const log = await logOf(after_, 'annotated')
    assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    assert.ok(firstLineOf(log, 'other') >= markOf(log, 'sidecar', 'ready'))
  })

  test('before us: the sidecar that it adds is found by a rule', async () => {
    assert.deepEqual(await order(before_, 'ruled'), ['ruled', 'app'])
    const log = await logOf(before_, 'ruled')
    assert.ok(firstLineOf(log) >= markOf(log, 'ruled', 'ready'))
  })

  // In the first round nothing of the pod concerns us, so the API server calls us in no other one.
  test('after us, adding the very sidecar that concerns us: the pod is refused', async () => {
    const { code, stderr } = await tryCreate([
      pod(after_, 'ruled', [app()], { annotations: injects(late('ruled', 15_021)) }),
    ])
    assert.equal(code, 1)
    assert.match(stderr, /denied the request: .*ruled lacks the PostStart hook/)
    assert.match(stderr, /sidecar-first was not called: run "sidecar-first check"/)
  })

  // Reinvoked after our reinvocation, it has the last word.
  const madeRight = hasLock
    ? 'made right by reinvocation'
    : 'the API server does not know it either, and refuses the pod'
  test(`after us, with libraries that don't know what locks an app: ${madeRight}`, async () => {
    const { code, stderr, stdout } = await tryCreate([locked(forgetful)], '--dry-run=server', '-o', 'json')
    if (!hasLock) {
      assert.match(stderr, lockRefused)
      return
    }
    assert.equal(code, 0, stderr)
    assert.match(stdout, /"fileKeyRef": \{\s*"key": "SIDECAR_FIRST_READY_1_[A-Z]+"/)
  })

  test('after us and called again, with such libraries: the API server refuses the pod and names the variable', async () => {
    const { code, stderr } = await tryCreate([locked(forgetting)], '--dry-run=server')
    assert.equal(code, 1)
    assert.match(stderr, /env\[0\]\.valueFrom|hasn't exactly the variables/)
  })

  test('after us, insisting on the first place: the pod is refused, with who stands where', async () => {
    const { code, stderr } = await tryCreate([
      pod(insisting, 'annotated', [app(), late('sidecar', 15_021)], { annotations: { ...asked, ...injects(other) } }),
    ])
    assert.equal(code, 1)
    assert.match(stderr, /sidecar has to be at spec\.containers\[0\], before other, which is there now/)
  })

  const order = async (namespace: string, name: string) =>
    (await getPod(namespace, name)).spec.containers.map((container) => container.name)
})

const rules = `
- name: injected
  match: {container: ruled}
  tier: 1
  enforce: true
`
const locked = (namespace: string) =>
  pod(namespace, 'locked', [app(), late('sidecar', 15_021)], {
    annotations: { ...asked, 'sidecar-first.dev/lock': 'on' },
  })
const asked = { 'sidecar-first.dev/sidecars': 'sidecar' }
const injects = (container: Container) => ({ [injectKey]: JSON.stringify(container) })
/** Nobody's sidecar. */
const other: Container = { ...app(), name: 'other' }
