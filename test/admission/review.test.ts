import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Reviewed, review, reviewFinal, reviewMark, reviewUnlocked } from '../../src/admission/review.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { after, app, configuration, type Fields, names, pod, ready } from './pods.ts'

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
    const { response, verdict } = answered(changes)
    assert.ok(response.allowed && !('patch' in response))
    assert.notEqual(verdict, 'patched')
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
  ['no request', { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }, /request: expected a map/],
  [
    'a null request',
    { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: null },
    /request: expected a map/,
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
  assert.deepEqual([response.allowed, response.status?.message], [false, 'SF101 pod: expected a map'])
})

test('observe patches and refuses nothing, and says what it would do', () => {
  const observing = { ...configuration, mode: 'observe' } as const
  const bad = pod({ sidecars: ',' }, [app])
  for (const [object, would] of [
    [asking, /would change this: starts envoy/],
    [bad, /would refuse this: SF112 sidecar-first.dev\/sidecars/],
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
  assert.match(result.response.warnings?.[0] ?? '', /left untouched: SF112 sidecar-first.dev\/sidecars: /)
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

const set = setOf({ matchLabels: { team: 'a' } })
const text = `apiVersion: sidecar-first.dev/v1
kind: Configuration
rules: [{name: a, match: {container: envoy, namespaceSelector: {matchLabels: {team: a}}}, tier: 1}]
`
const withSet = (more = '') => {
  const read = readConfiguration(more + text, '0.0.0-test')
  assert.ok(read.ok)
  return read.configuration
}
const silent = pod({}, asking.spec.containers)
const body = (object: object) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { ...request, object },
})
const patchOf = (reviewed: Reviewed) => reviewed.ok && reviewed.response.patch && JSON.parse(reviewed.response.patch)

test('a set is marked, and nothing else is looked at', () => {
  const value = { 'sidecar-first.dev/sets': set }
  const path = '/metadata/annotations/sidecar-first.dev~1sets'
  for (const [object, patch] of [
    [silent, [{ op: 'add', path, value: set }]],
    [pod({ sets: 'other' }, []), [{ op: 'add', path, value: `other,${set}` }]],
    [{ metadata: {} }, [{ op: 'add', path: '/metadata/annotations', value }]],
    [{}, [{ op: 'add', path: '/metadata', value: { annotations: value } }]],
    [pod({ sets: `${set},other` }, []), undefined],
    // With the mark, the API server would refuse the pod for its annotations.
    [pod({ other: 'x'.repeat(256 * 1024 - 40) }, []), undefined],
    // No webhooks of ours have made so many: adding to them would cost all that they weigh.
    [pod({ sets: ','.repeat(100_000) }, []), [{ op: 'add', path, value: set }]],
  ] as const) {
    assert.deepEqual(patchOf(reviewMark(body(object), withSet(), set)), patch)
  }
})

test('a pod under an enforced rule for all namespaces is marked as that, where the webhook that plans asks for it', () => {
  const path = '/metadata/annotations/sidecar-first.dev~1sets'
  const reviewed = reviewMark(body(silent), configuration, 'enforced')
  assert.deepEqual(patchOf(reviewed), [{ op: 'add', path, value: 'enforced' }])
  assert.equal(reviewed.ok && reviewed.response.warnings, undefined)
})

test('marks that are there before the first set are removed', () => {
  const path = '/metadata/annotations/sidecar-first.dev~1sets'
  assert.deepEqual(patchOf(reviewMark(body(pod({ sets: set }, [])), withSet())), [{ op: 'remove', path }])
  assert.equal(patchOf(reviewMark(body(silent), withSet())), undefined)
})

test('a set that the configuration does not have is not marked, and a warning says what to do', () => {
  const reviewed = reviewMark(body(silent), withSet(), '0123456789')
  assert.equal(patchOf(reviewed), undefined)
  assert.match(reviewed.ok ? (reviewed.response.warnings?.join() ?? '') : '', /sidecar-first config/)
})

test('where there is no room for a mark, the path of 0.1 plans without it, and refuses nothing', () => {
  // Two bytes each: the API counts bytes.
  for (const filler of ['x'.repeat(256 * 1024 - 40), 'é'.repeat(128 * 1024 - 20)]) {
    const full = pod({ other: filler }, silent.spec.containers)
    assert.deepEqual(patchOf(reviewMark(body(full), withSet(), set)), undefined)
    const reviewed = reviewUnlocked(body(full), withSet(), set)
    const annotations = applyPatch(full, patchOf(reviewed)).metadata.annotations as Fields
    assert.deepEqual(Object.keys(annotations), ['sidecar-first.dev/other'])
    assert.deepEqual(names(applyPatch(full, patchOf(reviewed))), ['envoy', 'app'])
  }
})

test('where sidecar-first only observes, marks that an author wrote say nothing', () => {
  const observing = withSet('mode: observe\n')
  const forged = body(pod({ sets: set }, silent.spec.containers))
  const verdictOf = (reviewed: Reviewed) => reviewed.ok && reviewed.verdict
  assert.equal(verdictOf(review(forged, observing)), 'skipped')
  assert.equal(verdictOf(reviewMark(forged, observing, set)), 'patched', 'where the set selects the namespace')
})

test('observing marks nothing, and says what the set would change', () => {
  const reviewed = reviewMark(body(silent), withSet('mode: observe\n'), set)
  assert.equal(patchOf(reviewed), undefined)
  assert.match(reviewed.ok ? (reviewed.response.warnings?.join() ?? '') : '', /would change/)
})

test('the path that webhook configurations of 0.1 call marks and plans in one go', () => {
  const first = patchOf(reviewUnlocked(body(silent), withSet(), set))
  const made = applyPatch(silent, first)
  assert.equal((made.metadata.annotations as Fields)['sidecar-first.dev/sets'], set)
  assert.deepEqual(names(made), ['envoy', 'app'])
  for (const again of [review(body(made), withSet()), reviewUnlocked(body(made), withSet(), set)]) {
    assert.equal(again.ok && again.verdict, 'unchanged')
  }
  assert.equal(reviewFinal(body(made), withSet(), set).ok, true)
})

const ruled = (more: string) => {
  const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  const rule = `{name: mesh, match: {container: envoy}, tier: 1, ${more}}`
  const read = readConfiguration(`${head}rules: [${rule}]\n`, '0.0.0-test')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}
const hidden = { name: 'daemon', image: 'x', restartPolicy: 'Always' }
const both = pod({}, [app, { name: 'envoy', readinessProbe: ready }], { initContainers: [hidden] })
const under = (more: string, object: Fields, changes: Fields = {}) => {
  const root = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
  const result = review({ ...root, request: { ...request, ...changes, object } }, ruled(more))
  assert.ok(result.ok)
  return result
}

test('a rule that is audited refuses nothing, and says where people look what it would refuse', () => {
  assert.equal(under('enforce: true', both).response.allowed, false)
  const { response, notes, verdict } = under('enforce: audit', both)
  assert.equal(response.allowed, true)
  assert.equal(verdict, 'patched', 'as a rule that is not enforced')
  assert.match(response.warnings?.[0] ?? '', /^SF257 would be refused if enforce: audit were true: SF169 .*daemon/)
  assert.match(response.auditAnnotations?.audited ?? '', /^SF257 .*daemon/)
  assert.match(notes?.audited ?? '', /daemon/)
  assert.equal(
    under('enforce: audit', { ...both, spec: { containers: both.spec.containers } }).notes?.audited,
    undefined,
  )
})

test('an exemption is for the namespace that the pod is created in, and is told of', () => {
  const rule = 'enforce: true, exempt: [shop/w*]'
  for (const changes of [{}, { object: { ...both, metadata: { generateName: 'web-' } } }]) {
    const { response, notes } = under(rule, (changes.object ?? both) as Fields)
    assert.equal(response.allowed, true)
    assert.match(response.warnings?.[0] ?? '', /^SF258 .*mesh/)
    assert.deepEqual([response.auditAnnotations?.exempt, notes?.exempt], ['mesh', 'mesh'])
  }
  const elsewhere = { ...both, metadata: { ...both.metadata, namespace: 'shop' } }
  assert.equal(under(rule, elsewhere, { namespace: 'bank' }).response.allowed, false, 'not for what the pod says')
  assert.equal(under(rule, { ...both, metadata: { name: 'other' } }).response.allowed, false)
  // The API server cuts it to 58 characters, so in the end the name has no suffix.
  const long = { ...both, metadata: { generateName: `w${'a'.repeat(60)}-suffix-` } }
  assert.equal(under('enforce: true, exempt: ["shop/*-suffix-*"]', long).response.allowed, false)
})
