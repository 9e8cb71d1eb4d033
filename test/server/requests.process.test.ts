import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:https'
import { after, before, test } from 'node:test'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { call, type Reply } from './call.ts'
import { startPaired } from './pairs.ts'
import { type ServeProcess, startServe } from './process.ts'
import { pod, review } from './reviews.ts'

const limit = 10 * 1024 * 1024
const previewLimit = 7 * 1024 * 1024
let server: ServeProcess
before(async () => {
  server = await startPaired()
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
  ['30,000 levels', '['.repeat(30_000) + ']'.repeat(30_000), /AdmissionReview/],
  ['30,000 levels that never close', '['.repeat(30_000), /not JSON/],
] as const) {
  test(`a body that is no review is a 400: ${name}`, async () => {
    assertProblem(await mutate(body), 400, pattern)
  })
}

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const inside = (object: object, value: string) => JSON.stringify(review(object)).replace('"INSIDE"', () => value)

test('a few thousand levels inside a small pod are answered, wherever they are', async () => {
  const [app, proxy] = pod().spec.containers
  for (const object of [
    { ...pod(), x: 'INSIDE' },
    pod({ annotations: 'INSIDE' }),
    { ...pod(), spec: { containers: [app, { ...proxy, resources: 'INSIDE' }] } },
    { ...pod(), spec: { containers: [app, { ...proxy, readinessProbe: 'INSIDE' }] } },
    { ...pod(), spec: { containers: [app, { ...proxy, lifecycle: { postStart: { exec: 'INSIDE' } } }] } },
  ]) {
    assert.equal((await mutate(inside(object, deep(9000)))).status, 200)
  }
})

for (const [name, value, pattern] of [
  ['levels', `[${deep(300)},"${'x'.repeat(70_000)}"]`, /has 30\d levels .* at most 256$/],
  ['values', `[${'{},'.repeat(400_000)}0]`, /has 400,0\d\d values; .* at most 393,216$/],
  ['members', `[${'{"a":0,"b":0,"c":0},'.repeat(90_000)}0]`, /has 270,0\d\d members of objects; .* at most 262,144$/],
  ['bytes', `"${'x'.repeat(11_000_000)}"`, /has 11,00\d,\d\d\d bytes; .* at most 10,485,760$/],
] as const) {
  test(`a review with too many ${name} isn't read: a pod that asks is refused, any other left as it is`, async () => {
    const { response: refused } = answer(await mutate(inside({ ...pod(), x: 'INSIDE' }, value)))
    assert.deepEqual([refused.allowed, refused.uid], [false, review().request.uid])
    assert.match(refused.status?.message ?? '', pattern)
    const { response: left } = answer(await mutate(inside({ ...pod({ annotations: {} }), x: 'INSIDE' }, value)))
    assert.deepEqual([left.allowed, left.uid], [true, review().request.uid])
    assert.match(left.warnings?.[0] ?? '', pattern)
    const validate = await call(`${server.url}/validate`, { body: inside({ ...pod(), x: 'INSIDE' }, value) })
    assert.equal(answer(validate).response.allowed, false)
    await server.seen(/"namespace":"default",[^\n]*"verdict":"skipped",[^\n]*sidecar-first reads at most/)
    // Without a review around it nobody can be answered but the caller.
    assertProblem(await mutate(`{"x":${value}}`), name === 'bytes' ? 413 : 422, pattern)
  })
}

/** A pod with so many sidecars that each bring 80 kB to the answer. */
function costly(count: number) {
  const command = Array.from({ length: 40 }, (_, index) => `${index}${'x'.repeat(1900)}`)
  const probed = (index: number) => ({ name: `proxy-${index}`, readinessProbe: { exec: { command } } })
  const sidecars = Array.from({ length: count }, (_, index) => probed(index))
  const names = sidecars.map(({ name }) => name).join()
  return {
    ...pod({ annotations: { 'sidecar-first.dev/sidecars': names } }),
    spec: { containers: [{ name: 'app' }, ...sidecars] },
  }
}

