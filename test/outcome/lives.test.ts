import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { drawTimeline } from '../../src/timeline/draw.ts'
import { type Lived, lived } from './lived.ts'
import { judge, type Seen, timelineOf } from './seen.ts'

const hook = { for: ['sidecar'] }
const sidecar = (runs: Lived['runs'], more: Partial<Lived> = {}): Lived => ({ name: 'sidecar', hook, runs, ...more })
const app = (runs: Lived['runs'], more: Partial<Lived> = {}): Lived => ({ name: 'app', runs, ...more })

/** Every start of the app in a line, such as `0 held`. */
const starts = (seen: Seen) =>
  judge(seen).starts.map(({ nth, outcome }) =>
    [nth, outcome.kind, ...('reasons' in outcome ? outcome.reasons.map(({ why }) => why) : [])].join(' '),
  )
const look = { width: 100, color: false, unicode: true, terminal: false }

describe('every start of an app', () => {
  test('behind a sidecar that runs on is held', () => {
    const seen = lived([sidecar([[1]], { probed: true }), app([[3, 20, 1], [21]])], { now: 30 })
    assert.deepEqual(starts(seen), ['0 held', '1 held'])
  })

  test('beside a sidecar that had ended is too early, though it was ready: while the image was pulled', () => {
    const seen = lived([sidecar([[1, 5, 1]]), app([[10.3]], { begun: 3 })], { now: 12 })
    const { outcome } = judge(seen)
    assert.deepEqual(outcome.kind === 'too-early' && outcome.reasons, [
      { why: 'ended', sidecars: ['sidecar'], ms: 5300, wasReady: true },
    ])
    assert.match(drawTimeline(timelineOf(seen), look), /SF622 too early: sidecar was ready, ended 5 s before/)
  })

  test('seconds after a hook failed is too early: a kubelet that is late starts nothing again in between', () => {
    const runs = [
      [1, 2, 1],
      [6, 7, 1],
      [20, 21, 1],
      [45, 46, 1],
    ] as const
    const waiting = { reason: 'CrashLoopBackOff' }
    const seen = lived([sidecar(runs, { hookFailed: 2.1, waiting }), app([[5.2]], { begun: 4 })], { now: 60 })
    assert.deepEqual(starts(seen), ['0 too-early crashed'])
    assert.deepEqual(starts({ ...seen, node: lived([], { now: 60, kubelet: [3] }).node }), ['0 unknown runs-lost'])
  })

  test('with a lock, whose file nobody empties meanwhile, too', () => {
    const locked = sidecar([[1, 5, 1]], { hook: { ...hook, locks: true } })
    assert.deepEqual(starts(lived([locked, app([[10.3]], { begun: 3, locked: true })], { now: 12 })), [
      '0 too-early ended',
    ])
  })

  test('again, behind a sidecar that was restarted and whose hook ran again', () => {
    const containers = [sidecar([[1, 30, 1], [31]], { probed: true }), app([[3, 32, 1], [34]])]
    assert.deepEqual(starts(lived(containers, { now: 60 })), ['0 held', '1 held'])
    // Nobody knows whether a kubelet that restarted meanwhile remembered the hook.
    assert.deepEqual(starts(lived(containers, { now: 60, kubelet: [32] })), ['0 held', '1 unknown hook-lost'])
  })

  test('again, while its sidecar is down', () => {
    const containers = [sidecar([[1, 30, 1], [40]]), app([[3, 32, 1], [34.2]])]
    assert.deepEqual(starts(lived(containers, { now: 60 })), ['0 held', '1 too-early ended'])
  })

  test('in the second in which its sidecar ended is not known', () => {
    const containers = [sidecar([[1, 10, 1], [30]]), app([[10.5]], { begun: 3 })]
    assert.deepEqual(starts(lived(containers, { now: 60 })), ['0 unknown same-second'])
  })

  test('whose sidecar has flapped since it was ready is not known', () => {
    const containers = [sidecar([[1]], { probed: true, failed: [8, 20] }), app([[10]], { begun: 3 })]
    assert.deepEqual(starts(lived(containers, { now: 60 })), ['0 unknown unready-since'])
  })

  test('long after its sidecar was ready is held, and what is not known of a sidecar that nobody probes is said', () => {
    const unprobed = lived([sidecar([[1]]), app([[20]], { begun: 3 })], { now: 60 })
    assert.deepEqual(judge(unprobed).outcome, { kind: 'held', unwatched: ['sidecar'], asked: [] })
    assert.match(
      drawTimeline(timelineOf(unprobed), look),
      /was ready when its gate opened, and ran on; a readinessProbe and/,
    )
    const probed = lived([sidecar([[1]], { probed: true }), app([[20]], { begun: 3 })], { now: 60 })
    assert.deepEqual(judge(probed).outcome, { kind: 'held', unwatched: [], asked: [] })
  })

  test('long after a kubelet has told of the pod is not held: a later one may have forgotten the hook, and nothing tells of that', () => {
    const seen = lived([sidecar([[1]]), app([[3, 7000, 1], [7001]])], { now: 7010 })
    assert.deepEqual(starts(seen)[0], '0 unknown node-events')
  })

  test('beside a member of its tier that was restarted by itself, which no hook waits for again, is not known', () => {
    const member: Lived = { name: 'member', runs: [[0.5, 30, 1], [31]], probed: true }
    const carrier = sidecar([[1]], { hook: { for: ['member', 'sidecar'] }, probed: true })
    const containers = [member, carrier, app([[3, 39, 1], [40]])]
    assert.deepEqual(starts(lived(containers, { now: 60, named: 'member + sidecar' })), [
      '0 held',
      '1 unknown not-waited-again',
    ])
  })
})

