import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Outcome } from '../../src/outcome/outcome.ts'
import { runs } from '../runs.ts'
import { began, type Lived, lived } from './lived.ts'
import { recordedNames, recordedPod } from './recorded.ts'
import { judge, type Seen, timelineOf } from './seen.ts'

/** An outcome in one line, such as `too-early: crashed dies`. */
function line(outcome: Outcome): string {
  const { kind } = outcome
  switch (kind) {
    case 'held':
      return kind
    case 'stuck': {
      const { reason } = outcome
      return `${kind}: ${reason.why} ${'sidecars' in reason ? reason.sidecars.join('+') : reason.container}`
    }
    case 'too-early':
    case 'unknown':
      return `${kind}: ${outcome.reasons.map(({ why, sidecars }) => `${why} ${sidecars.join('+')}`).join(', ')}`
    default:
      return kind satisfies never
  }
}
const told = (seen: Seen) => {
  const { outcome, lacking } = judge(seen)
  return [line(outcome), ...lacking.map(({ sidecar, why }) => `lacks ${sidecar}: ${why}`)].join('; ')
}
const minutesLater = (seen: Seen): Seen => ({ ...seen, now: seen.now + 240_000 })

const cases: Readonly<Record<string, string>> = {
  held: 'held',
  native: 'held',
  'native-startup': 'held',
  'native-crashed-first': 'held',
  'continued-in-time': 'held',
  'timed-out': 'too-early: timed-out sidecar; lacks sidecar: crashed',
  'timed-out-never': 'too-early: timed-out sidecar; lacks sidecar: ended',
  continued: 'too-early: timed-out sidecar',
  'crashed-once': 'too-early: crashed sidecar',
  'crash-loop': 'too-early: crashed sidecar; lacks sidecar: crashed',
  'crashed-in-tier': 'too-early: crashed dies; lacks dies: crashed; lacks innocent: crashed',
  image: 'too-early: image sidecar; lacks sidecar: image',
  'start-failed': 'too-early: start-failed sidecar; lacks sidecar: start-failed',
  unpatched: 'too-early: never-gated sidecar',
  'unpatched-image': 'too-early: image sidecar; lacks sidecar: image',
  'kubelet-restarted': 'too-early: kubelet-restarted sidecar',
  'kubelet-restarted-native': 'too-early: kubelet-restarted sidecar',
  'kubelet-restarted-startup': 'too-early: kubelet-restarted sidecar',
  'native-image': 'stuck: image sidecar',
  'native-crash-loop': 'stuck: crashed sidecar',
  'locked-own-error': 'stuck: start-failed app',
  'lock-unmounted': 'stuck: start-failed app',
  'locked-crash-loop': 'stuck: crashed sidecar',
  waiting: 'unknown: starting app',
  'native-waiting': 'unknown: starting app',
  locked: 'unknown: locked sidecar',
  'leased-asleep': 'unknown: locked sidecar',
  'leased-native': 'held',
  'leased-again': 'unknown: same-second sidecar',
  'leased-went-on': 'unknown: unready-since sidecar',
  unlocked: 'held',
  'unlocked-shell': 'held',
  'unlocked-after-crash': 'held',
  // Its status has lost the first run.
  'crash-loop-later': 'unknown: runs-lost sidecar; lacks sidecar: crashed',
  'own-hook': 'unknown: foreign-hook sidecar',
  'not-waited-for': 'unknown: not-waited-for sidecar',
  'no-sidecars': 'unknown: no-sidecars ',
}

describe('a recorded pod', () => {
  for (const name of recordedNames) {
    test(name, () => assert.equal(told(recordedPod(name)), cases[name]))
  }

  test('is there for every case', () => {
    assert.deepEqual(Object.keys(cases).toSorted(), [...recordedNames].toSorted())
  })
})

