import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import type { RawCalls } from '../../src/kubernetes/raw.ts'
import { drawMany } from '../../src/timeline/draw-many.ts'
import { jsonMany } from '../../src/timeline/json.ts'
import { together } from '../../src/timeline/many.ts'
import { readStarts } from '../../src/timeline/read.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { heldBytes } from '../heap.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { seenOf } from '../outcome/seen.ts'
import { large } from '../runs.ts'

const about = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }
const seen = recordedPod('held')
const owned = (name: string, owner: string, more: object = {}): V1Pod => ({
  ...seen.pod,
  metadata: {
    ...seen.pod.metadata,
    name,
    uid: name,
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: owner }],
    ...more,
  },
})
const eventsOf = (uid: string) =>
  (seen.events ?? []).map((event) => ({ ...event, involvedObject: { ...event.involvedObject, uid } }))

/** An API server that answers lists in pages of their size and counts the calls. `denied`: what may not be listed. */
function cluster(pods: readonly V1Pod[], denied: RegExp = /^$/, expires: RegExp = /^$/) {
  const asked: string[] = []
  const items: Record<string, readonly object[]> = {
    '/apis/apps/v1/namespaces/shop/replicasets': [
      { metadata: { uid: 'rs', ownerReferences: [{ uid: 'deploy' }] } },
      { metadata: { uid: 'rs-of-another', ownerReferences: [{ uid: 'another' }] } },
    ],
    '/api/v1/namespaces/shop/pods': pods,
    '/api/v1/namespaces/shop/events': pods.flatMap(({ metadata }) => eventsOf(metadata?.uid ?? '')),
    '/api/v1/namespaces/default/events': seen.node ?? [],
  }
  const calls = {
    async find(path: string) {
      asked.push(path)
      const found = { metadata: { uid: 'deploy' }, spec: { selector: { matchLabels: { app: 'web' } } } }
      return path === '/apis/apps/v1/namespaces/shop/deployments/web' ? found : undefined
    },
    async *items(path: string, query: object, { size = 100, expired = () => {} } = {}) {
      if (expires.test(path)) expired()
      if (denied.test(path)) throw new ClusterError('forbidden', 'the API server answered 403')
      const all = items[path] ?? []
      for (let at = 0; at === 0 || at < all.length; at += size) {
        asked.push(`${path} ${JSON.stringify(query)}`)
        yield* all.slice(at, at + size)
      }
    },
  }
  return { calls: calls as unknown as RawCalls, asked }
}
const now = () => seen.now
const onTime = () => assert.fail('the list has not expired')

describe('the pods of a workload', () => {
  test('a thousand cost a list of pods and lists of events, not a call each', async () => {
    const { calls, asked } = cluster(Array.from({ length: 1000 }, (_, index) => owned(`web-1-${index}`, 'rs')))
    const timelines = await readStarts(calls, about, now, onTime)
    assert.equal(together(timelines ?? [], about).outcomes.held, 1000)
    const events = 1000 * (seen.events?.length ?? 0)
    assert.equal(asked.length, 2 + 2 + Math.ceil(events / 1000) + 1)
    assert.ok(asked.includes('/api/v1/namespaces/shop/pods {"labelSelector":"app=web"}'))
  })

  test('are those that it owns: not others with its labels, nor what is being deleted', async () => {
    const ending = { deletionTimestamp: '2026-11-22T07:00:00Z' }
    const { calls } = cluster([owned('a', 'rs'), owned('b', 'rs-of-another'), owned('c', 'rs', ending)])
    assert.deepEqual(
      (await readStarts(calls, about, now, onTime))?.map(({ name }) => name),
      ['a'],
    )
  })

  test('without the right to list events, nothing is called held', async () => {
    for (const denied of [/shop\/events/, /default\/events/]) {
      const { calls } = cluster([owned('a', 'rs')], denied)
      const [timeline] = (await readStarts(calls, about, now, onTime)) ?? []
      assert.equal(timeline?.outcome.kind, 'unknown', String(denied))
    }
  })

  test('may not be listed: an error, not an empty answer', async () => {
    await assert.rejects(readStarts(cluster([], /pods/).calls, about, now, onTime), /403/)
  })

  test('whose list expires on the way: says that one may be missing', async () => {
    let expired = false
    const { calls } = cluster([owned('a', 'rs')], undefined, /shop\/(pods|events)$/)
    const starts = await readStarts(calls, about, now, () => {
      expired = true
    })
    const many = together(starts ?? [], { ...about, expired })
    const look = { width: 110, color: false, unicode: true, terminal: false }
    assert.match(drawMany(many, look), /^not known: the list of pods expired on the way/m)
    assert.equal(JSON.parse(jsonMany(many)).expired, true)
  })

  test(
    'one of which somebody has written thousands of events about: the others are judged, and it is not called held',
    large,
    async () => {
      const { calls } = cluster([owned('a', 'rs'), owned('b', 'rs')])
      const before = heldBytes()
      let held = Number.NaN
      const items = async function* (path: string, query: Record<string, string>, how: object) {
        if (path === '/api/v1/namespaces/shop/events') {
          for (let index = 0; index < 20_000; index++) {
            yield {
              metadata: { name: `a.${index}` },
              involvedObject: { uid: 'a' },
              message: `${index}`.padEnd(1000, 'x'),
            }
          }
          held = heldBytes() - before
        }
        yield* calls.items<object>(path, query, how as Parameters<RawCalls['items']>[2])
      }
      const starts = (await readStarts({ ...calls, items } as RawCalls, about, now, onTime)) ?? []
      assert.ok(held < 4_000_000, `${held} bytes are held`)
      assert.deepEqual(
        starts.map(({ name, outcome }) => [name, outcome.kind]),
        [
          ['a', 'unknown'],
          ['b', 'held'],
        ],
      )
      assert.match(starts[0]?.unknown.join() ?? '', /more than 500 events about this pod/)
    },
  )

  test('need no memory for variables and annotations, however long these are', large, async () => {
    const { calls } = cluster([])
    const before = heldBytes()
    let held = Number.NaN
    const items = async function* (path: string) {
      if (path.endsWith('/pods')) {
        for (let index = 0; index < 200; index++) {
          const long = `${index}`.padEnd(100_000, 'x')
          const pod = owned(`web-1-${index}`, 'rs', { annotations: { ...seen.pod.metadata?.annotations, long } })
          const containers = pod.spec?.containers.map((each) => ({ ...each, env: [{ name: 'LONG', value: long }] }))
          // As they come over the wire: each with texts of its own.
          yield JSON.parse(JSON.stringify({ ...pod, spec: { ...pod.spec, containers } }))
        }
      } else if (path.endsWith('/replicasets')) {
        yield* calls.items(path, {})
      } else {
        held = heldBytes() - before
      }
    }
    const starts = await readStarts({ ...calls, items } as RawCalls, about, now, onTime)
    assert.equal(starts?.length, 200)
    assert.ok(held < 4_000_000, `${held} bytes are held`)
  })

  test('are judged by what is kept of them as by all of it', () => {
    for (const name of recordedNames) {
      const seen = seenOf(recordedPod(name))
      assert.deepEqual(timelineOf({ ...seen, pod: JSON.parse(JSON.stringify(seen.pod)) }), timelineOf(seen), name)
    }
  })

  test('of what does not exist: undefined', async () => {
    assert.equal(await readStarts(cluster([]).calls, { ...about, name: 'absent' }, now, onTime), undefined)
  })
})
