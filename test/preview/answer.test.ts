import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { answerPreview } from '../../src/preview/answer.ts'
import { large, share } from '../runs.ts'
import { wanted } from './wanted.ts'

const pod = `kind: Pod
metadata:
  name: p
  annotations: {sidecar-first.dev/sidecars: proxy}
spec:
  containers:
  - name: app # the app
  - name: proxy
    terminationGracePeriod: 12345678901234567890
`
const refused = pod.replace('sidecars: proxy', 'sidecars: "a,,b"')

const answer = (body: string, { type, accept, query = '' }: { type?: string; accept?: string; query?: string } = {}) =>
  answerPreview({ body, contentType: type, wanted: wanted(accept), query }, defaultConfiguration('0.0.0'))

test('JSON unless something else is asked for', () => {
  for (const accept of [
    undefined,
    '*/*',
    'application/*',
    'text/html, */*;q=0.1',
    'application/json',
    'application/yaml;q=0.5, application/json',
  ]) {
    const { status, contentType, body } = answer(pod, accept === undefined ? {} : { accept })
    assert.deepEqual([status, contentType], [200, 'application/json'], accept)
    assert.match(body, /12345678901234567890/)
    const { results } = JSON.parse(body)
    assert.deepEqual([results.length, results[0].verdict], [1, 'patched'])
  }
})

test('the bare patch of one object', () => {
  const accept = 'application/json-patch+json'
  const one = answer(pod, { accept })
  assert.deepEqual([one.status, one.contentType], [200, accept])
  assert.equal(JSON.parse(one.body)[0].op, 'move')
  assert.deepEqual(answer('kind: Secret', { accept }).body, '[]')
  const two = answer(`${pod}---\n${pod}`, { accept })
  assert.deepEqual([two.status, two.contentType], [406, 'application/json'])
  assert.match(JSON.parse(two.body).error, /for one object, and here are 2/)
})

test('patched manifests, by any name YAML has', () => {
  for (const accept of [
    'application/yaml',
    'text/yaml',
    'application/x-yaml',
    'application/json;q=0.2, text/yaml;q=0.8',
    'application/json;q=0, */*;q=0.1, application/yaml',
  ]) {
    const { status, contentType, body } = answer(`${pod}---\n# other\nkind:  Secret\n`, { accept })
    assert.equal(status, 200)
    assert.match(contentType, /yaml$/)
    assert.match(
      body,
      /containers:\n {2}- name: proxy\n(?:.*\n)* {2}- name: app # the app\n(?:.*\n)*---\n# other\nkind: {2}Secret\n$/,
    )
  }
})

test('one refusal: 422 with every reason, but JSON tells of all', () => {
  for (const accept of ['application/yaml', 'application/json-patch+json']) {
    const { status, contentType, body } = answer(refused, { accept })
    assert.deepEqual([status, contentType], [422, 'application/json'])
    const { error, problems } = JSON.parse(body)
    assert.equal(error, 'the object is refused')
    assert.match(problems.join(), /^Pod p: .*sidecar-first.dev\/sidecars/)
  }
  assert.match(
    JSON.parse(answer(`${pod}---\n${refused}`, { accept: 'text/yaml' }).body).error,
    /^1 of 2 objects is refused/,
  )
  assert.equal(answer(refused).status, 200)
})

test('what can not be read is a 400 with the places, what can not be sent a 406, what is not read a 415', () => {
  const broken = answer('kind: Pod\n---\na: 1\nb: [')
  assert.deepEqual([broken.status, broken.contentType], [400, 'application/json'])
  assert.match(JSON.parse(broken.body).problems.join(), /^document 2, line 4, column 5: SF405 invalid YAML/)
  assert.match(JSON.parse(answer('').body).error, /there is no manifest/)
  assert.equal(answer('').status, 400)
  for (const accept of ['text/html', 'application/json;q=0', 'image/*', 'nonsense', 'application/json;q=x']) {
    assert.equal(answer(pod, { accept }).status, 406, accept)
  }
  for (const type of [
    'application/yaml',
    'application/json; charset=utf-8',
    'TEXT/YAML',
    'application/x-www-form-urlencoded',
    'text/plain',
  ]) {
    assert.equal(answer(pod, { type }).status, 200, type)
  }
  assert.equal(answer(pod, { type: 'multipart/form-data; boundary=x' }).status, 415)
})

