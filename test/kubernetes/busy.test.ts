import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connection } from '../../src/kubernetes/connection.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { fakeApiServer } from './fake-api-server.ts'

type Answer = readonly [code: number, headers: Readonly<Record<string, string>>, body: object]

const page = (name: string, next = ''): Answer => [200, {}, { metadata: { continue: next }, items: [{ name }] }]
const busy = (code: number, retryAfter?: string): Answer => [
  code,
  retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  { kind: 'Status', message: 'too many requests' },
]

/** An API server that gives these answers, the last one again and again, and how long it was left alone between them, in ms. */
async function cluster(...answers: readonly Answer[]) {
  const asked: (string | undefined)[] = []
  const server = await fakeApiServer(({ method, url }, response) => {
    const [code, headers, body] = answers[Math.min(asked.length, answers.length - 1)] ?? page('none')
    asked.push(`${method} ${new URL(url ?? '', 'http://x').searchParams.get('continue') ?? ''}`.trim())
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
  const waits: number[] = []
  const calls = rawCalls(connection(server.kubeconfig), { busy: async (ms) => void waits.push(ms) })
  return { ...server, calls, asked, waits }
}

async function names({ calls }: { calls: ReturnType<typeof rawCalls> }) {
  const found: string[] = []
  for await (const { name } of calls.items<{ name: string }>('/list', {}, { size: 1, expired: assert.fail })) {
    found.push(name)
  }
  return found
}

test('a list that the API server interrupts since it is too busy goes on where it stood, when the API server wants it', async () => {
  using of = await cluster(page('a', '2'), busy(429, '3'), busy(503, '1'), page('b', '3'), busy(429), page('c'))
  assert.deepEqual(await names(of), ['a', 'b', 'c'])
  assert.deepEqual(of.waits, [3000, 1000, 1000])
  assert.deepEqual(of.asked, ['GET', 'GET 2', 'GET 2', 'GET 2', 'GET 3', 'GET 3'])
})

test('it is not asked in a tight loop, whatever it says, and not for more than a minute', async () => {
  for (const [after, waits] of [
    ['1', 60],
    ['0', 60],
    ['-5', 60],
    ['NaN', 60],
    ['Sun, 22 Nov 1998 12:00:00 GMT', 60],
    ['25', 2],
    ['61', 0],
    ['1e999', 0],
    ['Fri, 22 Nov 9999 12:00:00 GMT', 0],
  ] as const) {
    using of = await cluster(busy(429, after))
    await assert.rejects(names(of), /answered 429 too many requests$/)
    assert.equal(of.waits.length, waits, after)
    assert.ok(
      of.waits.every((ms) => ms >= 1000),
      after,
    )
  }
})

test('what does not pass by itself, or changes something, is not asked again', async () => {
  for (const answer of [busy(503), busy(500, '1'), busy(403, '1')]) {
    using of = await cluster(answer)
    await assert.rejects(names(of), new RegExp(`answered ${answer[0]}`))
    assert.deepEqual(of.waits, [])
  }
  using of = await cluster(busy(429, '1'))
  await assert.rejects(of.calls.create('/pods', {}), /answered 429/)
  assert.deepEqual(of.asked, ['POST'])
})