test('a pod without sidecars is never stuck: its troubles are its own', () => {
  const seen = recordedPod('no-sidecars')
  const [status] = seen.pod.status?.containerStatuses ?? []
  if (status) Object.assign(status, { ready: false, state: { waiting: { reason: 'ErrImagePull' } } })
  assert.equal(told({ ...seen, events: [] }), 'unknown: no-sidecars ')
})

describe('a pod that waits for minutes', () => {
  for (const [name, says] of [
    ['waiting', 'stuck: hook sidecar'],
    ['native-waiting', 'stuck: hook sidecar'],
    ['locked', 'stuck: locked sidecar'],
  ] as const) {
    test(`${name}: is stuck on its sidecar`, () => assert.equal(told(minutesLater(recordedPod(name))), says))
  }

  // In the kubelet's words for a file that is empty, and for one that is missing.
  test('is never called a configuration error while its lock is closed', () => {
    for (const message of [/"SIDECAR_FIRST_READY_1" not found in file/, "couldn't parse env file"]) {
      const { pod, now } = minutesLater(recordedPod('locked'))
      const waiting = pod.status?.containerStatuses?.find(({ name }) => name === 'app')?.state?.waiting
      if (typeof message === 'string' && waiting) waiting.message = message
      else assert.match(waiting?.message ?? '', message as RegExp)
      assert.equal(told({ pod, now, events: undefined, node: undefined }), 'stuck: locked sidecar')
    }
  })

  test('and of a lock that names its sidecar the same is said', () => {
    for (const name of ['locked', 'unlocked', 'unlocked-shell', 'locked-crash-loop']) {
      const unnamed = recordedPod(name)
      const text = JSON.stringify(unnamed)
        .replaceAll('SIDECAR_FIRST_READY_1', 'SIDECAR_FIRST_READY_1_SIDECAR')
        // The script writes the key from words of its own.
        .replace(/gate=1 handOver/, 'gate=1 key=SIDECAR_FIRST_READY_1_SIDECAR handOver')
        .replace('SIDECAR_FIRST_READY_$gate=', '$key=')
      assert.notEqual(text, JSON.stringify(unnamed))
      assert.equal(told(JSON.parse(text)), told(unnamed), name)
    }
  })
})

describe('an app that runs, whose status has lost its first start', () => {
  /** As if the app had been restarted often, and the events were gone. */
  function later(name: string, state?: object): Seen {
    const seen = structuredClone(recordedPod(name))
    const app = seen.pod.status?.containerStatuses?.find((each) => each.name === 'app')
    const at = app?.state?.running?.startedAt
    const ended = { terminated: { exitCode: 1, reason: 'Error', startedAt: at, finishedAt: at } }
    Object.assign(app ?? {}, { restartCount: 4, lastState: ended }, state && { state, ready: false })
    return { ...seen, events: [], node: [], now: seen.now + 86_400_000 }
  }

  for (const name of [
    'held',
    'native',
    'native-startup',
    'unlocked',
    'unlocked-shell',
    'unlocked-after-crash',
    'unpatched',
  ]) {
    test(`${name}: is not said to be starting, and not to be stuck`, () => {
      assert.equal(told(later(name)), 'unknown: lost ')
      const waits = judge(later(name)).gates.filter(({ opening }) => opening.how === 'closed')
      assert.deepEqual(waits, [])
    })
  }

  test('and fails: is down by itself, not stuck, and not on a sidecar that is ready', () => {
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off' }
    for (const name of ['unlocked', 'held']) {
      const seen = later(name, { waiting })
      const { down } = judge(seen)
      assert.deepEqual([told(seen), down?.why, down?.container], ['unknown: lost ', 'crashed', 'app'])
    }
  })

  test('nor of one whose start nobody has written down', () => {
    const seen = structuredClone(recordedPod('unpatched'))
    const app = seen.pod.status?.containerStatuses?.find((each) => each.name === 'app')
    Object.assign(app ?? {}, { state: { running: { startedAt: null } } })
    assert.equal(told({ ...seen, events: [] }), 'unknown: lost ')
  })
})

