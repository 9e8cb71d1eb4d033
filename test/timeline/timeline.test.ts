import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { jsonTimeline } from '../../src/timeline/json.ts'
import { happenings } from '../../src/timeline/moment.ts'
import { timelineOf } from '../../src/timeline/timeline.ts'
import { waitedFor } from '../../src/timeline/waits.ts'

const recorded = (name: string): { pod: V1Pod; events: CoreV1Event[] } =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'recorded', `${name}.json`), 'utf8'))

describe('the time of an event', () => {
  const event = (name: string): CoreV1Event => ({
    metadata: { name },
    involvedObject: {},
    reason: 'Started',
    firstTimestamp: new Date('2026-11-21T11:20:07Z'),
  })
  const moment = (name: string) => happenings([event(name)])[0]?.moment

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
  const waited = ({ pod, events }: { pod: V1Pod; events: CoreV1Event[] }) =>
    waitedFor(timelineOf(pod, events, Date.parse('2026-11-21T11:21:45Z')), pod)

  test('is each hook, for the sidecars of its tier', () => {
    const { app, waits, early } = waited(recorded('tiers'))
    assert.equal(app, 'app')
    assert.deepEqual(
      waits.map(({ hook, for: names, took, exact, outcome }) => [hook, names, Math.round(took / 100), exact, outcome]),
      [
        ['two', ['one', 'two'], 20, true, 'ended'],
        ['three', ['three'], 5, true, 'ended'],
      ],
    )
    assert.deepEqual(early, [])
  })

  test('is a hook that still waits, up to now', () => {
    const { waits } = waited(recorded('waiting'))
    assert.deepEqual(
      waits.map(({ hook, outcome }) => [hook, outcome]),
      [['sidecar', 'running']],
    )
    assert.ok((waits[0]?.took ?? 0) > 5000)
  })

  test('is a hook that failed', () => {
    assert.deepEqual(
      waited(recorded('failing')).waits.map(({ outcome }) => outcome),
      ['failed'],
    )
  })

  test('is nothing where no hook held it, and the sidecar that came later is named', () => {
    const { waits, early } = waited(recorded('unpatched'))
    assert.deepEqual(waits, [])
    assert.deepEqual(
      early.map(({ sidecar }) => sidecar),
      ['sidecar'],
    )
  })

  test("does not take the app's own hook for a sidecar's", () => {
    const { pod, events } = recorded('unpatched')
    for (const container of pod.spec?.containers ?? []) {
      if (container.name === 'app') container.lifecycle = { postStart: { exec: { command: ['/warm'] } } }
    }
    const { app, waits } = waited({ pod, events })
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
    return timelineOf(pod, [], Date.now()).starts[0]?.started?.at
  }

  test('is known by its first run as long as the status has it', () => {
    assert.equal(started(1), Date.parse('2026-11-21T11:20:00Z'))
    assert.equal(started(2), undefined)
  })
})

describe('when the app was ready', () => {
  const ready = (after: number) => {
    const { pod, events } = recorded('tiers')
    const condition = pod.status?.conditions?.find(({ type }) => type === 'ContainersReady')
    if (condition) condition.lastTransitionTime = new Date(Date.parse('2026-11-21T11:20:10Z') + after)
    const { starts, unknown, until } = timelineOf(pod, events, Date.now())
    return { app: starts.find(({ name }) => name === 'app')?.ready, unknown: unknown.join('\n'), until }
  }

  test("is the pod's condition", () => {
    assert.equal(ready(3000).app?.at, Date.parse('2026-11-21T11:20:13Z'))
  })

  test('is not known where the condition has changed since: a chart of hours would show nothing', () => {
    const { app, unknown, until } = ready(7_200_000)
    assert.equal(app, undefined)
    assert.match(unknown, /when app was first ready/)
    assert.ok(until < Date.parse('2026-11-21T11:21:00Z'))
  })
})

describe('a pod of which nothing is known yet', () => {
  test('has a timeline', () => {
    const pod: V1Pod = {
      metadata: { name: 'new', namespace: 'a' },
      spec: { containers: [{ name: 'app', image: 'a' }] },
    }
    const timeline = timelineOf(pod, [], 1000)
    const { containers } = JSON.parse(jsonTimeline(timeline, waitedFor(timeline, pod)))
    assert.deepEqual(containers, [{ name: 'app', kind: 'regular', restarts: 0, readyNow: false }])
  })
})
