import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import openapi from '../../src/preview/openapi.json' with { type: 'json' }
import { version } from '../../src/version.ts'
import { faultsOf } from '../preview/schema.ts'
import { slow } from '../preview/slow.ts'
import { costly } from '../runs.ts'
import { call, type Reply } from './call.ts'
import { startPaired } from './pairs.ts'
import type { ServeProcess } from './process.ts'
import { review } from './reviews.ts'

let server: ServeProcess
before(async () => {
  server = await startPaired()
})
after(() => server[Symbol.asyncDispose]())

const pod = (name: string) => `kind: Pod
metadata: {name: ${name}, annotations: {sidecar-first.dev/sidecars: proxy}}
spec: {containers: [{name: app}, {name: proxy, readinessProbe: {tcpSocket: {port: 1}}}]}
`

const get = (path: string, headers = {}) => call(server.url + path, { method: 'GET', headers })
const schemas: Readonly<Record<string, object>> = openapi.components.schemas

/** Previews, and holds the answer against the description at /openapi.json. */
async function preview(body: string | Uint8Array, headers: Record<string, string> = {}, query = ''): Promise<Reply> {
  const reply = await call(`${server.url}/preview${query}`, {
    body,
    headers: { 'content-type': 'application/yaml', ...headers },
  })
  const { responses } = openapi.paths['/preview'].post
  const response = responses[`${reply.status}` as keyof typeof responses]
  assert(response, `${reply.status} is not described`)
  const type = reply.headers['content-type'] ?? ''
  const described = (response.content as Readonly<Record<string, { schema: object }>>)[type]
  assert(described, `${type} is not described for ${reply.status}`)
  const value = type === 'application/yaml' ? reply.text : JSON.parse(reply.text)
  const resolve = (ref: string) => schemas[ref.slice('#/components/schemas/'.length)] ?? assert.fail(ref)
  assert.deepEqual(faultsOf(value, described.schema, resolve), [], reply.text.slice(0, 500))
  return reply
}

const resultsOf = (reply: Reply) =>
  (reply.json as { results: { kind: string; name: string; verdict: string; reasons: string[]; patched?: object }[] })
    .results
const problemsOf = (reply: Reply) => (reply.json as { problems: string[] }).problems
const errorOf = (reply: Reply) => (reply.json as { error: string }).error

test('/openapi.json describes every answer there is to golden manifests', async () => {
  assert.deepEqual((await get('/openapi.json')).json, { ...openapi, info: { ...openapi.info, version } })
  const names = [
    'order/two-tiers',
    'native/gate-native',
    'invalid/bad-everything',
    'existing-hook/exec-chain',
    'left/nothing-asked',
    'manifest/big-integers',
  ]
  const texts = await Promise.all(
    names.map((name) => readFile(new URL(`../golden/${name}.yaml`, import.meta.url), 'utf8')),
  )
  const all = await preview(texts.join('\n---\n'), {}, '?include=manifests&namespace=shop')
  const verdicts = new Set(resultsOf(all).map(({ verdict }) => verdict))
  assert.deepEqual([...verdicts].sort(), ['patched', 'refused', 'skipped'])
  for (const accept of ['application/json', 'application/json-patch+json', 'application/yaml', 'text/html']) {
    for (const text of texts) await preview(text, { accept })
  }
  const once = await preview(texts[0] ?? '', {}, '?include=manifests')
  const { manifests } = once.json as { manifests: string }
  assert.equal(resultsOf(await preview(manifests))[0]?.verdict, 'unchanged')
})

test('a warning is a header, as from an API server', async () => {
  const job = `kind: Job\nspec:\n  template:\n${pod('p')
    .replace(/^kind.*\n/, '')
    .replaceAll(/^/gm, '    ')}`
  const { headers } = await preview(job)
  assert.match(String(headers.warning), /^299 - "[^"]*\bJob\b/)
})

