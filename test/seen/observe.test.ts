import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { observe } from '../../src/seen/observe.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { fakeApiServer } from '../kubernetes/fake-api-server.ts'
import { recordedPod } from '../outcome/recorded.ts'

const seen = recordedPod('held')

/** An API server with the pod's recorded events after so many that anyone may have written. */
async function cluster(crowd: number) {
  const asked: string[] = []
  const odd = { involvedObject: {}, metadata: { name: 'a' }, reason: 'Noted', message: 'x'.repeat(10_000) }
  const answer = (url: URL) => {
    if (url.pathname === '/api/v1') return { resources: [{ name: 'events', kind: 'Event', namespaced: true }] }
    if (url.pathname.includes('/default/')) return { items: seen.node, metadata: {} }
    asked.push(url.search)
    const [from, size] = [Number(url.searchParams.get('continue') ?? 0), Number(url.searchParams.get('limit'))]
    const left = crowd - from
    if (left <= size) return { items: [...Array(left).fill(odd), ...(seen.events ?? [])], metadata: {} }
    return { items: Array(size).fill(odd), metadata: { continue: String(from + size) } }
  }
  const server = await fakeApiServer(({ url }, response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer(new URL(url ?? '', 'http://x')))),
  )
  return { ...server, objects: objects(connection(server.kubeconfig)), asked }
}

test('of a pod with a few hundred events its own tell how it started', async () => {
  using of = await cluster(400)
  const { outcome, unknown } = timelineOf(await observe(of.objects, seen.pod, () => seen.now))
  assert.equal(outcome.kind, 'held')
  assert.doesNotMatch(unknown.join(), /events/)
})

test('of one about which somebody has written thousands no more are read than can be kept, none counts, and that is told', async () => {
  using of = await cluster(20_000)
  const { outcome, unknown } = timelineOf(await observe(of.objects, seen.pod, () => seen.now))
  assert.ok(of.asked.length <= 6, `${of.asked.length} pages are read`)
  assert.equal(outcome.kind, 'unknown')
  assert.match(
    unknown.join('\n'),
    /^there are more than 500 events about this pod, so none of them counts: times are to the second$/m,
  )
})
