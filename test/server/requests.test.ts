import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { call, type Reply } from './call.ts'
import { type ServeProcess, startServe } from './process.ts'
import { pod, review } from './reviews.ts'

const limit = 7 * 1024 * 1024
let server: ServeProcess
before(async () => {
  server = await startServe()
})
after(() => server[Symbol.asyncDispose]())

const mutate = (body: string | Uint8Array, headers = {}) => call(`${server.url}/mutate?timeout=5s`, { body, headers })

/** The one shape of errors. */
function assertProblem({ status, headers, json, text }: Reply, expected: number, pattern = /./) {
  assert.equal(status, expected, text)
  assert.equal(headers['content-type'], 'application/json')
  const { error, problems } = json as { error: string; problems: string[] }
  assert.match([error, ...problems].join('\n'), pattern)
  assert.doesNotMatch(text, /node_modules|\.ts:\d|<html/i)
}

interface Answer {
  apiVersion: string
  kind: string
  response: {
    uid: string
    allowed: boolean
    patch?: string
    patchType?: string
    warnings?: string[]
    status?: { code: number; message: string }
  }
}
const answer = ({ json }: Reply) => json as Answer

test('a review is answered with exactly an AdmissionReview v1', async () => {
  const reply = await mutate(JSON.stringify(review()))
  assert.equal(reply.status, 200)
  assert.equal(reply.headers['content-type'], 'application/json')
  const { apiVersion, kind, response, ...rest } = answer(reply)
  assert.deepEqual([apiVersion, kind, rest], ['admission.k8s.io/v1', 'AdmissionReview', {}])
  assert.equal(response.uid, review().request.uid)
  assert.equal(response.allowed, true)
  assert.equal(response.patchType, 'JSONPatch')
  const patch = JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString()) as { op: string }[]
  assert.ok(patch.some(({ op }) => op === 'move'))
})

test('where nothing is to do there is neither patch nor patchType', async () => {
  const { response } = answer(await mutate(JSON.stringify(review(pod({ annotations: {} })))))
  assert.equal(response.allowed, true)
  assert.ok(!('patch' in response) && !('patchType' in response))
})

test('a refusal says why in status.message', async () => {
  const annotations = { 'sidecar-first.dev/sidecars': 'proxy,,' }
  const { response } = answer(await mutate(JSON.stringify(review(pod({ annotations })))))
  assert.equal(response.allowed, false)
  assert.ok((response.status?.code ?? 0) >= 400)
  assert.match(response.status?.message ?? '', /sidecar-first\.dev\/sidecars/)
})

test('a set has a path of its own, anything deeper has none', async () => {
  const body = JSON.stringify(review())
  assert.equal((await call(`${server.url}/mutate/abc123?timeout=10s`, { body })).status, 200)
  assertProblem(await call(`${server.url}/mutate/a/b`, { body }), 404)
  assertProblem(await call(`${server.url}/mutate/`, { body }), 404)
  assertProblem(await call(`${server.url}/mutated`, { body }), 404)
})

for (const [name, body, pattern] of [
  ['empty', '', /empty/],
  ['broken JSON', '{"apiVersion":', /not JSON/],
  ['null', 'null', /AdmissionReview/],
  ['a list', '[]', /AdmissionReview/],
  ['a number', '12', /AdmissionReview/],
  ['no request', JSON.stringify({ ...review(), request: undefined }), /request/],
  ['a request that is null', JSON.stringify({ ...review(), request: null }), /request/],
  ['no uid', JSON.stringify(review(pod(), { uid: undefined })), /uid/],
  ['v1beta1', JSON.stringify({ ...review(), apiVersion: 'admission.k8s.io/v1beta1' }), /v1/],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), /UTF-8/],
  ['100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000), /AdmissionReview/],
  ['100,000 levels that never close', '['.repeat(100_000), /not JSON/],
] as const) {
  test(`a body that is no review is a 400: ${name}`, async () => {
    assertProblem(await mutate(body), 400, pattern)
  })
}

test('100,000 levels inside a pod are answered', async () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
  const reply = await mutate(JSON.stringify(review({ ...pod(), x: 'DEEP' })).replace('"DEEP"', deep))
  assert.equal(reply.status, 200)
  const inside = await mutate(JSON.stringify(review(pod({ annotations: 'DEEP' }))).replace('"DEEP"', deep))
  assert.equal(inside.status, 200)
})

test('of duplicate keys the last counts, as in the API server', async () => {
  const body = JSON.stringify(review()).replace('"uid":', '"uid":"first","uid":')
  assert.equal(answer(await mutate(body)).response.uid, review().request.uid)
})

test('__proto__ and constructor are keys like any other', async () => {
  const body = JSON.stringify(review()).replace(
    '"annotations":{',
    '"annotations":{"__proto__":"x","constructor":"y","check.sidecar-first.dev/__proto__":"none",',
  )
  assert.equal((await mutate(body)).status, 200)
})

test('a body of exactly the limit is read, one byte more is a 413', async () => {
  const body = JSON.stringify(review())
  assert.equal((await mutate(body + ' '.repeat(limit - body.length))).status, 200)
  assertProblem(await mutate(body + ' '.repeat(limit - body.length + 1)), 413)
  const chunked = { 'transfer-encoding': 'chunked' }
  assert.equal((await mutate(body + ' '.repeat(limit - body.length), chunked)).status, 200)
  assertProblem(await mutate(body + ' '.repeat(limit - body.length + 1), chunked), 413)
})

