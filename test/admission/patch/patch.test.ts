import assert from 'node:assert/strict'
import { test } from 'node:test'
import { after, app, type Container, decided, type Fields, pod, ready } from '../pods.ts'

// What has been done to a patched pod since, and how far that takes it from its plan.
const envoy: Container = { name: 'envoy', image: 'envoy', readinessProbe: ready }
const native: Container = { ...envoy, startupProbe: { ...ready, periodSeconds: 10, failureThreshold: 3 } }
type Spec = { containers: Fields[]; initContainers: Fields[]; volumes: Fields[] }
const changeAfter = (edit: (spec: Spec) => void, annotations: Fields = {}, sidecar = envoy) => {
  const made = structuredClone(after(pod({ sidecars: 'envoy', ...annotations }, [app, sidecar])))
  edit(made.spec as unknown as Spec)
  const decision = decided(made)
  return decision.verdict === 'patched' ? decision.change : decision.verdict
}
const withMounts = (each: Fields | undefined, volumeMounts: Fields[]) => Object.assign(each ?? {}, { volumeMounts })

test('a pod that starts in another order or without its gate is far from its plan', () => {
  assert.equal(
    changeAfter(({ containers }) => void containers.reverse()),
    'order',
  )
  assert.equal(
    changeAfter(({ containers: [first] }) => void Object.assign(first ?? {}, { lifecycle: {} })),
    'order',
  )
})

test('whatever else is missing is a detail, each by itself', () => {
  assert.equal(
    changeAfter(() => undefined),
    'unchanged',
  )
  assert.equal(
    changeAfter(({ containers: [first] }) => void withMounts(first, [])),
    'details',
  )
  assert.equal(
    changeAfter((spec) => void Object.assign(spec, { volumes: [] })),
    'details',
  )
  assert.equal(
    changeAfter((spec) => void Object.assign(spec, { initContainers: [] })),
    'details',
  )
  const other = {
    postStart: { exec: { command: ['/.sidecar-first/wait', '--spec', '{"v":1,"checks":[],"message":""}'] } },
  }
  assert.equal(
    changeAfter(({ containers: [first] }) => void Object.assign(first ?? {}, { lifecycle: other })),
    'details',
  )
})

test('an annotation alone is a note', () => {
  const made = after(pod({ sidecars: 'envoy' }, [app, envoy]))
  const { 'sidecar-first.dev/status': _, ...annotations } = made.metadata.annotations as Fields
  const decision = decided({ ...made, metadata: { ...made.metadata, annotations } })
  assert.equal(decision.verdict === 'patched' && decision.change, 'notes')
})

test('a startupProbe that is to be asked more often is a detail', () => {
  const slower = ({ initContainers }: Spec) =>
    void Object.assign(initContainers.find(({ name }) => name === 'envoy') ?? {}, { startupProbe: native.startupProbe })
  assert.equal(changeAfter(slower, { gate: 'native', 'startup-probe': 'eager' }, native), 'details')
})

test('so is a part of the lock that is missing, each by itself', () => {
  const lock = { lock: 'on' }
  const isLock = ({ name }: Fields) => name === 'sidecar-first-lock'
  assert.equal(
    changeAfter(() => undefined, lock),
    'unchanged',
  )
  const without = (each: Fields | undefined) =>
    void withMounts(
      each,
      ((each?.volumeMounts ?? []) as Fields[]).filter((mount) => !isLock(mount)),
    )
  assert.equal(
    changeAfter(({ containers: [first] }) => without(first), lock),
    'details',
  )
  assert.equal(
    changeAfter((spec) => void Object.assign(spec, { volumes: spec.volumes.filter((each) => !isLock(each)) }), lock),
    'details',
  )
  assert.equal(
    changeAfter(({ containers: [, second] }) => void Object.assign(second ?? {}, { env: [] }), lock),
    'details',
  )
  const command = ['/wait', 'install', '/.sidecar-first']
  assert.equal(
    changeAfter(({ initContainers: [installer] }) => void Object.assign(installer ?? {}, { command }), lock),
    'details',
  )
})