test('an answer of more than 1 MiB is a refusal instead', async () => {
  const reply = await mutate(JSON.stringify(review(costly(15))))
  assert.ok(reply.text.length < 2 ** 20)
  const { response } = answer(reply)
  assert.equal(response.allowed, false)
  assert.match(
    response.status?.message ?? '',
    /would have at least [\d,]+ bytes; sidecar-first sends at most 1,048,576$/,
  )
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

test('a body of exactly the limit is read, one byte more is not', async () => {
  const body = JSON.stringify(review())
  const sized = (bytes: number, start = body) => start + ' '.repeat(bytes - start.length)
  assert.equal(answer(await mutate(sized(limit))).response.allowed, true)
  const { response } = answer(await mutate(sized(limit + 1)))
  assert.match(response.status?.message ?? '', /10,485,761 bytes/)
  assertProblem(await mutate(sized(limit + 1, '{}')), 413)
})

// Node would answer 400 to a request in several pieces that came before all of the answer before it was sent.
test('a connection ends with an answer that fills its buffer, and goes on after others', async () => {
  const agent = new Agent({ keepAlive: true })
  const after = async (asked: object) => {
    const reply = await call(`${server.url}/mutate`, { body: JSON.stringify(asked), agent })
    assert.equal(answer(reply).response.allowed, true)
    return reply.headers.connection
  }
  const found = [await after(review()), await after(review(costly(3))), await after(review())]
  assert.deepEqual(found, ['keep-alive', 'close', 'keep-alive'])
  agent.destroy()
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

test('a page is the same with a slash or a query at its end, and HEAD has its head', async () => {
  for (const path of ['/metrics', '/openapi.json']) {
    for (const end of ['', '/', '?a=b', '/?a=b/']) {
      assert.equal((await call(`${server.url}${path}${end}`, { method: 'GET' })).status, 200, path + end)
    }
    const { status, text, headers } = await call(`${server.url}${path}`, { method: 'HEAD' })
    assert.deepEqual([status, text], [200, ''])
    assert.ok(Number(headers['content-length']) > 0)
  }
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
    assert.match(String(chunk), new RegExp(`^HTTP/1.1 ${status} [\\s\\S]*\r\n\r\n\\{"code":"SF\\d{3}","error":`))
  }
})

test('a log line names the pod and the verdict, and nothing of what is in it', async () => {
  await mutate(JSON.stringify(review(pod({ name: 'logged' }), { dryRun: true })))
  await server.seen(/"name":"logged".*\n/)
  const line = JSON.parse(/.*"name":"logged".*/.exec(server.output())?.[0] ?? '')
  assert.equal(line.uid, review().request.uid)
  assert.deepEqual([line.namespace, line.verdict, line.dryRun], ['default', 'patched', true])
  assert.ok(Number.isInteger(line.microseconds))
  assert.equal(new Date(line.time).toISOString(), line.time)
  assert.deepEqual(Object.keys(line), [
    'level',
    'time',
    'uid',
    'namespace',
    'name',
    'operation',
    'dryRun',
    'verdict',
    'reasons',
    'microseconds',
    'msg',
  ])
  assert.deepEqual([line.level, line.msg], ['info', 'admission'])
  assert.doesNotMatch(server.output(), /hunter2/)
})

test('no line about admissions above the level info', async () => {
  await using quiet = await startServe(['--log-level', 'warn'])
  assert.equal((await call(`${quiet.url}/mutate`, { body: JSON.stringify(review()) })).status, 200)
  quiet.child.kill('SIGTERM')
  assert.equal(await quiet.ended, 0)
  assert.doesNotMatch(quiet.output(), /"admission"/)
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
  assertProblem(await call(`${server.url}/preview`, { body: ' '.repeat(previewLimit + 1) }), 413)
  assertProblem(await call(`${server.url}/preview`, { body: '' }), 400)
})

test('--routes chooses', async () => {
  await using admission = await startPaired(['--routes', 'admission'])
  await using preview = await startPaired(['--routes', 'preview'])
  const body = JSON.stringify(review())
  assert.equal((await call(`${admission.url}/mutate`, { body })).status, 200)
  assertProblem(await call(`${admission.url}/preview`, { body }), 404)
  assert.equal((await call(`${preview.url}/preview`, { body })).status, 200)
  assertProblem(await call(`${preview.url}/mutate`, { body }), 404)
})