describe('what has run and does not now', () => {
  const reasons = ['ContainerCreating', 'PodInitializing', 'ContainerStatusUnknown', 'PostStartHookError', 'Whatever']
  const end = fc.record({
    who: fc.constantFrom('app', 'sidecar', 'all'),
    native: fc.boolean(),
    restartPolicy: fc.constantFrom('Always', 'OnFailure'),
    exitCode: fc.constantFrom(0, 1, 137, 255),
    waiting: fc.option(fc.constantFrom(...reasons), { nil: undefined }),
    ago: fc.integer({ min: 1, max: 40_000 }),
    hasEvents: fc.boolean(),
  })
  type End = typeof end extends fc.Arbitrary<infer E> ? E : never
  function after({ who, native, restartPolicy, exitCode, waiting, ago, hasEvents }: End): Seen {
    const run = (name: string, from: number): Lived => {
      if (who !== name && who !== 'all') return { name, runs: [[from]] }
      return { name, runs: [[from, 50, exitCode]], ...(waiting !== undefined && { waiting: { reason: waiting } }) }
    }
    const sidecar = { ...run('sidecar', 1), hook: { for: ['sidecar'] }, ...(native && { native: true as const }) }
    const seen = lived([sidecar, run('app', 3)], { now: 50 + ago, restartPolicy, unready: 50 })
    return hasEvents ? seen : { ...seen, events: undefined }
  }
  const isDone = ({ restartPolicy, exitCode, waiting }: End) =>
    restartPolicy === 'OnFailure' && exitCode === 0 && waiting === undefined

  test('is a problem after a minute, however it ended and whatever it waits for', () => {
    fc.assert(
      fc.property(end, (end) => {
        fc.pre(!isDone(end))
        const { down, lacking } = judge(after(end))
        // Without events, a hook of ten minutes may run by then.
        const least = end.hasEvents || end.who === 'app' ? 60 : 660
        const isLong = end.ago >= least + 2
        if (!isLong && end.ago > 58) return
        if (end.who === 'sidecar') assert.deepEqual(lacking.length, isLong ? 1 : 0)
        else assert.equal(down !== undefined, isLong)
        if (down) assert.equal(down.since?.at, began + 50_000)
      }),
      runs(500),
    )
  })

  test('is none where it has been started again since its status was written: a hook runs', () => {
    const app: Lived = { name: 'app', runs: [[3]] }
    const sidecar: Lived = { name: 'sidecar', hook: { for: ['sidecar'] }, runs: [[1, 50, 1]] }
    const status = lived([sidecar, app], { now: 400 })
    const { events } = lived([{ ...sidecar, runs: [[1, 50, 1], [60]] }, app], { now: 400 })
    assert.equal(judge(status).lacking.length, 1)
    assert.deepEqual(judge({ ...status, events }).lacking, [])
  })

  test('is none where nothing is started again: the pod is being deleted', () => {
    fc.assert(
      fc.property(end, (end) => {
        fc.pre(!(end.restartPolicy === 'OnFailure' && end.exitCode === 0))
        const seen = after(end)
        Object.assign(seen.pod.metadata ?? {}, { deletionTimestamp: new Date(began) })
        const { down, lacking } = judge(seen)
        assert.deepEqual([down, lacking], [undefined, []])
      }),
      runs(100),
    )
  })
})

