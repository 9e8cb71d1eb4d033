import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, app, type Container, names, type Pod, pod, ready } from '../pods.ts'

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

test('no sidecar is moved in front of a mesh proxy that waits, whatever another injector puts before them later', () => {
  const proxy = { name: 'istio-proxy', lifecycle: { postStart: { exec: { command: ['pilot-agent', 'wait'] } } } }
  const agent = { name: 'vault-agent', readinessProbe: ready }
  const made = after(pod({ sidecars: 'vault-agent' }, [proxy, app, agent]))
  assert.deepEqual(names(made), ['istio-proxy', 'vault-agent', 'app'])
  const late: Pod = { ...made, spec: { ...made.spec, containers: [{ name: 'late' }, ...made.spec.containers] } }
  assert.deepEqual(names(after(late)), ['istio-proxy', 'vault-agent', 'late', 'app'])
  assert.deepEqual(after(after(late)), after(late))
})

test('regular containers keep their order where all sidecars are native', () => {
  const proxy = { name: 'istio-proxy', lifecycle: { postStart: { exec: { command: ['pilot-agent', 'wait'] } } } }
  const made = after(pod({ sidecars: 'envoy', gate: 'native' }, [app, proxy, native('envoy')].map(regular)))
  assert.deepEqual(names(made), ['app', 'istio-proxy'])
})

const regular = ({ restartPolicy, ...container }: Container): Container => container
