import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/configuration.ts'
import { answerPreview } from '../../src/preview/answer.ts'

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

const answer = (body: string, { type, accept }: { type?: string; accept?: string } = {}) =>
  answerPreview(body, type, accept, defaultConfiguration('0.0.0'))

test('JSON unless something else is asked for', () => {
  for (const accept of [
    undefined,
    '',
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
  assert.match(JSON.parse(broken.body).problems.join(), /^document 2, line 4, column 5: no valid YAML/)
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

test('YAML has a limit of its own, JSON has not', () => {
  const filler = (text: string) => text.replace('metadata:', `metadata: # ${'x'.repeat(512 * 1024)}\n`)
  const { status, contentType, body } = answer(filler(pod))
  assert.deepEqual([status, contentType], [413, 'application/json'])
  assert.match(JSON.parse(body).error, /YAML can be 524288 characters long/)
  const json = (end: string) => `{"kind":"Pod","metadata":{"name":"${'x'.repeat(512 * 1024)}"}${end}`
  assert.equal(answer(json('}')).status, 200)
  assert.equal(answer(json('')).status, 413)
})

test('however many problems, a hundred are told', () => {
  for (const text of ['a:\n'.repeat(150_000), 'kind: \n---\n'.repeat(1000), `{${'"a":1,'.repeat(150_000)}"b":2}`]) {
    const { status, body } = answer(text)
    assert.equal(status, 400)
    assert.equal(JSON.parse(body).problems.length, 100)
  }
})