describe('a pod that has failed', () => {
  /** As an eviction leaves it. */
  const evicted = (statuses: 'stale' | 'none', events: boolean): Seen => {
    const seen = structuredClone(recordedPod('held'))
    const { status } = seen.pod
    Object.assign(status ?? {}, { phase: 'Failed', reason: 'Evicted', message: 'low on memory' })
    if (statuses === 'none') Object.assign(status ?? {}, { containerStatuses: [], initContainerStatuses: [] })
    return { ...seen, ...(!events && { events: undefined }) }
  }

  test('has no running app, whatever its status has kept of it', () => {
    const { outcome, down, lacking } = judge(evicted('stale', true))
    assert.deepEqual([outcome.kind, down?.why, lacking], ['held', 'pod-failed', []])
    assert.match(down && 'message' in down ? down.message : '', /Evicted: low on memory/)
    assert.equal(judge(evicted('none', true)).down?.why, 'pod-failed')
  })

  test('and whose status says nothing any more is not asked again in some seconds, nor said to have ended before its app began', () => {
    for (const events of [true, false])
      assert.equal(told(evicted('none', events)), `unknown: status-lost ${events ? 'one+two+three' : ''}`)
  })
})

test('what is stuck or down is so since a moment, also without events', () => {
  for (const name of recordedNames) {
    const seen = recordedPod(name)
    const { outcome, down } = judge({ ...seen, now: seen.now + 1_800_000, events: undefined, node: undefined })
    for (const each of [outcome.kind === 'stuck' ? outcome.reason : undefined, down]) {
      if (each) assert.ok(each.since && each.since.at < seen.now, name)
    }
  }
})

describe("an app's own fault behind a lock", () => {
  const faults = [
    { reason: 'ImagePullBackOff', message: 'Back-off pulling image "shop:typo"' },
    { reason: 'CreateContainerConfigError', message: 'secret "x" not found' },
    { reason: 'CreateContainerError', message: 'no such device' },
  ]
  const pod = fc.record({
    native: fc.boolean(),
    fault: fc.constantFrom(...faults, undefined),
    now: fc.integer({ min: 5, max: 3000 }),
    hasEvents: fc.boolean(),
    tiers: fc.integer({ min: 1, max: 3 }),
  })

  test('is told as long as it lasts, and no gate whose sidecars are ready is blamed for it, nor for a slow image', () => {
    fc.assert(
      fc.property(pod, ({ native, fault, now, hasEvents, tiers }) => {
        const names = Array.from({ length: tiers }, (_, tier) => `sidecar-${tier}`)
        const sidecars = names.map((name, tier): Lived => {
          const own = { name, hook: { for: [name], locks: true }, probed: true, runs: [[tier + 1]] } as const
          return native ? { ...own, native } : own
        })
        const waiting = fault ?? { reason: 'ContainerCreating' }
        const app = { name: 'app', locked: true, runs: [], waiting } as const
        const seen = lived([...sidecars, app], { now, named: names.join(',') })
        const { outcome, gates } = judge(hasEvents ? seen : { ...seen, events: undefined })
        const said = outcome.kind === 'stuck' ? outcome.reason.container : outcome.kind
        assert.equal(said, fault ? 'app' : 'unknown')
        assert.ok(gates.every(({ opening }) => opening.how !== 'closed'))
      }),
      runs(100),
    )
  })
})

describe('a lock of ours', () => {
  /** As if its hook went on after a time. */
  function continuing(name: string): Seen {
    const text = JSON.stringify(recordedPod(name))
    const other = text
      .replaceAll('\\"onTimeout\\":\\"fail\\"', '\\"onTimeout\\":\\"continue\\"')
      .replaceAll('\\"10m\\"', '\\"100ms\\"')
    assert.notEqual(other, text)
    return JSON.parse(other)
  }

  test('that opened is a proof, whatever else can be seen', () => {
    for (const name of ['unlocked', 'unlocked-shell', 'unlocked-after-crash']) {
      const seen = recordedPod(name)
      assert.equal(told(seen), 'held')
      // An app that starts in the second in which its sidecar is restarted: by the status alone it may have been just before.
      const alone = name === 'unlocked-after-crash' ? 'unknown: same-second sidecar' : 'held'
      assert.equal(told({ ...seen, events: undefined, node: undefined }), alone, name)
    }
  })

  test('that opened after a time with continue is none', () => {
    assert.equal(told(continuing('unlocked')), 'unknown: continued sidecar')
  })
})

