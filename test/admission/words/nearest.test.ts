import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../../src/admission/decide.ts'
import { reviewFinal } from '../../../src/admission/review.ts'
import { inOurDomain, isOurs } from '../../../src/admission/words/keys.ts'
import { textOf } from '../../../src/admission/words/messages.ts'
import { isNear, slipOf } from '../../../src/admission/words/nearest.ts'
import { runs } from '../../runs.ts'
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

test('a key is only spared the comparison with our domain where it would find nothing', () => {
  const domain = 'sidecar-first.dev'
  const letters = [...domain, 'x', 'ü', '🙂']
  const mistake = fc.tuple(
    fc.nat(domain.length),
    fc.constantFrom('put', 'drop', 'swap' as const),
    fc.constantFrom(...letters),
  )
  const mistyped = fc.array(mistake, { maxLength: 6 }).map((mistakes) => {
    const text = [...domain]
    for (const [at, what, letter] of mistakes) {
      text.splice(at, what === 'put' ? 0 : 1, ...(what === 'drop' ? [] : [letter]))
    }
    return text.join('')
  })
  fc.assert(
    fc.property(fc.oneof(mistyped, fc.string()), (text) => {
      fc.pre(!text.includes('/') && !isOurs(`${text}/`))
      assert.equal(inOurDomain(`${text}/gate`), isNear(text, domain, 3) ? `${domain}/gate` : undefined)
    }),
    runs(1000),
  )
  for (const key of ['sidecar.istio.io/inject', 'config.linkerd.io/skip', 'vault.hashicorp.com/role'])
    assert.equal(inOurDomain(key), undefined)
})

test('a slip is of letters: another number is another name, and the nearest is meant', () => {
  assert.equal(slipOf('envoyy', ['app', 'envoy']), 'envoy')
  assert.equal(slipOf('prox-1', ['proxy-2', 'proxy-1']), 'proxy-1')
  assert.equal(slipOf('proxy-3', ['proxy-1', 'proxy-2']), undefined)
  assert.equal(slipOf('web1', ['web']), undefined)
})
