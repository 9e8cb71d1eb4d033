import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { after, type Container, type Fields, pod, ready } from '../pods.ts'

/** Whom the init container that copies the waiter names, in a pod of an app and a sidecar. */
function named(spec: Fields | undefined, app: Fields | undefined, sidecar: Fields | undefined): Fields {
  const run = (securityContext: Fields | undefined) => (securityContext ? { securityContext } : {})
  const given = pod(
    { sidecars: 'envoy', waiter: 'init-container' },
    [
      { name: 'envoy', readinessProbe: ready, ...run(sidecar) },
      { name: 'app', ...run(app) },
    ],
    run(spec),
  )
  const once = after(given)
  assert.deepEqual(after(once), once)
  const [init] = once.spec.initContainers as readonly Container[]
  assert.ok(init)
  const { runAsNonRoot, runAsUser, runAsGroup } = init.securityContext as Fields
  assert.equal(runAsNonRoot, true)
  return { ...(runAsUser !== undefined && { runAsUser }), ...(runAsGroup !== undefined && { runAsGroup }) }
}

test('the init container that copies the waiter drops what the first sidecar drops by name', () => {
  const dropped = (drop: Fields[string]) => {
    const securityContext = { capabilities: { drop } }
    const envoy = { name: 'envoy', readinessProbe: ready, securityContext }
    const once = after(pod({ sidecars: 'envoy', waiter: 'init-container' }, [envoy, { name: 'app' }]))
    const [init] = once.spec.initContainers as readonly Container[]
    assert.ok(init)
    return ((init.securityContext as Fields).capabilities as Fields).drop
  }
  assert.deepEqual(dropped(null), ['ALL'])
  assert.deepEqual(dropped(['CAP_NET_RAW', 'ALL', 'NET_ADMIN', 'NET_ADMIN']), ['ALL', 'CAP_NET_RAW', 'NET_ADMIN'])
  assert.deepEqual(dropped(['all', 7, 'X'.repeat(100), 'NET RAW', null]), ['ALL'], 'what is no capability')
  assert.deepEqual(dropped('ALL'), ['ALL'])
})

describe('the user of the init container that copies the waiter', () => {
  test("is the pod's, or the image's, and isn't named", () => {
    assert.deepEqual(named({ runAsUser: 1000, runAsGroup: 1000 }, undefined, undefined), {})
    assert.deepEqual(named({ runAsUser: 1000 }, { runAsUser: 1001 }, { runAsUser: 1337 }), {})
    assert.deepEqual(named(undefined, undefined, undefined), {})
    assert.deepEqual(named({ runAsNonRoot: true }, { runAsUser: 1001 }, undefined), {}, 'the sidecar goes without one')
  })

  test("is an app's where each container names its own: a policy may want that", () => {
    const sidecar = { runAsUser: 1337, runAsGroup: 1337 }
    assert.deepEqual(named(undefined, { runAsUser: 1000 }, sidecar), { runAsUser: 1000 })
    assert.deepEqual(named({ runAsNonRoot: true }, { runAsUser: 1000, runAsGroup: 2000 }, sidecar), {
      runAsUser: 1000,
      runAsGroup: 2000,
    })
    assert.deepEqual(named({ runAsUser: 1000 }, { runAsGroup: 2000 }, sidecar), { runAsGroup: 2000 })
  })

  test('is never root', () => {
    assert.deepEqual(named({ runAsUser: 0 }, undefined, undefined), { runAsUser: 65532 })
    assert.deepEqual(named({ runAsUser: 0 }, { runAsUser: 1000 }, { runAsUser: 1337 }), { runAsUser: 1000 })
    const root = { runAsUser: 0, runAsGroup: 0 }
    assert.deepEqual(named(undefined, root, { runAsUser: 1337, runAsGroup: 0 }), { runAsUser: 1337 })
    assert.deepEqual(named(undefined, root, root), {})
  })

  test('is nothing that only the author’s text says', () => {
    for (const runAsUser of ['1000', -1, 1.5, null, {}, [1]]) {
      assert.deepEqual(named(undefined, { runAsUser }, { runAsUser }), {}, JSON.stringify(runAsUser))
    }
  })
})