test('the media type must be JSON', async () => {
  const body = JSON.stringify(review())
  assertProblem(await mutate(body, { 'content-type': 'text/plain' }), 415)
  assertProblem(await mutate(body, { 'content-type': '' }), 415)
  assertProblem(await call(`${server.url}/mutate`, { headers: { 'content-length': 0 } }), 415)
  assert.equal((await mutate(body, { 'content-type': 'Application/JSON; charset=utf-8' })).status, 200)
})

test('a gzip bomb stays packed', async () => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024, ' '))
  assertProblem(await mutate(bomb, { 'content-encoding': 'gzip' }), 415)
  assertProblem(await call(`${server.url}/preview`, { body: bomb, headers: { 'content-encoding': 'gzip' } }), 415)
})

for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
  test(`${method} /mutate is a 405 that says what is allowed`, async () => {
    const reply = await call(`${server.url}/mutate`, { method })
    assertProblem(reply, 405, /POST/)
    assert.equal(reply.headers.allow, 'POST')
  })
}

test('unknown paths and methods are JSON', async () => {
  assertProblem(await call(`${server.url}/nothing`, { method: 'GET' }), 404)
  assertProblem(await call(`${server.url}/%`, { method: 'GET' }), 404)
  assertProblem(await call(`${server.url}/healthz`, { method: 'POST', body: '{}' }), 405, /GET/)
})

test('a character cut in two by the network is whole again', async () => {
  const body = Buffer.from(JSON.stringify(review(pod({ name: 'naïve-✓' }))))
  const cut = body.indexOf('✓') + 1
  const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  socket.write(
    `POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(body.subarray(0, cut))
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.write(body.subarray(cut))
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  assert.match(String(chunk), /^HTTP\/1\.1 200/)
  await server.seen(/naïve-✓/)
})

test('what is no HTTP gets JSON as well', async () => {
  for (const [text, status] of [
    ['nonsense\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
  ] as const) {
    const socket = connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false })
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(text)
    const [chunk] = await once(socket, 'data')
    socket.destroy()
    assert.match(String(chunk), new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\n\r\n\\{"error":`))
  }
})

test('a log line names the pod and the verdict, and nothing of what is in it', async () => {
  await mutate(JSON.stringify(review(pod({ name: 'logged' }), { dryRun: true })))
  await server.seen(/"name":"logged".*\n/)
  const line = JSON.parse(/.*"name":"logged".*/.exec(server.output())?.[0] ?? '')
  assert.equal(line.uid, review().request.uid)
  assert.deepEqual([line.namespace, line.verdict, line.dryRun], ['default', 'patched', true])
  assert.ok(Number.isInteger(line.microseconds))
  assert.doesNotMatch(server.output(), /hunter2/)
})

test('broken JSON is not quoted back', async () => {
  const reply = await mutate('{"password": hunter2}')
  assertProblem(reply, 400)
  assert.doesNotMatch(reply.text + server.output(), /hunter2/)
})

test('metrics count what was answered', async () => {
  const metrics = await call(`${server.url}/metrics`, { method: 'GET' })
  assert.equal(metrics.status, 200)
  assert.match(metrics.text, /sidecar_first_admissions_total\{webhook="mutate",verdict="patched"\} [1-9]/)
  assert.match(metrics.text, /sidecar_first_admission_duration_seconds_bucket\{webhook="mutate",le="\+Inf"\} [1-9]/)
  assert.match(metrics.text, /sidecar_first_certificate_not_after_seconds \d+/)
  assert.match(metrics.text, /process_cpu_seconds_total/)
  // Prometheus' text format: a comment, an empty line, or a sample.
  for (const line of metrics.text.split('\n')) assert.match(line, /^(#.*|[a-z0-9_]+(\{.*\})? \S+|)$/)
})

test('/preview answers like the command', async () => {
  const yaml = `apiVersion: v1
kind: Pod
metadata: {name: sample, annotations: {sidecar-first.dev/sidecars: proxy}}
spec: {containers: [{name: app, image: a}, {name: proxy, image: p, readinessProbe: {tcpSocket: {port: 1}}}]}
`
  const reply = await call(`${server.url}/preview`, { body: yaml, headers: { 'content-type': 'application/yaml' } })
  assert.equal(reply.status, 200)
  assert.equal((reply.json as { results: { verdict: string }[] }).results[0]?.verdict, 'patched')
  assertProblem(await call(`${server.url}/preview`, { method: 'GET' }), 405, /POST/)
  assertProblem(await call(`${server.url}/preview`, { body: ' '.repeat(limit + 1) }), 413)
  assertProblem(await call(`${server.url}/preview`, { body: '' }), 400)
})

test('--routes chooses', async () => {
  await using admission = await startServe(['--routes', 'admission'])
  await using preview = await startServe(['--routes', 'preview'])
  const body = JSON.stringify(review())
  assert.equal((await call(`${admission.url}/mutate`, { body })).status, 200)
  assertProblem(await call(`${admission.url}/preview`, { body }), 404)
  assert.equal((await call(`${preview.url}/preview`, { body })).status, 200)
  assertProblem(await call(`${preview.url}/mutate`, { body }), 404)
})
