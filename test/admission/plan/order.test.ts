import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, app, type Container, type Pod, pod, ready } from '../pods.ts'

const native = (name: string): Container => ({ name, image: name, restartPolicy: 'Always', readinessProbe: ready })
const initNames = (object: Pod) => ((object.spec.initContainers ?? []) as readonly Container[]).map(({ name }) => name)

test('an existing native sidecar never moves behind an init container that stood after it', () => {
  const given = pod({ sidecars: 's2,s1' }, [app], {
    initContainers: [native('s1'), { name: 'migrate', image: 'x' }, native('s2')],
  })
  const made = after(given)
  assert.deepEqual(initNames(made), ['sidecar-first-waiter', 's2', 's1', 'migrate'])
  assert.deepEqual(after(made), made)
})
