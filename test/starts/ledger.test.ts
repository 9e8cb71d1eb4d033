import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import fc from 'fast-check'
import { presets } from '../../src/admission/intent/presets.ts'
import { keptEvent } from '../../src/starts/kept.ts'
import { createLedger, type Handover, type Ledger } from '../../src/starts/ledger.ts'
import type { CountedStart } from '../../src/starts/start.ts'
import { heldBytes } from '../heap.ts'
import { recordedPod } from '../outcome/recorded.ts'
import { costly, large, runs } from '../runs.ts'
import { eventsOf, type Life, podAt } from './pods.ts'

const begin = Date.parse('2026-01-01T10:00:00Z')
const minute = 60_000
/** What is gone earlier is judged when so much time has passed, in ms. */
const eventsComeIn = 10_000

/** All that a sidecar's label may be. */
const sidecarLabels: readonly string[] = [...presets.map(({ name }) => name), 'other', 'several']

/** A cluster, and a process that counts its starts. Time passes in steps of a second. */
class World {
  now = begin
  readonly counted: { uid: string; start: CountedStart }[] = []
  readonly #lives: readonly Life[]
  #ledger: Ledger | undefined
  #handover: Handover
  #shown = new Map<string, string>()
  #told = new Set<object>()
  readonly #events
  #deaf = false