test('a kubelet that restarts long after a sidecar was ready made no app start too early, whose first events were dropped', () => {
  const seen = lived([sidecar([[1]], { probed: true }), app([[3, 100, 1], [115]])], { now: 130, kubelet: [110] })
  // The kubelet tells no more than 25 things of a pod, and anew when it has restarted.
  const events = seen.events?.filter(({ involvedObject }) => !involvedObject.fieldPath?.includes('app'))
  const later = lived([app([[115]])], { now: 130 }).events ?? []
  const { outcome, starts } = judge({ ...seen, events: [...(events ?? []), ...later] })
  assert.notEqual(outcome.kind, 'too-early')
  assert.deepEqual(
    starts.map(({ nth }) => nth),
    [0, 1],
  )
})

test('an event that is missing is not said to be gone with its hour', () => {
  const seen = lived([sidecar([[1]]), app([[3]])], { now: 90 })
  const events = seen.events?.filter(({ involvedObject }) => !involvedObject.fieldPath?.includes('app'))
  assert.deepEqual(starts({ ...seen, events }), ['0 unknown event-missing'])
  assert.deepEqual(starts({ ...seen, events, now: seen.now + 4_000_000 }), ['0 unknown events'])
  assert.deepEqual(starts({ ...seen, events: undefined }), ['0 unknown events'])
})

describe('what a cluster shows badly', () => {
  const running = [sidecar([[1]], { probed: true }), app([[10]], { begun: 3 })]

  test('a status that is older than the start says nothing of it: the sidecar may have ended meanwhile', () => {
    const seen = lived(running, { now: 11 })
    for (const status of seen.pod.status?.containerStatuses ?? []) {
      if (status.name === 'app') Object.assign(status, { state: { waiting: { reason: 'ContainerCreating' } } })
    }
    assert.deepEqual(starts(seen), ['0 unknown status-late'])
  })

  test('events that nobody may read, or that say what will be, make no start held', () => {
    const seen = lived(running, { now: 30 })
    assert.deepEqual(starts({ ...seen, events: undefined, node: undefined }), ['0 unknown events'])
    const future = lived([sidecar([[9000]]), app([[9000]])], { now: 30 }).events ?? []
    assert.ok(starts({ ...seen, events: [...(seen.events ?? []), ...future] }).every((each) => !each.includes('held')))
  })

  test('a run that a status has twice is one: between two runs a kubelet writes it so', () => {
    const seen = lived(
      [
        sidecar([[1, 6, 1], [20]]),
        app([
          [3, 10, 1],
          [12, 15, 1],
        ]),
      ],
      { now: 21 },
    )
    const status = seen.pod.status?.containerStatuses?.find(({ name }) => name === 'app')
    Object.assign(status ?? {}, { restartCount: 2, lastState: status?.state })
    // Of the second start no more than the last time of its event is left.
    assert.deepEqual(
      judge(seen).starts.map(({ nth }) => nth),
      [0, 2],
    )
  })

  test('hundreds of containers with odd names are judged as any others, some starts of them', () => {
    const names = Array.from({ length: 256 }, (_, index) => `\u001b[31m{}$(x)-${index}`)
    const many = names.map((name): Lived => ({ name, hook: { for: [name] }, runs: [[1]] }))
    const apps = names.map((name): Lived => ({ name: `app ${name}`, runs: [[400]] }))
    const seen = lived([...many, ...apps], { now: 401 })
    const { starts, outcome } = judge(seen)
    assert.equal(outcome.kind, 'unknown')
    assert.equal(starts.length, 128)
    assert.match(drawTimeline(timelineOf(seen), look), /not known: 128 of 256 starts of its apps are not judged/)
    assert.ok(!drawTimeline(timelineOf(seen), look).includes('\u001b'))
  })
})