test('an answer has a limit, whatever was sent', large, () => {
  const containers = [{ name: 'a', args: ['x'.repeat(1_000_000)] }, { name: 'b' }]
  const item = { kind: 'Pod', metadata: { annotations: { 'sidecar-first.dev/sidecars': 'b' } }, spec: { containers } }
  const answered = (count: number) => answer(JSON.stringify({ kind: 'List', items: Array(count).fill(item) }))
  assert.equal(answered(2).status, 200)
  const { status, body } = answered(30)
  assert.equal(status, 413)
  assert.match(JSON.parse(body).error, /the answer would be longer than 29360128 characters; send fewer/)
})

test('the namespace of the query is for objects that name none and live in one', () => {
  const named = pod.replace('name: p', 'name: p\n  namespace: own')
  const { body } = answer(`${pod}---\n${named}---\nkind: ClusterRole\n`, { query: 'namespace=shop' })
  assert.deepEqual(
    JSON.parse(body).results.map(({ namespace }: { namespace: string }) => namespace),
    ['shop', 'own', ''],
  )
})

test('the whole input as it would be, what is refused as it came', () => {
  const { body } = answer(`${pod}---\n${refused}`, { query: 'include=manifests' })
  const { results, manifests } = JSON.parse(body)
  assert.deepEqual(
    results.map(({ verdict }: { verdict: string }) => verdict),
    ['patched', 'refused'],
  )
  assert(manifests.endsWith(`---\n${refused}`))
  assert.match(manifests, /- name: app # the app/)
  assert(manifests.indexOf('- name: proxy') < manifests.indexOf('- name: app'))
})

test('a query that is not understood is a 400 that says what there is', () => {
  for (const [query, problem] of [
    ['namespce=shop', /"namespce" is unknown; use namespace or include/],
    ['namespace=Shop', /"Shop" is not a namespace name/],
    ['namespace=', /is not a namespace name/],
    ['include=patch', /"patch" is unknown; use manifests/],
  ] as const) {
    const { status, body } = answer(pod, { query })
    assert.equal(status, 400, query)
    assert.match(JSON.parse(body).problems.join(), problem)
  }
})

test('warnings are a header too, each one value, bounded', () => {
  const { body, headers } = answer(pod)
  const [{ messages }] = JSON.parse(body).results
  assert(messages.length > 0)
  assert.deepEqual(
    headers?.warning,
    messages.map(({ code, text }: Record<string, string>) => `299 - "${code} ${text?.replaceAll('"', '\\"')}"`),
  )
  assert.deepEqual(answer(pod, { accept: 'application/yaml' }).headers?.warning, headers?.warning)
  const odd = answer(`${pod}---\n${pod.replace('name: p\n', 'name: "é\\\\\\"\\n日"\n')}`).headers?.warning ?? []
  assert.match(Buffer.from(odd.at(-1) ?? '', 'latin1').toString(), /^299 - "Pod é\\\\\\" 日: SF\d+ proxy/)
  const many = answer(`${pod}---\n`.repeat(100)).headers?.warning ?? []
  assert(Array.isArray(many) && many.join().length < 5000, String(many.length))
  assert.match(many.at(-1) ?? '', /^299 - "and \d+ more warnings"$/)
  assert.equal(answer('kind: Secret').headers, undefined)
})

test('however many problems, a hundred are told', large, () => {
  // of JSON as much as a request may hold: what looks back for each problem never ends
  const twice = (member: string) => `{${member.repeat(6_000_000 / member.length)}"b":2}`
  const all = ['a:\n'.repeat(150_000), 'kind: \n---\n'.repeat(1000), twice('"a":1,'), twice('"a":1,\n')]
  for (const text of share(all)) {
    const { status, body } = answer(text)
    assert.equal(status, 400)
    assert.equal(JSON.parse(body).problems.length, 100)
  }
})
