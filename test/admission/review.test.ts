import assert from 'node:assert/strict'
import { test } from 'node:test'
import { review } from '../../src/admission/review.ts'
import { after, app, configuration, type Fields, pod, ready } from './pods.ts'

const asking = pod({ sidecars: 'envoy' }, [app, { name: 'envoy', readinessProbe: ready }])
const request = {
  uid: 'u-1',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  operation: 'CREATE',
  namespace: 'shop',
  object: asking,
}
const asked = (changes: Fields = {}, root: Fields = {}) =>
  review(
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...request, ...changes }, ...root },
    configuration,
  )

function answered(changes: Fields = {}) {
  const result = asked(changes)
  assert.ok(result.ok)
  return result
}

test('a pod that asks gets its patch, the uid echoed, audit annotations beside', () => {
  const { response, facts } = answered({ dryRun: true })
  assert.equal(response.uid, 'u-1')
  assert.equal(response.allowed, true)
  assert.ok(Array.isArray(JSON.parse(response.patch ?? '')))
  assert.deepEqual(response.auditAnnotations, {
    verdict: 'patched',
    reason: 'starts envoy, before app',
    tiers: 'envoy',
  })
  assert.deepEqual(facts, { namespace: 'shop', name: 'web', operation: 'CREATE', dryRun: true })
})

test('what is already right gets no patch at all, not an empty one', () => {
  const { response } = answered({ object: after(asking) })
  assert.ok(!('patch' in response))
  assert.equal(response.auditAnnotations?.verdict, 'unchanged')
})

test('a refusal lists all problems, each naming its annotation, where the user reads it', () => {
  const object = pod({ sidecars: 'envoy', timeout: 'x', 'check/envoy': 'y', gate: 'z' }, [app, { name: 'envoy' }])
  const { response } = answered({ object })
  assert.equal(response.allowed, false)
  assert.ok(!('patch' in response))
  assert.equal(response.status?.code, 400)
  assert.match(response.status?.message ?? '', /^3 problems: \(1\) /)
  for (const key of ['sidecar-first.dev/timeout', 'check.sidecar-first.dev/envoy', 'sidecar-first.dev/gate'])
    assert.ok(response.status?.message.includes(`${key}: `), key)
})

test('audit annotation keys are names without a slash', () => {
  for (const key of Object.keys(answered().response.auditAnnotations ?? {})) assert.match(key, /^[a-z-]+$/)
})

for (const [what, changes] of Object.entries<Fields>({
  UPDATE: { operation: 'UPDATE' },
  DELETE: { operation: 'DELETE', object: null, oldObject: asking },
  CONNECT: { operation: 'CONNECT', subResource: 'exec', object: {} },
  'no operation': { operation: null },
  'a subresource': { subResource: 'ephemeralcontainers' },
  'a Deployment': { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } },
  'a Pod of another group': { kind: { group: 'metrics.k8s.io', version: 'v1', kind: 'Pod' } },
  'no kind': { kind: null },
  'an object that is null': { object: null },
})) {
  test(`${what} is allowed and left alone`, () => {
    const { response, decision } = answered(changes)
    assert.ok(response.allowed && !('patch' in response))
    assert.notEqual(decision.verdict, 'patched')
  })
}

for (const [what, body, problem] of [
  ['null', null, /apiVersion/],
  ['a list', [], /apiVersion/],
  ['text', 'x', /kind/],
  [
    'v1beta1',
    { apiVersion: 'admission.k8s.io/v1beta1', kind: 'AdmissionReview', request },
    /apiVersion: expected admission.k8s.io\/v1/,
  ],
  ['another kind', { apiVersion: 'admission.k8s.io/v1', kind: 'Pod', request }, /kind: expected AdmissionReview/],
  ['no request', { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, /request: expected one/],
  [
    'a null request',
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: null },
    /request: expected one/,
  ],
  [
    'no uid',
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...request, uid: undefined } },
    /request.uid/,
  ],
  [
    'a uid that is a number',
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...request, uid: 7 } },
    /request.uid/,
  ],
] as const) {
  test(`${what} is no review`, () => {
    const result = review(body, configuration)
    assert.ok(!result.ok)
    assert.match(result.problems.join('\n'), problem)
  })
}

test('an object that is no map is refused', () => {
  const { response } = answered({ object: [] })
  assert.deepEqual([response.allowed, response.status?.message], [false, 'pod: expected a map'])
})

test('observe patches and refuses nothing, and says what it would do', () => {
  const observing = { ...configuration, mode: 'observe' } as const
  const bad = pod({ sidecars: ',' }, [app])
  for (const [object, would] of [
    [asking, /would change this: starts envoy/],
    [bad, /would refuse this: sidecar-first.dev\/sidecars/],
  ] as const) {
    const result = review(
      { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...request, object } },
      observing,
    )
    assert.ok(result.ok && result.response.allowed && !('patch' in result.response))
    assert.match(result.response.warnings?.[0] ?? '', would)
  }
})

test('invalid: warn lets a bad pod through untouched, with a warning', () => {
  const lenient = { ...configuration, invalid: 'warn' } as const
  const object = pod({ sidecars: ',' }, [app])
  const result = review(
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { ...request, object } },
    lenient,
  )
  assert.ok(result.ok && result.response.allowed && !('patch' in result.response))
  assert.match(result.response.warnings?.[0] ?? '', /left untouched: sidecar-first.dev\/sidecars: /)
})

test('a name is the generateName with a star, where there is no other', () => {
  for (const [metadata, name] of [
    [{ generateName: 'web-' }, 'web-*'],
    [{ name: 'a', generateName: 'b' }, 'a'],
    [{}, ''],
  ] as const) {
    assert.equal(answered({ object: { metadata } }).facts.name, name)
  }
})