describe('an app that ran once and does not now', () => {
  const crashes = { reason: 'CrashLoopBackOff', message: 'back-off 40s' }
  test('and is locked out, since its sidecar keeps ending', () => {
    const refused = { reason: 'CreateContainerConfigError', message: '"SIDECAR_FIRST_READY_1" not found in file' }
    const locked = { ...hook, locks: true } as const
    const seen = lived(
      [
        sidecar(
          [
            [1, 30, 1],
            [31, 32, 1],
            [45, 46, 1],
          ],
          { hook: locked, waiting: crashes },
        ),
        app([[3, 20, 0]], { locked: true, waiting: refused }),
      ],
      { now: 50 },
    )
    const { down } = judge(seen)
    assert.deepEqual([down?.why, down?.container], ['crashed', 'sidecar'])
    assert.match(drawTimeline(timelineOf(seen), look), /SF627 now app isn't running: sidecar keeps ending: exit code 1/)
  })

  test('and fails by itself', () => {
    const seen = lived(
      [
        sidecar([[1]]),
        app(
          [
            [3, 5, 1],
            [6, 8, 1],
          ],
          { waiting: crashes },
        ),
      ],
      { now: 15 },
    )
    const { down } = judge(seen)
    assert.deepEqual([down?.why, down?.container], ['crashed', 'app'])
  })

  test('and is done is not down', () => {
    const seen = lived([sidecar([[1]]), app([[3, 5, 0]])], { now: 15, restartPolicy: 'Never' })
    assert.equal(judge(seen).down, undefined)
  })
})

test('a wait for a sidecar that nothing restarts never ends', () => {
  const refused = { reason: 'CreateContainerConfigError', message: '"SIDECAR_FIRST_READY_1" not found in file' }
  const ended = sidecar([[1, 2, 1]], { hook: { ...hook, locks: true } })
  const seen = lived([ended, app([], { locked: true, waiting: refused })], { now: 10, restartPolicy: 'Never' })
  assert.match(
    drawTimeline(timelineOf(seen), look),
    /stuck for .*: sidecar has ended, and app waits for it; nothing restarts it: exit code 1\n {2}nothing restarts it; delete the pod: kubectl delete pod -n shop web/,
  )
})

test("a mesh's own proxy is no app, whoever names the sidecar, and its own hook is known to wait", () => {
  const proxy: Lived = {
    name: 'linkerd-proxy',
    image: 'cr.l5d.io/linkerd/proxy:edge',
    hook: ['/usr/lib/linkerd/linkerd-await', '--timeout=2m'],
    runs: [[1]],
  }
  const envoy = sidecar([[1.5]], { name: 'envoy', hook: { for: ['envoy'] } })
  const containers = [proxy, envoy, app([[2.5]])]
  const { outcome, app: first } = judge(lived(containers, { now: 10, named: 'envoy' }))
  assert.deepEqual([outcome.kind, first], ['held', 'app'])
  assert.equal(judge(lived(containers, { now: 10, named: 'envoy' }), ['linkerd-proxy']).outcome.kind, 'held')
})
