import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { follow, type WireObject } from '../../src/kubernetes/follow.ts'
import type { Paging, RawCalls } from '../../src/kubernetes/raw.ts'
import { fakeApiServer } from './fake-api-server.ts'

/** How many watches it opens until its third list, by whether anything is under way. */
async function watchesUntilThirdList(isCalm: boolean): Promise<number> {
  let watches = 0
  using server = await fakeApiServer((_, response) => {
    watches++
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  })
  const ended = new AbortController()
  let lists = 0
  const calls = {
    async *items(_path: string, _query: object, { read }: Paging) {
      if (++lists === 3) ended.abort()
      yield* []
      read?.('7')
    },
  } as unknown as RawCalls
  await follow<WireObject>({
    kubeconfig: server.kubeconfig,
    calls,
    path: '/api/v1/pods',
    into: { begins() {}, put() {}, gone() {}, listed() {}, isCalm: () => isCalm },
    resync: 300,
    signal: ended.signal,
    failed: (_, error) => assert.fail(String(error)),
  })
  return watches
}

test('all pods are listed again each time while something is under way, and one time in five otherwise', async () => {
  assert.deepEqual(await Promise.all([watchesUntilThirdList(false), watchesUntilThirdList(true)]), [2, 10])
})

test('an API server that answers lists but refuses watches is asked for lists ever more rarely', async () => {
  using server = await fakeApiServer((_, response) => response.writeHead(429).end())
  const ended = new AbortController()
  let lists = 0
  const calls = {
    async *items(_path: string, _query: object, { read }: Paging) {
      lists++
      yield* []
      read?.('7')
    },
  } as unknown as RawCalls
  const over = follow<WireObject>({
    kubeconfig: server.kubeconfig,
    calls,
    path: '/api/v1/pods',
    into: { begins() {}, put() {}, gone() {}, listed() {} },
    resync: 60_000,
    signal: ended.signal,
    failed() {},
  })
  await sleep(2000)
  ended.abort()
  await over
  assert.ok(lists >= 1 && lists <= 6, `${lists} lists`)
})