/** Every way of knowing less, or of something having gone wrong meanwhile, by itself. */
const less: Readonly<Record<string, (seen: Seen) => Seen>> = {
  'no events': (seen) => ({ ...seen, events: undefined }),
  'no events of the node': (seen) => ({ ...seen, node: undefined }),
}

describe('nothing is called ready that no observation supports', () => {
  for (const [what, reduced] of Object.entries(less)) {
    test(`with ${what}, only a lock that opened proves anything`, () => {
      for (const name of recordedNames) {
        const { outcome, gates, containers } = judge(reduced(recordedPod(name)))
        const locked = containers.some(({ locks }) => locks.length > 0)
        if (!locked) assert.notEqual(outcome.kind, 'held', name)
        const proven = gates.filter(({ opening }) => opening.how === 'ready')
        if (!locked) assert.deepEqual(proven, [], name)
      }
    })
  }

  // Whatever is lost or late, what is drawn as ready has a witness: an exact end of a hook of ours that did not fail, on a node whose kubelet
  // did not restart meanwhile; a lock that opened; or the kubelet's own word.
  test('whichever events are lost, and whenever the kubelet restarted', () => {
    const name = fc.constantFrom(...recordedNames)
    fc.assert(
      fc.property(name, fc.array(fc.nat(40)), fc.option(fc.nat(20_000)), (name, lost, restart) => {
        const whole = recordedPod(name)
        const events = whole.events?.filter((_, index) => !lost.includes(index))
        const begin = Date.parse(String(whole.pod.metadata?.creationTimestamp))
        const more = restart === null ? [] : [kubeletStart(begin + restart)]
        const seen = { ...whole, events, node: [...(whole.node ?? []), ...more] }
        const { containers, gates } = judge(seen)
        for (const { at, from, opening, for: names } of gates) {
          if (opening.how !== 'ready') continue
          const holder = containers.find((each) => each.name === at)
          const opened = opening.moment
          const locked = containers.some(({ locks, started }) => locks.length > 0 && started?.at === opened.at)
          const cut = restart !== null && begin + restart > from.at && begin + restart <= opened.at
          const native = holder?.kind === 'native'
          assert.ok(locked || (from.exact && opened.exact), 'a time cut to the second proves nothing')
          assert.ok(locked || native || !cut, 'the kubelet restarted in mid-hook')
          assert.ok(
            locked || native || !(holder?.hookFailed && holder.hookFailed.at <= opened.at),
            'the hook had failed',
          )
          for (const each of names) {
            const member = containers.find((container) => container.name === each)
            assert.ok(!member?.started || member.started.at <= opened.at, `${each} had not started`)
          }
        }
        const condition = seen.pod.status?.conditions?.some(
          ({ type, status }) => type === 'ContainersReady' && status === 'True',
        )
        for (const start of timelineOf(seen).starts) {
          if (!start.ready) continue
          const proven = gates.some(({ opening, for: names }) => names.includes(start.name) && opening.how === 'ready')
          assert.ok(start.started, `${start.name} never ran`)
          assert.ok(proven || condition || start.name === 'app', `${start.name} was never seen ready`)
        }
      }),
      runs(300),
    )
  })

  test('a status alone never proves a start: an image is pulled before a lock is asked', () => {
    const { containers } = judge(recordedPod('locked'))
    assert.equal(containers.find(({ name }) => name === 'app')?.started, undefined)
    assert.ok(containers.find(({ name }) => name === 'app')?.begun)
  })
})

function kubeletStart(at: number) {
  const time = new Date(at).toISOString()
  return {
    metadata: { name: `node.${(BigInt(at) * 1_000_000n).toString(16)}` },
    involvedObject: { kind: 'Node' },
    source: { component: 'kubelet' },
    reason: 'Starting',
    firstTimestamp: new Date(`${time.slice(0, 19)}Z`),
  }
}
