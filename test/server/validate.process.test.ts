import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fastJsonPatch from 'fast-json-patch'
import { setOf } from '../../src/webhooks/set.ts'
import { call } from './call.ts'
import { folder } from './pairs.ts'
import { type ServeProcess, startServe } from './process.ts'
import { pod, review } from './reviews.ts'

const team = { matchLabels: { team: 'payments' } }
const configuration = `apiVersion: sidecar-first.dev/v1
kind: Configuration
kubernetesVersion: 1.36
rules:
- name: payments
  match: {container: ruled, namespaceSelector: ${JSON.stringify(team)}}
  tier: 1
  check: tcp://:1
  enforce: true
`
const dir = await folder()
let server: ServeProcess
before(async () => {
  await writeFile(join(dir.path, 'configuration.yaml'), configuration)
  server = await startServe(['--config', join(dir.path, 'configuration.yaml')])
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await dir[Symbol.asyncDispose]()
})

interface Response {
  allowed: boolean
  patch?: string
  warnings?: string[]
  status?: { code: number; message: string }
}

async function ask(path: string, object: unknown): Promise<Response> {
  const { status, json } = await call(`${server.url}${path}?timeout=5s`, { body: JSON.stringify(review(object)) })
  assert.equal(status, 200)
  return (json as { response: Response }).response
}

async function patched(path: string, object: object): Promise<object> {
  const { patch = '' } = await ask(path, object)
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString())
  return fastJsonPatch.applyPatch(structuredClone(object), operations).newDocument
}

const silent = (name: string) => ({
  ...pod({ name, annotations: {} }),
  spec: { containers: [{ name: 'app' }, { name: 'ruled' }] },
})

test('/validate lets through what /mutate has made, and refuses the pod as it was', async () => {
  const before = await ask('/validate', pod({ name: 'before' }))
  assert.equal(before.allowed, false)
  assert.match(before.status?.message ?? '', /proxy/)
  assert.ok(!('patch' in before))
  assert.deepEqual(
    [(await ask('/validate', await patched('/mutate', pod()))).allowed, (await ask('/validate', silent('s'))).allowed],
    [true, true],
  )
  await server.seen(/"name":"before".*\n/)
  const line = JSON.parse(/.*"name":"before".*/.exec(server.output())?.[0] ?? '')
  assert.deepEqual([line.msg, line.verdict], ['validation', 'refused'])
  assert.ok(line.reasons.length > 0)
})

test('the rules of a namespaceSelector hold on the paths of its set alone', async () => {
  const set = setOf(team)
  assert.equal((await ask('/mutate', silent('one'))).patch, undefined)
  const made = await patched(`/mutate/${set}`, silent('two'))
  assert.match(JSON.stringify(made), /"containers":\[\{"name":"ruled".*"postStart"/)
  // The first is what webhook configurations of before 0.2 call.
  for (const path of [`/validate/${set}`, `/validate/set-${set}`]) {
    assert.equal((await ask(path, made)).allowed, true)
    assert.equal((await ask(path, silent('three'))).allowed, false)
  }
  await server.seen(/"name":"three".*\n/)
  assert.match(server.output(), new RegExp(`"set":"${set}".*"name":"three"`))
  const unknown = await ask('/mutate/0123456789', silent('four'))
  assert.equal(unknown.patch, undefined)
  assert.match(unknown.warnings?.join() ?? '', /behind the configuration/)
})

test('where replicas of 0.1 may be asked, auto locks nothing, and where others of before, a lock names nobody', async () => {
  for (const [path, key] of [
    ['/mutate', undefined],
    ['/mutate/lock', 'SIDECAR_FIRST_READY_1'],
    ['/mutate/lock-by-name', 'SIDECAR_FIRST_READY_1_PROXY'],
  ] as const) {
    const made = await patched(path, pod())
    assert.equal(/SIDECAR_FIRST_READY_\w+/.exec(JSON.stringify(made))?.[0], key)
    assert.equal((await ask('/validate', made)).allowed, true)
  }
})

test('what is no review is an error at /validate too', async () => {
  assert.equal((await call(`${server.url}/validate`, { body: '{}' })).status, 400)
  assert.equal((await call(`${server.url}/validate`, { method: 'GET' })).status, 405)
  for (const path of ['validate/', 'validate/a/b', 'validated']) {
    assert.equal((await call(`${server.url}/${path}`, { body: '{}' })).status, 404, path)
  }
})

test('metrics tell the webhooks apart', async () => {
  const { text } = await call(`${server.url}/metrics`, { method: 'GET' })
  assert.match(text, /admissions_total\{webhook="validate",verdict="refused"\} [1-9]/)
  assert.match(text, /admissions_total\{webhook="validate",verdict="allowed"\} [1-9]/)
  assert.match(text, /admissions_total\{webhook="validate",verdict="invalid"\} 1\n/)
  assert.match(text, /duration_seconds_count\{webhook="validate"\} [1-9]/)
})
