import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { V1Pod } from '@kubernetes/client-node'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import type { Objects } from '../../src/kubernetes/objects.ts'
import type { Paging } from '../../src/kubernetes/raw.ts'
import { drawMany } from '../../src/timeline/draw-many.ts'
import { jsonMany } from '../../src/timeline/json.ts'
import { readStarts } from '../../src/timeline/read.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { heldBytes } from '../heap.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { seenOf } from '../outcome/seen.ts'
import { large } from '../runs.ts'

const selector = { matchLabels: { app: 'web' } }
const object = { metadata: { name: 'web', namespace: 'shop', uid: 'deploy' }, spec: { selector } }
const about = { kind: 'Deployment', object }
const seen = recordedPod('held')
const owned = (name: string, owner = 'web', more: object = {}): V1Pod => ({
  ...seen.pod,
  metadata: {
    ...seen.pod.metadata,
    name,
    uid: name,
    labels: { app: 'web', 'pod-template-hash': '1' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `${owner}-1`, uid: 'rs' }],
    ...more,
  },
})
const eventsOf = (uid: string) =>
  (seen.events ?? []).map((event) => ({ ...event, involvedObject: { ...event.involvedObject, uid } }))

type Items = (kind: { kind: string }, selection: { namespace?: string }, paging?: Paging) => AsyncIterable<object>

/** An API server that answers lists in pages of their size and counts the calls. `denied`: what may not be listed. */
function cluster(pods: readonly V1Pod[], denied: RegExp = /^$/, expires: RegExp = /^$/) {
  const asked: string[] = []
  const items: Record<string, readonly object[]> = {
    'Pod shop': pods,
    'Event shop': pods.flatMap(({ metadata }) => eventsOf(metadata?.uid ?? '')),
    'Event default': seen.node ?? [],
  }
  const list: Items = async function* ({ kind }, { namespace, ...query }, { size = 100, expired = () => {} } = {}) {
    const what = `${kind} ${namespace}`
    if (expires.test(what)) expired()
    if (denied.test(what)) throw new ClusterError('forbidden', 'the API server answered 403')
    const all = items[what] ?? []
    for (let at = 0; at === 0 || at < all.length; at += size) {
      asked.push(`${what} ${JSON.stringify(query)}`)
      yield* all.slice(at, at + size)
    }
  }
  return { items: list, asked }
}
const starts = (items: Items) => readStarts({ items } as unknown as Objects, about, now, [])
const now = () => seen.now

describe('the pods of a workload', () => {
  test('a thousand cost a list of pods and lists of events, not a call each', async () => {
    const { items, asked } = cluster(Array.from({ length: 1000 }, (_, index) => owned(`web-1-${index}`)))
    assert.equal((await starts(items)).outcomes.held, 1000)
    const events = 1000 * (seen.events?.length ?? 0)
    assert.equal(asked.length, 2 + Math.ceil(events / 1000) + 1)
    assert.ok(asked.includes('Pod shop {"labelSelector":"app=web"}'))
  })

  test('are those that it owns: not others with its labels, nor what is being deleted', async () => {
    const ending = { deletionTimestamp: '2026-11-22T07:00:00Z' }
    const own = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'X', name: 'x', uid: 'deploy' }] }
    const { items } = cluster([
      owned('a'),
      owned('b', 'another'),
      owned('c', 'web', ending),
      owned('d', 'another', own),
    ])
    assert.deepEqual(
      (await starts(items)).timelines.map(({ name }) => name),
      ['a', 'd'],
    )
  })

  test('without the right to list events, nothing is called held', async () => {
    for (const denied of [/Event shop/, /Event default/]) {
      const [timeline] = (await starts(cluster([owned('a')], denied).items)).timelines
      assert.equal(timeline?.outcome.kind, 'unknown', String(denied))
    }
  })

  test('may not be listed: an error, not an empty answer', async () => {
    await assert.rejects(starts(cluster([], /Pod/).items), /403/)
  })

  test('whose list expires on the way: says that one may be missing', async () => {
    const many = await starts(cluster([owned('a')], undefined, / shop$/).items)
    const look = { width: 110, color: false, unicode: true, terminal: false }
    assert.match(drawMany(many, look), /^not known: the list of pods expired on the way/m)
    assert.equal(JSON.parse(jsonMany(many)).expired, true)
  })

  test(
    'one of which somebody has written thousands of events about: the others are judged, and it is not called held',
    large,
    async () => {
      const given = cluster([owned('a'), owned('b')])
      const before = heldBytes()
      let held = Number.NaN
      const items: Items = async function* (kind, selection, how) {
        if (kind.kind === 'Event' && selection.namespace === 'shop') {
          for (let index = 0; index < 20_000; index++) {
            yield {
              metadata: { name: `a.${index}` },
              involvedObject: { uid: 'a' },
              message: `${index}`.padEnd(1000, 'x'),
            }
          }
          held = heldBytes() - before
        }
        yield* given.items(kind, selection, how)
      }
      const timelines = (await starts(items)).timelines.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      assert.ok(held < 4_000_000, `${held} bytes are held`)
      assert.deepEqual(
        timelines.map(({ name, outcome }) => [name, outcome.kind]),
        [
          ['a', 'unknown'],
          ['b', 'held'],
        ],
      )
      assert.match(timelines[0]?.unknown.join() ?? '', /more than 500 events about this pod/)
    },
  )

  test('need no memory for variables and annotations, however long these are', large, async () => {
    const before = heldBytes()
    let held = Number.NaN
    const items: Items = async function* ({ kind }) {
      if (kind === 'Pod') {
        for (let index = 0; index < 200; index++) {
          const long = `${index}`.padEnd(100_000, 'x')
          const pod = owned(`web-1-${index}`, 'web', { annotations: { ...seen.pod.metadata?.annotations, long } })
          const containers = pod.spec?.containers.map((each) => ({ ...each, env: [{ name: 'LONG', value: long }] }))
          // As they come over the wire: each with texts of its own.
          yield JSON.parse(JSON.stringify({ ...pod, spec: { ...pod.spec, containers } }))
        }
      } else {
        held = heldBytes() - before
      }
    }
    const { timelines } = await starts(items)
    assert.equal(timelines.length, 200)
    assert.ok(held < 4_000_000, `${held} bytes are held`)
  })

  test('are judged by what is kept of them as by all of it', () => {
    for (const name of recordedNames) {
      const seen = seenOf(recordedPod(name))
      assert.deepEqual(timelineOf({ ...seen, pod: JSON.parse(JSON.stringify(seen.pod)) }), timelineOf(seen), name)
    }
  })
})
