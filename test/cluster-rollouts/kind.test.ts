import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { SidecarRollout } from '../../rollouts/types.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { installKind } from '../rollouts/client/cluster-fixture.ts'

let api: ApiServer
before(async () => {
  api = await startApiServer()
  await installKind(api)
})
after(() => api?.stop())

const rolloutOf = (spec: object = {}) => ({
  apiVersion: 'sidecar-first.dev/v1alpha1',
  kind: 'SidecarRollout',
  metadata: { name: 'envoy' },
  spec: { selector: { matchLabels: { app: 'shop' } }, container: 'envoy', image: 'envoy:v2', ...spec },
})
const create = (spec: object) =>
  api.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], JSON.stringify(rolloutOf(spec)))
const refusal = (spec: object) =>
  create(spec).then(
    () => 'not refused',
    (error: Error) => error.message,
  )

test('the schema fills in the defaults', async () => {
  const { spec }: SidecarRollout = JSON.parse(await create({ strategy: {} }))
  assert.deepEqual(spec.strategy, {
    partition: 0,
    maxUnavailable: 1,
    minReadySeconds: 10,
    bakeSeconds: 60,
    progressDeadlineSeconds: 300,
    maxFailures: 0,
    rest: 'base',
    onFailure: 'pause',
    judge: 'Pod',
    paused: false,
  })
})

test('images that registries take', async () => {
  for (const image of [
    'envoy',
    'Registry.example:5000/team/envoy:v1',
    'localhost:5000/a/b_c/d-e:V1.2-x',
    `r.io/envoy:v1@sha256:${'a'.repeat(64)}`,
  ]) {
    await create({ image })
  }
})

test('what no registry takes, and impossible label keys, are refused', async () => {
  for (const image of ['Example/Envoy:1', 'a:1:2', 'a/b:', 'a//b', 'a b', '-a', 'a@sha256:1']) {
    assert.match(await refusal({ image }), /spec\.image/, image)
  }
  for (const key of ['a b', '/a', 'a/', 'A.b/c', 'a'.repeat(64), '-a']) {
    assert.match(await refusal({ selector: { matchLabels: { [key]: 'b' } } }), /label's key/, key)
    const matchExpressions = [{ key, operator: 'Exists' }]
    assert.match(await refusal({ selector: { matchExpressions } }), /spec\.selector\.matchExpressions/, key)
  }
  assert.match(await refusal({ strategy: { maxFailures: '101%' } }), /maxFailures/)
  assert.match(await refusal({ selector: {} }), /an empty selector/)
})

test('the kind is in the category sidecar-first', async () => {
  const resources = await api.kubectl(['api-resources', '--categories=sidecar-first', '-o', 'name'])
  assert.equal(resources.trim(), 'sidecarrollouts.sidecar-first.dev')
})
