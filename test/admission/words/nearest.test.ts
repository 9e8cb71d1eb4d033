import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { reviewFinal } from '../../../src/admission/review.ts'
import { textOf } from '../../../src/admission/words/messages.ts'
import { app, configuration, pod, ready } from '../pods.ts'

const envoy = { name: 'envoy', readinessProbe: ready }
const told = (annotations: Record<string, string>, containers = [app, envoy]) => {
  const { reasons, warnings } = decide(pod(annotations, containers), configuration)
  return [...reasons, ...warnings].map(textOf).join('\n')
}

test('a misspelt key, container, value or check is told with what was probably meant', () => {
  assert.match(
    told({ sidecar: 'envoy' }),
    /sidecar-first.dev\/sidecar has no effect.*; did you mean sidecar-first.dev\/sidecars\?/,
  )
  assert.match(
    told({ sidecars: 'envoy', 'timout/envoy': '3s' }),
    /timout.sidecar-first.dev\/envoy has no effect.*; did you mean timeout.sidecar-first.dev\/envoy\?/,
  )
  assert.match(told({ sidecars: 'evnoy' }), /names "evnoy".*; did you mean envoy\?/)
  assert.match(told({ sidecars: 'envoy', gate: 'nativ' }), /"nativ" is not one of .*; did you mean native\?/)
  assert.match(told({ sidecars: 'envoy', 'check/envoy': 'htp://:80' }), /is not a check; .*; did you mean http\?/)
})

test('nothing is guessed where nothing is near, and a key with control characters stays on one line', () => {
  assert.doesNotMatch(told({ sidecars: 'zookeeper', nonsense: 'x', gate: '5' }), /did you mean/)
  assert.doesNotMatch(told({ 'timout/\u001b]0;x\u0007\n': '3s', sidecars: 'envoy' }), /\p{Cc}(?<!\n)/u)
})

test('a hint is not counted as a problem', () => {
  const request = {
    uid: 'u',
    kind: { group: '', kind: 'Pod' },
    operation: 'CREATE',
    object: pod({ sidecars: 'envoy' }, [app, envoy]),
  }
  const reviewed = reviewFinal({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }, configuration)
  assert.ok(reviewed.ok)
  const { message = '' } = reviewed.response.status ?? {}
  const [, count = ''] = /^(\d+) problems: /.exec(message) ?? []
  assert.equal([...message.matchAll(/\(\d+\) /g)].length, Number(count))
  assert.match(message, /; SF146 another webhook may have changed/)
  assert.doesNotMatch(message, /\(\d+\) SF146/)
})
