import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { reviewWorkload } from '../../src/admission/workload.ts'
import { app, configuration, type Fields, keyed, pod } from './pods.ts'

const { spec } = pod({}, [app, { name: 'envoy' }])
const deployment = (annotations: Fields, own: Fields = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', annotations: own },
  spec: { template: { metadata: { annotations: keyed(annotations) }, spec } },
})
function warned(object: unknown, kind = 'Deployment', more: Partial<Configuration> = {}) {
  const request = { uid: 'u', kind: { group: 'apps', version: 'v1', kind }, operation: 'UPDATE', object }
  const reviewed = reviewWorkload(
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request },
    { ...configuration, ...more },
  )
  assert.ok(reviewed.ok)
  const { allowed, patch, warnings = [] } = reviewed.response
  assert.deepEqual([allowed, patch], [true, undefined], 'it only ever warns')
  for (const each of warnings) assert.match(each, /^SF\d{3} [^\n]{1,249}$/)
  return warnings
}

test('a mistyped workload is told that its pods will be refused, for each reason, without costs', () => {
  const warnings = warned(deployment({ sidecars: 'envoy', gate: 'nativ', timeout: 'x' }))
  assert.equal(warnings.filter((text) => text.includes('its pods will be refused: SF')).length, 2)
  assert.doesNotMatch(warnings.join(), /emptyDir/)
  assert.match(
    warned(deployment({ sidecars: 'envoy', gate: 'nativ' }), 'Deployment', { mode: 'observe' }).join(),
    /only observes/,
  )
})

test('what an injector may add later is no matter, a misspelt container is', () => {
  assert.doesNotMatch(warned(deployment({ sidecars: 'envoy, istio-proxy' })).join(), /istio-proxy/)
  assert.match(warned(deployment({ sidecars: 'evnoy' })).join(), /did you mean envoy\?/)
})

test('a key on the workload itself is told where it belongs', () => {
  const warnings = warned(deployment({}, keyed({ sidecars: 'envoy' })))
  assert.match(warnings.join(), /no effect on the Deployment itself: write it in spec.template.metadata.annotations/)
})

for (const [what, object] of Object.entries({
  nothing: null,
  'no template': { kind: 'Rollout', spec: { workloadRef: {} } },
  'a template that is none': { kind: 'Rollout', spec: { template: 'x' } },
  'a list': [],
})) {
  test(`${what} is allowed without a word`, () => assert.deepEqual(warned(object, 'Rollout'), []))
}

test('ten thousand keys that nobody knows are at most fifteen warnings', () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, 'x']))
  assert.equal(warned(deployment({ sidecars: 'envoy', ...many })).length, 15)
})

test('a misspelt container has its pods refused, any other that is missing unless an injector adds it', () => {
  assert.match(
    warned(deployment({ sidecars: 'envoyy' })).join(),
    /its pods will be refused: SF173 .*did you mean envoy\?/,
  )
  assert.match(warned(deployment({ sidecars: 'envoy, vaultt' })).join(), /SF259 .*"vaultt".*refused unless an injector/)
})
