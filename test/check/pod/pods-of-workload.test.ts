import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { type Told, told } from '../../../src/check/findings.ts'
import { creationFindings } from '../../../src/check/pod/creation.ts'
import { workloadFindings } from '../../../src/check/pod/pods-of-workload.ts'
import { parseSubject } from '../../../src/check/pod/subject.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import type { ClusterObject, Objects } from '../../../src/kubernetes/objects.ts'
import { drawMany } from '../../../src/timeline/draw-many.ts'
import { readStarts } from '../../../src/timeline/read.ts'
import { type Lived, lived } from '../../outcome/lived.ts'
import { recordedPod } from '../../outcome/recorded.ts'
import type { Seen } from '../../outcome/seen.ts'

const selector = { matchLabels: { app: 'web' } }
const deployment = (status: unknown = {}, spec: object = { selector }): ClusterObject =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', uid: 'd' },
    spec,
    status,
  }) as ClusterObject

/** A pod of the Deployment shop/web, and its events. */
function owned({ pod, events, node, now }: Seen, name: string): Seen {
  const metadata = {
    ...pod.metadata,
    name,
    namespace: 'shop',
    uid: name,
    labels: { 'pod-template-hash': 'abc' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-abc', uid: 'r', controller: true }],
  }
  const about = (event: CoreV1Event) => ({ ...event, involvedObject: { ...event.involvedObject, uid: name } })
  return { pod: { ...pod, metadata }, events: events?.map(about), node, now }
}

/** An API server with these pods, in which events may not be listed if there are none. */
function server(all: readonly Seen[], pods: (V1Pod | ClusterError)[] = all.map(({ pod }) => pod)): Objects {
  async function* items({ kind }: { kind: string }, { fieldSelector = '' }: { fieldSelector?: string }) {
    if (kind === 'Pod') {
      for (const pod of pods) {
        if (pod instanceof ClusterError) throw pod
        yield pod
      }
      return
    }
    const events = fieldSelector.includes('Node')
      ? all[0]?.node
      : all[0]?.events && all.flatMap((each) => each.events ?? [])
    if (!events) throw new ClusterError('forbidden', 'events is forbidden', undefined)
    yield* events
  }
  return { items } as unknown as Objects
}

const terminal = { width: 110, color: false, unicode: true, terminal: false }
const kind = parseSubject('deploy/web')?.kind ?? assert.fail()
const verdict = () => ({ kind: 'left-alone', why: '' }) as const
const look = async (workload: ClusterObject, objects: Objects, now: number): Promise<string[]> =>
  (await workloadFindings(workload, { objects, now: () => now, kind: 'Deployment', sidecars: [], verdict }))
    .map(told)
    .map(line)
const line = ({ level, code, text }: Told) => `${level} ${code} ${text}`

describe('check deploy/NAME', () => {
  test('says of its only pod, which is stuck, what check pod/ and timeline say', async () => {
    const seen = owned(recordedPod('waiting'), 'web-abc-1')
    const later = { ...seen, now: seen.now + 240_000 }
    const lines = await look(deployment(), server([later]), later.now)
    assert.equal(lines[0], 'ok SF630 its pods: 1 stuck')
    assert.match(lines[1] ?? '', /^problem SF623 Deployment shop\/web: 1 of 1 pod stuck for .* in the hook of sidecar$/)
  })

  test('says of pods with which nothing is wrong that they were held, as check pod/ and timeline do', async () => {
    const all = ['web-abc-1', 'web-abc-2', 'web-abc-3', 'web-abc-4'].map((name) => owned(recordedPod('held'), name))
    const now = all[0]?.now ?? 0
    assert.deepEqual(await look(deployment(), server(all), now), [
      'ok SF630 its pods: 4 held until their sidecars were ready',
    ])
  })

  test('judges all of its pods, however many there are', async () => {
    const all = Array.from({ length: 25 }, (_, index) => owned(recordedPod('held'), `web-abc-${index}`))
    assert.deepEqual(await look(deployment(), server(all), all[0]?.now ?? 0), [
      'ok SF630 its pods: 25 held until their sidecars were ready',
    ])
  })

  test('counts pods without sidecars apart, as timeline does', async () => {
    const plain = lived([{ name: 'app', runs: [[1]] }], { now: 60, named: '' })
    assert.deepEqual(await look(deployment(), server([owned(plain, 'web-abc-1')]), plain.now), [
      'ok SF630 its pods: 1 without sidecars',
    ])
  })

  test('says what is down by now, and what started again too early', async () => {
    const sidecar: Lived = { name: 'sidecar', hook: { for: ['sidecar'] }, runs: [[1, 30, 1], [40]] }
    const early = lived([sidecar, { name: 'app', runs: [[3, 32, 1], [34.2]] }], { now: 60 })
    const waiting = { reason: 'CrashLoopBackOff' }
    const runs = [
      [3, 5, 1],
      [6, 8, 1],
    ] as const
    const down = lived(
      [
        { ...sidecar, runs: [[1]] },
        { name: 'app', runs, waiting },
      ],
      { now: 60 },
    )
    const all = [owned(early, 'web-abc-1'), owned(down, 'web-abc-2')]
    const lines = (await look(deployment(), server(all), early.now)).join('\n')
    assert.match(
      lines,
      /SF628 Deployment shop\/web: 1 of 2 pods started again too early: sidecar was ready, ended 4 s before/,
    )
    assert.match(
      lines,
      /problem SF627 Deployment shop\/web: 1 of 2 pods without a running app for 52 s: app keeps ending: exit code 1/,
    )
  })

  test('says which of its starts was too early however many apps have started, or that not all are judged', async () => {
    const sidecar: Lived = { name: 'sidecar', hook: { for: ['sidecar'] }, runs: [[1, 30, 1], [40]] }
    const last: Lived = { name: 'last', runs: [[10, 32, 1], [34.2]] }
    const lines = async (apps: number, ...sidecars: readonly Lived[]) => {
      const others = Array.from({ length: apps }, (_, nth): Lived => ({ name: `app-${nth}`, runs: [[9]] }))
      const seen = owned(lived([sidecar, ...sidecars, ...others, last], { now: 60 }), 'web-abc-1')
      const objects = server([seen])
      const about = { kind: 'Deployment', object: deployment() }
      const many = drawMany(await readStarts(objects, about, () => seen.now, []), terminal)
      return [(await look(deployment(), objects, seen.now)).join('\n'), many]
    }
    for (const apps of [1, 70, 400]) {
      for (const told of await lines(apps)) {
        assert.match(told, /SF628 .*started again too early: sidecar .*ended 4 s before/)
        assert.doesNotMatch(told, /judged/)
      }
    }
    const more = Array.from({ length: 250 }, (_, nth) => `sidecar-${nth}`).map(
      (name): Lived => ({ ...sidecar, name, hook: { for: [name] } }),
    )
    const [check = '', timeline = ''] = await lines(250, ...more)
    assert.match(check, /^ok SF635 Deployment shop\/web: \d+ of 252 starts of its apps are not judged/m)
    assert.match(timeline, /^not known: \d+ of 252 starts of its apps are not judged/m)
  })

  test("leaves out other workloads' pods, whatever their labels", async () => {
    const { pod } = recordedPod('held')
    assert.deepEqual(await look(deployment(), server([], [pod]), 0), ['ok SF630 it has no pods now'])
  })

  test('says what it could not see', async () => {
    const forbidden = new ClusterError('forbidden', 'pods is forbidden', undefined)
    const unread = "warning SF631 its pods can't be looked at, so how they started is not known"
    assert.deepEqual(await look(deployment(), server([], [forbidden]), 0), [`${unread}: pods is forbidden`])
    // Its pods are found without its selector, too.
    assert.deepEqual(await look(deployment({}, {}), server([]), 0), ['ok SF630 it has no pods now'])
    const seen = owned({ ...recordedPod('held'), events: undefined, node: undefined }, 'web-abc-1')
    assert.deepEqual(await look(deployment(), server([seen]), seen.now), ['ok SF630 its pods: 1 not known'])
  })

  test('says why it has no pods, and reads no more of a status than there is', async () => {
    const creation = async (status: unknown) =>
      (await creationFindings(server([]), kind, deployment(status))).map(told).map(line)
    const conditions = [null, 'x', { type: 'ReplicaFailure', status: 'True', message: 'denied: SF173' }]
    assert.deepEqual(await creation({ conditions }), ["problem SF634 its pods can't be created: denied: SF173"])
    for (const status of [undefined, null, 'x', { conditions: 'x' }, { conditions: { type: 'ReplicaFailure' } }]) {
      assert.deepEqual(await creation(status), [])
      assert.deepEqual(await look(deployment(status), server([]), 0), ['ok SF630 it has no pods now'])
    }
  })
})
