import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { seenEvent, timesOf } from '../../src/seen/event.ts'
import { jsonTimeline } from '../../src/timeline/json.ts'
import { recordedPod } from '../outcome/recorded.ts'
import { type Seen, timelineOf } from '../outcome/seen.ts'

describe('the time of an event', () => {
  const event = (name: string): CoreV1Event => ({
    metadata: { name },
    involvedObject: {},
    reason: 'Started',
    firstTimestamp: new Date('2026-11-21T11:20:07Z'),
  })
  const moment = (name: string) => {
    const seen = seenEvent(event(name), 100)
    return seen && timesOf(seen)[0]
  }

  test('is in its name, in nanoseconds', () => {
    assert.deepEqual(moment('tl.18ea0b770d610931'), { at: 1_795_260_007_414, exact: true })
  })

  test('is not believed of a name where its own times say otherwise', () => {
    const second = { at: Date.parse('2026-11-21T11:20:07Z'), exact: false }
    assert.deepEqual(moment('tl.18ea0b7609000000'), second)
    assert.deepEqual(moment('tl.0123456789abcdef'), second)
    assert.deepEqual(moment('made-by-somebody'), second)
  })
})

describe('what the app waited for', () => {
  const waited = (seen: Seen) => {
    const { app, waits, late: early } = timelineOf(seen)
    return { app, waits, early }
  }
  const how = (name: string) => waited(recordedPod(name)).waits.map(({ hook, outcome }) => [hook, outcome])

  test('is each hook, for the sidecars of its tier', () => {
    const { app, waits, early } = waited(recordedPod('held'))
    assert.equal(app, 'app')
    assert.deepEqual(
      waits.map(({ hook, for: names, exact, outcome }) => [hook, names, exact, outcome]),
      [
        ['two', ['one', 'two'], true, 'ready'],
        ['three', ['three'], true, 'ready'],
      ],
    )
    assert.deepEqual(early, [])
  })

  test('is a hook that still waits, up to now', () => {
    assert.deepEqual(how('waiting'), [['sidecar', 'closed']])
    assert.ok((waited(recordedPod('waiting')).waits[0]?.took ?? 0) > 3000)
  })

  test('is all attempts of a native sidecar that crashed before', () => {
    assert.deepEqual(how('native-crashed-first'), [['sidecar', 'ready']])
    // Two crashes, and a back-off of 10 s.
    assert.ok((waited(recordedPod('native-crashed-first')).waits[0]?.took ?? 0) > 10_000)
  })

  test('is told as in vain where the sidecar was not ready at its end', () => {
    assert.deepEqual(how('timed-out'), [['sidecar', 'timed-out']])
    assert.deepEqual(how('continued'), [['sidecar', 'timed-out']])
    assert.deepEqual(how('crashed-once'), [['sidecar', 'crashed']])
    assert.deepEqual(how('kubelet-restarted'), [['sidecar', 'kubelet-restarted']])
  })

  test('is nothing where no hook held it, and the sidecar that came later is named', () => {
    const { waits, early } = waited(recordedPod('unpatched'))
    assert.deepEqual(waits, [])
    assert.deepEqual(
      early.map(({ sidecar }) => sidecar),
      ['sidecar'],
    )
  })

  test("does not take the app's own hook for a sidecar's", () => {
    const seen = recordedPod('unpatched')
    for (const container of seen.pod.spec?.containers ?? []) {
      if (container.name === 'app') container.lifecycle = { postStart: { exec: { command: ['/warm'] } } }
    }
    const { app, waits } = waited(seen)
    assert.equal(app, 'app')
    assert.deepEqual(waits, [])
  })
})

describe('without events, a container that restarted', () => {
  const started = (restartCount: number) => {
    const running = { startedAt: new Date('2026-11-21T11:30:00Z') }
    const terminated = { exitCode: 1, startedAt: new Date('2026-11-21T11:20:00Z') }
    const status = { name: 'app', restartCount, state: { running }, lastState: { terminated } }
    const pod = {
      spec: { containers: [{ name: 'app' }] },
      status: { containerStatuses: [{ ...status, image: '', imageID: '', ready: true }] },
    }
    return timelineOf({ pod, events: undefined, node: undefined, now: Date.now() }).starts[0]?.started?.at
  }

  test('is known by its first run as long as the status has it', () => {
    assert.equal(started(1), Date.parse('2026-11-21T11:20:00Z'))
    assert.equal(started(2), undefined)
  })
})

describe('when the app was ready', () => {
  const begin = Math.ceil(timelineOf(recordedPod('held')).until / 1000) * 1000
  const ready = (after: number) => {
    const seen = recordedPod('held')
    const { status, spec } = seen.pod
    for (const each of spec?.containers ?? []) if (each.name === 'app') each.readinessProbe = { tcpSocket: { port: 1 } }
    const condition = status?.conditions?.find(({ type }) => type === 'ContainersReady')
    if (condition) condition.lastTransitionTime = new Date(begin + after)
    const { starts, unknown, until } = timelineOf(seen)
    return { app: starts.find(({ name }) => name === 'app')?.ready, unknown: unknown.join('\n'), until }
  }

  test("is the pod's condition", () => {
    assert.equal(ready(3000).app?.at, begin + 3000)
  })

  test('is not known where the condition has changed since: a chart of hours would show nothing', () => {
    const { app, unknown, until } = ready(7_200_000)
    assert.equal(app, undefined)
    assert.match(unknown, /whether and when app was ready/)
    assert.ok(until <= begin)
  })
})

describe('a pod of which nothing is known yet', () => {
  test('has a timeline', () => {
    const pod: V1Pod = {
      metadata: { name: 'new', namespace: 'a' },
      spec: { containers: [{ name: 'app', image: 'a' }] },
    }
    const timeline = timelineOf({ pod, events: [], node: [], now: 1000 })
    const { containers } = JSON.parse(jsonTimeline(timeline))
    assert.deepEqual(containers, [
      { name: 'app', kind: 'regular', restarts: 0, lives: [], readyNow: false, lost: false },
    ])
  })
})
