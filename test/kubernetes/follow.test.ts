import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { connection } from '../../src/kubernetes/connection.ts'
import { follow, type WireObject } from '../../src/kubernetes/follow.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { SECOND, until } from '../until.ts'
import { fakeApiServer } from './fake-api-server.ts'

test('of a list there is never more than one object: each is taken before the next one comes, and the watch goes on from its end', async () => {
  const names: string[] = []
  const taken = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const watched = Promise.withResolvers<string | null>()
  const asked: string[] = []
  using server = await fakeApiServer(async ({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://x')
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    if (searchParams.get('watch') === 'true') return watched.resolve(searchParams.get('resourceVersion'))
    const next = searchParams.get('continue')
    asked.push(`${searchParams.get('limit')} ${searchParams.get('fieldSelector')} ${next}`)
    const metadata = next === null ? { continue: 'rest', resourceVersion: '5' } : { resourceVersion: '7' }
    response.write(`{"metadata":${JSON.stringify(metadata)},"items":[`)
    for (const index of next === null ? [0, 1] : [2]) {
      response.write(`${index === 1 ? ',' : ''}{"metadata":{"name":"pod-${index}"}}`)
      await taken[index]?.promise
    }
    response.end(']}')
  })
  const { kubeconfig } = server
  const ended = new AbortController()
  const listed: number[] = []
  const over = follow<WireObject>({
    kubeconfig,
    calls: rawCalls(connection(kubeconfig)),
    path: '/api/v1/pods',
    query: { fieldSelector: 'a=b' },
    size: 2,
    into: {
      begins() {},
      put({ metadata: { name } }) {
        taken[names.length]?.resolve()
        names.push(name)
      },
      gone() {},
      listed: (version) => void listed.push(version),
    },
    resync: 60_000,
    signal: ended.signal,
    failed: (_, error) => assert.fail(String(error)),
  })
  assert.equal(await watched.promise, '7')
  ended.abort()
  await over
  assert.deepEqual(names, ['pod-0', 'pod-1', 'pod-2'])
  assert.deepEqual(listed, [7])
  assert.deepEqual(asked, ['2 a=b null', '2 a=b rest'])
})

test('a watch that never begins is a failed call, and a list shows what it would have told; one that is cut off goes on where it was', async () => {
  const asked: string[] = []
  let cut = () => {}
  const ends: ((response: ServerResponse) => void)[] = [
    (response) => {
      cut = () => response.destroy()
      response.write('{"type":"ADDED","object":{"metadata":{"name":"pod","resourceVersion":"8"}}}\n')
    },
    (response) => void response.destroy(),
    (response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"type":"ERROR","object":{"kind":"Status","code":500,"metadata":{}}}\n')
    },
    (response) => void response.writeHead(410).end(),
    (response) => void response.writeHead(403).end(),
    (response) => response.flushHeaders(),
  ]
  using server = await fakeApiServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://x')
    const from = searchParams.get('watch') === 'true' ? searchParams.get('resourceVersion') : undefined
    asked.push(from === undefined ? 'list' : `watch ${from}`)
    if (from === undefined) response.end('{"metadata":{"resourceVersion":"7"},"items":[]}')
    else ends.shift()?.(response)
  })
  const { kubeconfig } = server
  const stop = new AbortController()
  const failures: string[] = []
  const over = follow<WireObject>({
    kubeconfig,
    calls: rawCalls(connection(kubeconfig)),
    path: '/api/v1/pods',
    into: { begins() {}, put: () => cut(), gone() {}, listed() {} },
    resync: 600 * SECOND,
    signal: stop.signal,
    failed: (kind) => void failures.push(kind),
  })
  await until('the last watch', 60 * SECOND, async () => ends.length === 0)
  stop.abort()
  await over
  const again = ['list', 'watch 7']
  assert.deepEqual(asked, [...again, 'watch 8', ...again, ...again, ...again, ...again])
  assert.deepEqual(failures, ['network', 'server', 'forbidden'])
})

test('a list that the API server has forgotten in its middle begins again, and only a whole one is complete', async () => {
  const pages: (readonly [status: number, body: object])[] = [
    [200, { metadata: { continue: 'rest', resourceVersion: '5' }, items: [{ metadata: { name: 'gone' } }] }],
    [410, { kind: 'Status', code: 410, metadata: { continue: 'inconsistent' } }],
    [200, { metadata: { continue: 'more', resourceVersion: '7' }, items: [{ metadata: { name: 'a' } }] }],
    [200, { metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'b' } }] }],
  ]
  const asked: (string | null)[] = []
  using server = await fakeApiServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://x')
    if (searchParams.get('watch') === 'true') return response.flushHeaders()
    asked.push(searchParams.get('continue'))
    const [status, body] = pages.shift() ?? [500, {}]
    return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const { kubeconfig } = server
  const stop = new AbortController()
  const told: string[] = []
  const over = follow<WireObject>({
    kubeconfig,
    calls: rawCalls(connection(kubeconfig)),
    path: '/api/v1/pods',
    into: {
      begins: () => void told.push('begins'),
      put: ({ metadata: { name } }) => void told.push(name),
      gone() {},
      listed: (version) => void told.push(`listed ${version}`),
    },
    resync: 600 * SECOND,
    signal: stop.signal,
    failed() {},
  })
  await until('a whole list', 60 * SECOND, async () => told.includes('listed 7'))
  stop.abort()
  await over
  assert.deepEqual(told, ['begins', 'gone', 'begins', 'a', 'b', 'listed 7'])
  assert.deepEqual(asked, [null, 'rest', null, 'more'])
})