const helm = 'kind: Pod\nmetadata:\n  name: {{ .Release.Name }}\n'
const laughs = [
  'a: &a [x, x]',
  ...[...'bcdefghi'].map((to, at) => `${to}: &${to} [${`*${'abcdefgh'[at]}, `.repeat(9)}]`),
]
for (const [name, body, status, says] of [
  ['a tab', 'kind: Pod\nmetadata:\n\tname: p\n', 400, /line 3, column 1: .*tabs are not allowed/],
  ['a billion laughs', laughs.join('\n'), 400, /document 1, line 1, .*aliases expand to too much/],
  [
    'a key twice',
    `${pod('p')}---\nkind: Pod\nmetadata: {}\nmetadata: {}\n`,
    400,
    /document 2, line 7, column 1: .*"metadata" is there twice/,
  ],
  ['a key twice, in JSON', '{"kind":"Pod",\n"kind":"Pod"}', 400, /line 2, column 1: .*"kind" is there twice/],
  ['a template that is not rendered', helm, 400, /line 3, column 9: .*helm template/],
  ['a broken end', `${pod('p')}---\nkind: [\n`, 400, /document 2, line 6, .*invalid YAML/],
  ['no kind', 'spec: {}', 400, /document 1, line 1, column 1: SF413 the document has no kind/],
  ['text', 'hello', 400, /line 1, .*a manifest is an object/],
  ['half of a JSON file', '{"kind":"Pod",', 400, /line 1, column \d+: SF405 invalid JSON/],
  ['bytes that are no text', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe), 400, /not UTF-8/],
  ['a program', `\x7fELF\x02\x01\x01${'\0'.repeat(64)}`, 400, /line 1, column 1/],
  ['50 MB', 'x: y\n'.repeat(10_000_000), 413, /larger than 7340032 bytes/],
  ['nothing but comments', '# nothing\n---\n', 400, /no manifest in the body/],
] as const) {
  test(`bad input: ${name}`, async () => {
    const reply = await preview(body)
    assert.equal(reply.status, status, reply.text)
    assert.match([errorOf(reply), ...problemsOf(reply)].join('\n'), says)
  })
}

test('odd input that is fine: CRLF, a BOM, anchors, a List in a List', async () => {
  const odd = `\uFEFF${pod('one').replaceAll('\n', '\r\n')}---\r\nkind: List\r\nitems:\r\n- &p {kind: Pod, metadata: {name: two}, spec: {containers: []}}\r\n- kind: List\r\n  items: [*p]\r\n`
  const found = resultsOf(await preview(odd)).map(({ name, verdict }) => `${name} ${verdict}`)
  assert.deepEqual(found, ['one patched', 'two skipped', 'two skipped'])
  const { text } = await preview(odd, { accept: 'application/yaml' })
  assert(text.endsWith(odd.slice(odd.indexOf('---'))))
})

test('a kind that is not known passes through untouched, and that is said', async () => {
  const strange = 'kind:   Strange # kept\nspec: {template: 1,  big: 12345678901234567890}\n'
  const [, result] = resultsOf(await preview(`${pod('p')}---\n${strange}`))
  assert.deepEqual([result?.verdict, result?.reasons], ['skipped', ['a Strange has no pod template']])
  const { text } = await preview(`${pod('p')}---\n${strange}`, { accept: 'application/yaml' })
  assert(text.endsWith(strange))
})

test('hundreds of documents are one request', async () => {
  const reply = await preview(Array.from({ length: 800 }, (_, index) => pod(`p${index}`)).join('---\n'))
  assert.equal(resultsOf(reply).filter(({ verdict }) => verdict === 'patched').length, 800)
})

