import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createNamespace, deleteNamespaces } from '../cluster/cluster.ts'
import { install, orderOf, startServe, stopServe, tryOut, uninstall } from './installation.ts'

describe('the manifests on a real node, failurePolicy Ignore for all namespaces', () => {
  const any = 'install-any'
  const out = 'install-opted-out'
  before(async () => {
    await install('cluster-wide')
    await createNamespace(any)
    await createNamespace(out, { 'sidecar-first.dev/injection': 'disabled' })
  })
  after(async () => {
    await uninstall('cluster-wide')
    await deleteNamespaces(any, out)
  })

  it('sees to pods of any namespace, but for those that opt out', async () => {
    assert.deepEqual(await orderOf(any), ['sidecar', 'app'])
    assert.deepEqual(await orderOf(out), ['app', 'sidecar'])
    assert.deepEqual(await orderOf(any, { labels: { 'sidecar-first.dev/inject': 'false' } }), ['app', 'sidecar'])
  })

  it("refuses an annotation that would run a command in the pod's sidecar", async () => {
    const { code, stderr } = await tryOut(any, { annotations: { 'check.sidecar-first.dev/sidecar': 'exec:["/x"]' } })
    assert.equal(code, 1)
    assert.match(stderr, /check\.sidecar-first\.dev\/sidecar/)
  })

  it('lets pods start as they are while all replicas are gone, and goes on when they are back', async () => {
    await stopServe()
    assert.deepEqual(await orderOf(any), ['app', 'sidecar'])
    await startServe()
    assert.deepEqual(await orderOf(any), ['sidecar', 'app'])
  })
})