  constructor(lives: readonly Life[]) {
    this.#lives = lives
    this.#events = lives.flatMap((life) =>
      eventsOf(life).map(({ from, event }) => {
        const metadata = { ...event.metadata, namespace: life.uid }
        return { from, event: { ...event, metadata } }
      }),
    )
    this.#handover = { until: begin, except: new Set() }
  }

  /** A process begins, and lists everything. */
  start() {
    this.#ledger = createLedger({
      now: () => this.now,
      since: this.#handover,
      counted: {
        expected() {},
        // A start doesn't say whose it is: each pod of these worlds has a namespace of its own.
        start: (start, uid) => void this.counted.push({ uid, start }),
        omitted: (why) => assert.fail(why),
      },
    })
    this.#told.clear()
    this.list()
  }

  /** It ends; what was counted by its last scrape is left to the next. */
  end() {
    this.#handover = this.#ledger?.handover() ?? this.#handover
    this.#ledger = undefined
  }

  list() {
    const there = this.#there()
    for (const pod of there) this.#ledger?.pod(pod)
    this.#ledger?.listed(new Set(there.map(({ metadata }) => metadata?.uid ?? '')))
    this.#shown = new Map(there.map((pod) => [pod.metadata?.uid ?? '', JSON.stringify(pod)]))
    this.tell()
    if (this.#deaf) return
    this.#ledger?.events('Pod', 'coming')
    this.#ledger?.events('Node', 'coming')
  }

  /** The events of pods fail, until they're listed again. */
  set deaf(deaf: boolean) {
    if (deaf === this.#deaf) return
    this.#deaf = deaf
    if (deaf) {
      this.#ledger?.events('Pod', 'interrupted')
      return
    }
    this.#told.clear()
    this.tell()
    this.#ledger?.events('Pod', 'coming')
  }

  /** What the watches say. */
  watch() {
    for (const pod of this.#there()) {
      const { uid = '' } = pod.metadata ?? {}
      const text = JSON.stringify(pod)
      if (this.#shown.get(uid) === text) continue
      this.#shown.set(uid, text)
      this.#ledger?.pod(pod)
    }
    for (const { uid, gone } of this.#lives) {
      if (this.now < gone || !this.#shown.has(uid)) continue
      this.#shown.delete(uid)
      const life = this.#lives.find((each) => each.uid === uid)
      this.#ledger?.gone(uid, life && podOf(life, gone - 1))
    }
    this.tell()
  }

  tell() {
    if (this.#deaf) return
    for (const each of this.#events) {
      if (this.now < each.from + 500 || this.#told.has(each)) continue
      this.#told.add(each)
      this.#ledger?.event(each.event)
    }
  }

  tick() {
    this.#ledger?.tick()
  }

  get pending() {
    return this.#ledger?.pending() ?? 0
  }

  /** An API server that lags behind. */
  stale(back: number) {
    for (const life of this.#lives) {
      const pod = podOf(life, this.now - back)
      if (pod) this.#ledger?.pod(pod)
    }
  }

  #there() {
    return this.#lives.flatMap((life) => podOf(life, this.now) ?? [])
  }
}

function podOf(life: Life, at: number) {
  const pod = podAt(life, at)
  return pod && { ...pod, metadata: { ...pod.metadata, namespace: life.uid } }
}

const life = (more: Partial<Life> = {}): Life => ({
  uid: 'a',
  given: begin + 10_000,
  app: 800,
  proxy: 1000,
  fails: undefined,
  gone: begin + 60 * minute,
  node: 'node-1',
  ahead: 0,
  ...more,
})

function play(lives: readonly Life[], seconds: number, each: (world: World, second: number) => void = () => {}) {
  const world = new World(lives)
  world.start()
  for (let second = 0; second < seconds; second++) {
    world.now = begin + second * 1000
    world.watch()
    each(world, second)
    world.tick()
  }
  return world
}

/** A ledger at a minute after the beginning, in which everything is listed. */
function counts() {
  let now = begin + minute
  const told = { starts: [] as CountedStart[], omitted: [] as string[] }
  const ledger = createLedger({
    now: () => now,
    since: { until: begin - 10 * minute, except: new Set() },
    counted: {
      expected() {},
      start: (start) => void told.starts.push(start),
      omitted: (why) => void told.omitted.push(why),
    },
  })
  ledger.listed(new Set())
  ledger.events('Pod', 'coming')
  ledger.events('Node', 'coming')
  const passes = (ms: number) => {
    now += ms
  }
  /** It's gone, and its events have had their time. */
  const ends = (uid: string, last?: V1Pod) => {
    ledger.gone(uid, last)
    passes(eventsComeIn)
    ledger.tick()
  }
  return { ledger, told, passes, ends }
}
const running = (uid: string) => podAt(life({ uid }), begin + 30_000) ?? assert.fail()

describe('a start', () => {
  test('is counted once, two minutes after the app began', () => {
    const world = play([life()], 129)
    assert.equal(world.counted.length, 0)
    const { counted, pending } = play([life()], 600)
    assert.deepEqual(counted, [
      {
        uid: 'a',
        start: {
          gate: 'none',
          outcome: 'too-early',
          seconds: 0.8,
          waits: [],
          early: [{ gate: 'none', sidecar: 'istio' }],
          crashed: false,
        },
      },
    ])
    assert.equal(pending, 0)
  })

  test('whose app failed at first, and then ran, is one with a crash', () => {
    const { counted } = play([life({ fails: 5000 })], 300)
    assert.deepEqual(
      counted.map(({ start }) => start.crashed),
      [true],
    )
  })

  test('of a pod that is gone before is counted then', () => {
    const { counted } = play([life({ gone: begin + 30_000 })], 31)
    assert.deepEqual(
      counted.map(({ start }) => start.outcome),
      ['too-early'],
    )
  })

  test('of a pod that is gone before its events have come waits for them: without them nobody could say', () => {
    for (const [state, until] of [
      ['coming', 9000],
      ['interrupted', 2 * minute],
    ] as const) {
      const { ledger, told, passes } = counts()
      ledger.events('Pod', state)
      ledger.pod(running('a'))
      passes(5000)
      ledger.gone('a')
      ledger.listed(new Set())
      passes(until - 5000)
      ledger.tick()
      assert.deepEqual(told.starts, [])
      for (const { event } of eventsOf(life())) ledger.event(event)
      ledger.events('Pod', 'coming')
      passes(1000)
      ledger.tick()
      ledger.tick()
      assert.deepEqual(
        told.starts.map(({ outcome, seconds }) => [outcome, seconds]),
        [['too-early', 0.8]],
      )
      assert.equal(ledger.pending(), 0)
    }
  })

  test('is judged by its node’s events, even if an older list came when the pod had no node', () => {
    const { ledger, told, passes } = counts()
    ledger.pod(running('a'))
    for (const { event } of eventsOf(life())) ledger.event(event)
    ledger.pod(podAt(life(), begin + 9500) ?? assert.fail())
    ledger.listed(new Set())
    passes(eventsComeIn)
    ledger.tick()
    assert.deepEqual(
      told.starts.map(({ outcome, seconds }) => [outcome, seconds]),
      [['too-early', 0.8]],
    )
  })

  test('is known to the millisecond, even if the app was restarted within the same second and only one event says both', () => {
    const { ledger, told, ends } = counts()
    ledger.pod(running('a'))
    for (const { event } of eventsOf(life())) {
      const again = { ...event, count: 2, lastTimestamp: event.firstTimestamp } as CoreV1Event
      ledger.event(event.reason === 'Started' ? again : event)
    }
    ends('a')
    assert.deepEqual(
      told.starts.map(({ outcome, seconds }) => [outcome, seconds]),
      [['too-early', 0.8]],
    )
  })

  test('is not judged by what its pod shows while it is deleted', () => {
    const ending = (pod: V1Pod): V1Pod => {
      const end = (status: V1ContainerStatus): V1ContainerStatus => {
        const terminated = {
          ...status.state?.running,
          exitCode: 143,
          reason: 'Error',
          finishedAt: new Date(begin + 35_000),
        }
        return { ...status, ready: false, started: false, state: { terminated } }
      }
      const metadata = { ...pod.metadata, deletionTimestamp: new Date(begin + 60_000) }
      const containerStatuses = (pod.status?.containerStatuses ?? []).map(end)
      return { ...pod, metadata, status: { ...pod.status, phase: 'Failed', containerStatuses } }
    }
    const proxyFirst = life({ app: 3000 })
    const events = eventsOf(proxyFirst).map(({ event }) => event)
    const [, , , , of] = events
    const unhealthy = {
      ...of,
      metadata: { namespace: 'shop' },
      reason: 'Unhealthy',
      involvedObject: { ...of?.involvedObject, fieldPath: 'spec.containers{istio-proxy}' },
      message: 'Readiness probe failed: connection refused',
      firstTimestamp: new Date(begin + 34_000),
    } as CoreV1Event
    const never = (pod: V1Pod): V1Pod =>
      pod.spec ? { ...pod, spec: { ...pod.spec, restartPolicy: 'Never' } } : assert.fail()
    const at = (each: Life) => podAt(each, begin + 30_000) ?? assert.fail()
    for (const [pod, ...expected] of [
      [at(proxyFirst), 'unknown', [], false],
      [never(at(proxyFirst)), 'unknown', [], false],
      [at({ ...proxyFirst, fails: 5000 }), 'unknown', [], true],
    ] as const) {
      const { ledger, told, ends } = counts()
      ledger.pod(pod)
      for (const event of events) ledger.event(event)
      ledger.pod(ending(pod))
      ledger.event(unhealthy)
      ends('a', ending(pod))
      assert.deepEqual(
        told.starts.map(({ outcome, early, crashed }) => [outcome, early, crashed]),
        [expected],
      )
    }
  })

  test('that never was is counted as such, by what held it', () => {
    const { counted } = play([life({ app: 100_000, proxy: 500, gone: begin + 30_000 })], 60)
    assert.deepEqual(
      counted.map(({ start }) => start.outcome),
      ['not-started'],
    )
  })

  test('before the process began is counted by nobody again', () => {
    const { counted } = play([life({ given: begin - 5 * minute })], 600)
    assert.deepEqual(counted, [])
  })

  test('is counted by the process that follows, also if it happened in between', () => {
    const world = play([life(), life({ uid: 'b', given: begin + 33_000 })], 30)
    world.end()
    world.now += 10_000
    world.start()
    for (let second = 0; second < 200; second++) {
      world.now += 1000
      world.watch()
      world.tick()
    }
    assert.deepEqual(world.counted.map(({ uid }) => uid).sort(), ['a', 'b'])
    assert.ok(world.counted.every(({ start }) => start.outcome === 'too-early'))
  })

  test('of a pod that went while nothing was heard is counted when the next list lacks it', () => {
    const world = new World(
      [life(), life({ uid: 'b', app: 100_000 })].map((each) => ({ ...each, gone: begin + 40_000 })),
    )
    world.start()
    world.now = begin + 20_000
    world.watch()
    assert.equal(world.pending, 2)
    world.now = begin + 50_000
    world.list()
    assert.equal(world.pending, 0)
    assert.deepEqual(
      world.counted.map(({ uid, start }) => [uid, start.outcome]),
      [
        ['a', 'too-early'],
        ['b', 'not-started'],
      ],
    )
  })

  test('whose events come before its pod is known is judged by them', () => {
    const { ledger, told, ends } = counts()
    for (const { event } of eventsOf(life())) ledger.event(event)
    ledger.pod(running('a'))
    ends('a')
    assert.equal(told.starts[0]?.seconds, 0.8)
  })

  test('is judged by each event, as a check judges it: of several alike, not only by the first and the last', () => {
    const { pod, events = [] } = recordedPod('held')
    const at = Date.parse(
      `${pod.status?.containerStatuses?.find(({ name }) => name === 'app')?.state?.running?.startedAt}`,
    )
    const source = { component: 'kubelet', host: pod.spec?.nodeName }
    const failed = (ms: number) => ({
      metadata: { name: `web.${ms}` },
      involvedObject: { kind: 'Pod', fieldPath: 'spec.containers{three}' },
      source,
      reason: 'Unhealthy',
      message: `Readiness probe failed: ${ms}`,
      firstTimestamp: new Date(at + ms),
    })
    const outcomeWith = (...times: readonly number[]) => {
      const { ledger, told, ends } = counts()
      ledger.pod({ ...pod, metadata: { ...pod.metadata, uid: 'a', namespace: 'shop' } })
      for (const each of [...events, ...times.map(failed)])
        ledger.event({
          ...each,
          metadata: { ...each.metadata, namespace: 'shop' },
          source: each.source?.component === 'kubelet' ? source : each.source,
          involvedObject: { ...each.involvedObject, uid: 'a' },
        } as CoreV1Event)
      ends('a')
      return told.starts[0]?.outcome
    }
    assert.equal(outcomeWith(-60_000, 300_000), outcomeWith())
    assert.equal(outcomeWith(-60_000, 5000, 300_000), 'unknown')
    assert.equal(outcomeWith(), 'held')
  })

  test('waits for its events while none come, but not for ever; and not at all where they may not be read', () => {
    for (const [state, after] of [
      ['coming', 2],
      ['interrupted', 12],
      ['forbidden', 2],
    ] as const) {
      const { ledger, told, passes } = counts()
      ledger.events('Pod', state)
      ledger.pod(running('a'))
      let minutes = 0
      while (told.starts.length === 0 && minutes < 30) {
        passes(minute)
        minutes++
        ledger.tick()
      }
      assert.equal(minutes, after, state)
    }
  })

  test('on a node whose clock is wrong is counted all the same; how long it took by two clocks is not', () => {
    for (const ahead of [-30 * minute, 30 * minute]) {
      const { counted } = play([life({ ahead })], 300)
      assert.deepEqual(
        counted.map(({ start: { outcome, seconds } }) => [outcome, seconds]),
        [['too-early', undefined]],
      )
    }
  })
})

const anyLife = fc.record({
  given: fc.integer({ min: -600, max: 900 }).map((seconds) => begin + seconds * 1000 + (seconds % 7) * 113),
  proxy: fc.integer({ min: 100, max: 60_000 }),
  app: fc.integer({ min: 100, max: 60_000 }),
  // Mostly it's restarted in another second than it started in.
  fails: fc.option(fc.oneof(fc.integer({ min: 100, max: 50_000 }), fc.integer({ min: 10, max: 900 })), {
    nil: undefined,
  }),
  lasts: fc.integer({ min: 1, max: 2000 }),
  ahead: fc.constantFrom(0, 0, 0, -600_000, 3_600_000),
})

test('whatever happens to processes, watches and clocks: no start is counted twice, and none that could be seen is lost', () => {
  const happening = fc.record({
    at: fc.integer({ min: 0, max: 1200 }),
    lasts: fc.integer({ min: 1, max: 40 }),
    what: fc.constantFrom('restart', 'gap', 'list', 'stale', 'deaf') as fc.Arbitrary<
      'restart' | 'gap' | 'list' | 'stale' | 'deaf'
    >,
  })
  fc.assert(
    fc.property(fc.array(anyLife, { maxLength: 8 }), fc.array(happening, { maxLength: 6 }), (some, happenings) => {
      const lives = some.map(({ lasts, ...more }, index) =>
        life({ ...more, uid: `pod-${index}`, node: `node-${index}`, gone: more.given + lasts * 1000 }),
      )
      const world = new World(lives)
      world.start()
      let blindUntil = 0
      let deafUntil = 0
      let isDown = false
      const blind: number[] = []
      let deafFor = 0
      for (let second = 0; second < 3600; second++) {
        world.now = begin + second * 1000
        for (const { what, lasts } of happenings.filter(({ at }) => at === second)) {
          if (what === 'list') world.list()
          if (what === 'stale') world.stale(lasts * 1000)
          // Up to a quarter of an hour.
          if (what === 'deaf') deafUntil = Math.max(deafUntil, second + 22 * lasts)
          if (what === 'gap' || what === 'restart') blindUntil = Math.max(blindUntil, second + lasts)
          if (what === 'restart' && !isDown) {
            isDown = true
            world.end()
          }
        }
        world.deaf = second < deafUntil
        if (second < deafUntil) deafFor++
        if (second < blindUntil) {
          blind.push(world.now)
          if (!isDown) world.tick()
          continue
        }
        if (second === blindUntil && second > 0) {
          if (isDown) world.start()
          else world.list()
          isDown = false
        }
        world.watch()
        world.tick()
      }
      const times = Map.groupBy(world.counted, ({ uid }) => uid)
      const isOne = happenings.every(({ what }) => what !== 'restart')
      const isBlind = (from: number, to: number) => blind.some((at) => at >= from && at <= to)
      for (const { uid, given, app, gone, ahead } of lives) {
        const count = times.get(uid)?.length ?? 0
        assert.ok(count <= 1, `${uid} was counted ${count} times`)
        const due = given + app + 2 * minute
        // Seen from its start to a while after it was due, and what happened meanwhile was not its end.
        const outlived = gone > due + 60_000 + (deafFor > 0 ? 10 * minute : 0)
        if (outlived && due > begin + 2000) assert.equal(count, 1, `${uid} was lost`)
        if (due < begin - 2000 && given + app < begin && gone > begin)
          assert.equal(count, 0, `${uid} was before our time`)
        // However soon it was gone, and whatever had its events wait for less than the ten minutes.
        const began = given + app
        const wasSeen = began > begin && gone - began >= 2000 && !isBlind(began, gone)
        if (!isOne || !wasSeen) continue
        assert.equal(count, 1, `${uid}, soon gone, was lost`)
        if (deafFor > 580 || ahead !== 0 || isBlind(began, began + 15_000)) continue
        assert.equal(times.get(uid)?.[0]?.start.seconds, app / 1000, `${uid} was judged without its events`)
      }
      assert.equal(world.pending, 0)
    }),
    runs(100),
  )
})

test('what is gone is not counted again when an older list still has it, however much went with it', costly, () => {
  const { ledger, told, passes } = counts()
  const uids = Array.from({ length: 20_000 }, (_, index) => `pod-${index}`)
  const pods = uids.map((uid) => [uid, running(uid)] as const)
  for (const [uid, pod] of pods) {
    ledger.pod(pod)
    ledger.gone(uid)
  }
  passes(9 * minute)
  ledger.tick()
  for (const [, pod] of pods) ledger.pod(pod)
  assert.equal(ledger.pending(), 0)
  for (const [uid, pod] of pods) ledger.gone(uid, pod)
  assert.equal(told.starts.length, 20_000)
})

test('of pods that are gone little is kept, however many there were', large, () => {
  const { ledger } = counts()
  const before = heldBytes()
  for (let index = 0; index < 200_000; index++)
    ledger.gone(`00000000-0000-4000-8000-${String(index).padStart(12, '0')}`)
  const kept = heldBytes() - before
  assert.ok(kept < 6_000_000, `${kept} bytes`)
  assert.equal(ledger.pending(), 0)
})

/** A running pod the names of whose containers' images are this long. */
function long(uid: string, image: string) {
  const pod = running(uid)
  return { ...pod, spec: { containers: (pod.spec?.containers ?? []).map((each) => ({ ...each, image })) } }
}

describe('what anybody may write', () => {
  test('a pod that is too large is left out, and said to be', () => {
    const { ledger, told } = counts()
    ledger.pod(long('a', 'x'.repeat(90_000)))
    assert.deepEqual(told, { starts: [], omitted: ['too-large'] })
    assert.equal(ledger.pending(), 0)
  })

  test('a pod of more containers than anybody runs is left out, and said to be, before they are compared with each other', () => {
    const { ledger, told } = counts()
    const pod = running('a')
    const more = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ name: `c-${index}`, image: 'proxyv2' }))
    const put = (uid: string, count: number) => {
      const containers = [...(pod.spec?.containers ?? []), ...more(count - 4)]
      ledger.pod({ ...pod, metadata: { ...pod.metadata, uid }, spec: { containers, initContainers: more(2) } })
    }
    put('as-many', 512)
    assert.equal(ledger.pending(), 1)
    for (const uid of ['a', 'b']) put(uid, 513)
    put('a', 513)
    assert.deepEqual(told, { starts: [], omitted: ['too-large', 'too-large'] })
    assert.equal(ledger.pending(), 1)
  })

  test('more large pods than there is room for are left out, and said to be, until others are counted', large, () => {
    const { ledger, told, ends } = counts()
    // It takes two bytes for each character.
    const put = (uid: string) => ledger.pod(long(uid, '\u4e00'.repeat(12_000)))
    for (let index = 0; index < 600; index++) put(`pod-${index}`)
    assert.deepEqual(new Set(told.omitted), new Set(['too-many']))
    assert.equal(ledger.pending() + told.omitted.length, 600)
    assert.ok(ledger.pending() > 100)
    const left = told.omitted.length
    for (let index = 0; index < 300; index++) ends(`pod-${index}`)
    put('after')
    assert.equal(told.omitted.length, left)
  })

  test('pods that are gone wait for their events only while half of the room is free, and nothing is left out for them', () => {
    const { ledger, told } = counts()
    ledger.events('Pod', 'interrupted')
    const put = (uid: string) => ledger.pod(long(uid, '\u4e00'.repeat(12_000)))
    for (let index = 0; index < 600; index++) {
      put(`pod-${index}`)
      ledger.gone(`pod-${index}`)
    }
    assert.equal(told.omitted.length, 0)
    assert.ok(ledger.pending() > 100)
    assert.equal(ledger.pending() + told.starts.length, 600)
  })

  test('what has its room keeps it when it changes', large, () => {
    const { ledger, told } = counts()
    const put = (uid: string) => ledger.pod(long(uid, 'x'.repeat(25_000)))
    let last = 0
    while (told.omitted.length === 0) put(`pod-${last++}`)
    for (let index = 0; index < last - 1; index++) put(`pod-${index}`)
    assert.deepEqual(told.omitted, ['too-many'])
  })

  test('of nodes that come and go, a new one is known however many there were', () => {
    const { ledger, told, ends } = counts()
    const { pod, events = [], node = [] } = recordedPod('kubelet-restarted')
    const { nodeName = '' } = pod.spec ?? {}
    const source = { component: 'kubelet', host: nodeName }
    const starts = (name: string) => {
      for (const each of node)
        ledger.event({
          ...each,
          metadata: { ...each.metadata, namespace: 'default' },
          source,
          involvedObject: { kind: 'Node', name },
        })
    }
    for (let index = 0; index < 10_001; index++) starts(`before-${index}`)
    starts(nodeName)
    ledger.pod({ ...pod, metadata: { ...pod.metadata, uid: 'a', namespace: 'shop' } })
    for (const each of events)
      ledger.event({
        ...each,
        metadata: { ...each.metadata, namespace: 'shop' },
        source: each.source?.component === 'kubelet' ? source : each.source,
        involvedObject: { ...each.involvedObject, uid: 'a' },
      } as CoreV1Event)
    ends('a')
    assert.deepEqual(
      told.starts.flatMap(({ waits }) => waits.map(({ outcome }) => outcome)),
      ['kubelet-restarted'],
    )
  })

  test('annotations of any size, and names of any kind, make no label', () => {
    const { ledger, told, ends } = counts()
    const pod = running('a')
    const { metadata, spec } = pod
    const name = '<script>"\n{sidecar="x"}\u001b[31m'
    ledger.pod({
      ...pod,
      metadata: {
        ...metadata,
        annotations: { 'sidecar-first.dev/sidecars': `${name},mine`, more: 'x'.repeat(200_000) },
      },
      spec: { ...spec, containers: [...(spec?.containers ?? []), { name: 'mine', image: name }] },
    })
    ends('a')
    const [start] = told.starts
    assert.ok(start?.early.every(({ sidecar }) => sidecarLabels.includes(sidecar)))
    assert.deepEqual(told.omitted, [])
  })

  test('events without end, for pods that are there and for those that never were, stay within their room', () => {
    const { ledger, told, ends } = counts()
    ledger.pod(running('a'))
    const [, first] = eventsOf(life())
    assert.ok(first)
    for (let index = 0; index < 20_000; index++) {
      const involvedObject = { ...first.event.involvedObject, fieldPath: `spec.containers{${index}}` }
      ledger.event({ ...first.event, involvedObject })
      ledger.event({ ...first.event, involvedObject: { ...involvedObject, uid: `never-${index}` } })
    }
    for (const { event } of eventsOf(life())) ledger.event(event)
    ends('a')
    assert.equal(told.starts.length, 1)
  })

  test('events of another namespace say nothing about a pod, whichever they name, and before it comes', () => {
    const events = eventsOf(life()).map(({ event }) => event)
    const forged = events.map((event) => ({ ...event, metadata: { ...event.metadata, namespace: 'theirs' } }))
    for (const early of [true, false]) {
      const { ledger, told, ends } = counts()
      if (early) for (const event of forged) ledger.event(event)
      ledger.pod(running('a'))
      if (!early) for (const event of forged) ledger.event(event)
      ends('a')
      assert.deepEqual(
        told.starts.map(({ outcome, seconds }) => [outcome, seconds]),
        [['unknown', undefined]],
      )
    }
  })

  test('events of any length cost no memory', large, () => {
    const { ledger } = counts()
    ledger.pod(running('a'))
    const [, first] = eventsOf(life())
    assert.ok(first)
    const { event } = first
    const { involvedObject } = event
    const before = heldBytes()
    for (let index = 0; index < 100; index++) {
      const long = (text: string) => JSON.parse(JSON.stringify(`${text}${index}`.padEnd(200_000, 'x')))
      ledger.event({ ...event, involvedObject: { ...involvedObject, uid: long('') } })
      ledger.event({ ...event, involvedObject: { ...involvedObject, fieldPath: `${long('spec.containers{')}}` } })
      ledger.event({ ...event, source: { component: 'kubelet', host: long('') } })
      ledger.event({ ...event, message: long('Readiness probe '), reason: 'Unhealthy' })
      ledger.event({ ...event, involvedObject: { kind: 'Node', name: long('') }, reason: 'Starting' })
    }
    const kept = heldBytes() - before
    assert.ok(kept < 2_000_000, `${kept} bytes are kept`)
    ledger.tick()
  })

  test('names of nodes are kept once, however many there were before', large, () => {
    const [, first] = eventsOf(life())
    assert.ok(first)
    const of = (host: string) => keptEvent({ ...first.event, source: { component: 'kubelet', host } })
    for (let index = 0; index < 10_001; index++) of(`before-${index}`)
    const before = heldBytes()
    const all = Array.from({ length: 20_000 }, () => of(JSON.parse(JSON.stringify('now'.padEnd(250, '-')))))
    const kept = heldBytes() - before
    assert.ok(kept < 4_000_000, `${kept} bytes`)
    assert.equal(all.length, 20_000)
  })

  test('an event of braces holds nothing up', () => {
    const { ledger, told, ends } = counts()
    const [, first] = eventsOf(life())
    assert.ok(first)
    ledger.pod(running('a'))
    // A minute's work or more if each were looked at to the end of the text.
    for (const fieldPath of ['{'.repeat(200_000), `${'{'.repeat(200_000)}}x`, `${'{}'.repeat(100_000)}x`]) {
      ledger.event({ ...first.event, involvedObject: { ...first.event.involvedObject, fieldPath } })
    }
    ends('a')
    assert.equal(told.starts.length, 1)
  })

  test('events that are nonsense are passed over', () => {
    const [, first] = eventsOf(life())
    assert.ok(first)
    for (const more of [
      { firstTimestamp: 'never' },
      { firstTimestamp: undefined, eventTime: 'x' },
      { reason: undefined },
      { source: { component: 'kubelet', host: 'another' } },
      { metadata: { namespace: 'shop' } },
      { count: -1, lastTimestamp: 'x' },
      { count: 5, lastTimestamp: 'x' },
    ]) {
      const { ledger, told, ends } = counts()
      ledger.pod(running('a'))
      ledger.event({ ...first.event, ...more } as unknown as CoreV1Event)
      ends('a')
      assert.equal(told.starts.length, 1)
    }
  })
})