test('admissions are answered while a hostile preview runs, and that one ends', costly, async () => {
  let ended = false
  const hostile = preview(slow).finally(() => {
    ended = true
  })
  const after = preview(pod('p'))
  const body = JSON.stringify(review())
  for (let count = 0; count < 50; count++) {
    assert.equal((await call(`${server.url}/mutate`, { body })).status, 200)
    assert(!ended)
  }
  const { status, json } = await hostile
  assert.equal(status, 422)
  assert.deepEqual(json, {
    code: 'SF060',
    error: 'the manifests take more than 10 s of CPU to preview; send fewer at a time',
    problems: [],
  })
  assert.equal((await after).status, 200)
})

test('nothing of what was sent is in the log', async () => {
  await preview(pod('hunter2'))
  await preview('hunter2: [')
  assert.doesNotMatch(server.output() + server.errors(), /hunter2/)
})

test('the page and its parts: a strict policy, no cache that goes stale', async () => {
  const page = await get('/')
  assert.equal(page.status, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.equal(
    page.headers['content-security-policy'],
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
  assert.deepEqual(
    [page.headers['x-content-type-options'], page.headers['referrer-policy'], page.headers['cache-control']],
    ['nosniff', 'no-referrer', 'no-cache'],
  )
  const again = await get('/', { 'if-none-match': page.headers.etag })
  assert.deepEqual([again.status, again.text], [304, ''])
  const parts = [...page.text.matchAll(/(?:src|href)="(page\/[^"]+)"/g)].map(([, path]) => path)
  assert(parts.length >= 3, page.text)
  for (const path of parts) assert.equal((await get(`/${path}`)).status, 200, path)
  assert.equal((await call(`${server.url}/`, { body: '{}' })).status, 405)
  assert.equal((await get('/page/../package.json')).status, 404)
})

test('what if: with a configuration and settings of its own; what takes too long is stopped as any preview is', async () => {
  const type = { 'content-type': 'application/vnd.sidecar-first.preview+json' }
  const settings = { gate: 'native', delivery: 'shell', kubernetesVersion: '1.34', presets: ['istio'] }
  const good = await preview(JSON.stringify({ manifests: pod('a'), settings }), type)
  assert.match(good.text, /"form":"native"/)
  const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  const odd = { manifests: pod('a'), configuration: `${head}enforced: {failurePolicy: Fail}\n` }
  assert.match((await preview(JSON.stringify(odd), type)).text, /"notices":\[\{"source":"configuration"/)
  const wrong = await preview(JSON.stringify({ manifests: pod('a'), configuration: `${head}rules: 5\n` }), type)
  assert.deepEqual([wrong.status, errorOf(wrong)], [400, 'the configuration can not be read'])
  assert.match(problemsOf(wrong)[0] ?? '', /^line 3, column 8: SF\d+ rules/)
  const rules = Array.from({ length: 30_000 }, (_, i) => `- {name: r${i}, tier: 1, match: {container: "*${i}*"}}\n`)
  const heavy = await preview(
    JSON.stringify({ manifests: pod('a'), configuration: `${head}rules:\n${rules.join('')}` }),
    type,
  )
  assert([200, 422].includes(heavy.status), heavy.text)
  assert.equal((await preview(pod('after'))).status, 200)
})

test('the page is told the annotations, their values, the presets, and what messages mean', async () => {
  const { annotations, presets } = (await get('/page/vocabulary.json')).json as {
    annotations: { key: string; values?: string[] }[]
    presets: { name: string }[]
  }
  assert.deepEqual(annotations.find(({ key }) => key === 'sidecar-first.dev/gate')?.values, ['hook', 'native', 'auto'])
  assert(presets.some(({ name }) => name === 'istio'))
  const messages = (await get('/page/messages.json')).json as Record<string, { next: string }>
  assert.match(messages.SF105?.next ?? '', /^Use one of the listed values/)
})

test('where the preview is not served there is no page', async () => {
  await using admission = await startPaired(['--routes', 'admission'])
  for (const path of ['/', '/openapi.json', '/page/page.js']) {
    assert.equal((await call(admission.url + path, { method: 'GET' })).status, 404, path)
  }
})
