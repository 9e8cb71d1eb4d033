import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { drawTimeline } from '../../src/timeline/draw.ts'
import { drawMany } from '../../src/timeline/draw-many.ts'
import { htmlMany, htmlTimeline } from '../../src/timeline/html.ts'
import { jsonMany } from '../../src/timeline/json.ts'
import { together } from '../../src/timeline/many.ts'
import type { Timeline } from '../../src/timeline/timeline.ts'
import { recordedNames, recordedPod } from '../outcome/recorded.ts'
import { timelineOf } from '../outcome/seen.ts'

const about = { kind: 'Deployment', namespace: 'shop', name: 'web' }
const look = { width: 110, color: false, unicode: true, terminal: false }
const recorded = (name: string): Timeline => timelineOf(recordedPod(name))
const many = (...names: string[]) => together(names.map(recorded), about)
const page = { now: Date.parse('2026-11-22T07:00:00Z'), version: '1.0.0' }

describe('the starts of several pods', () => {
  test('of every outcome: what a person sees', () => {
    const text = drawMany(many(...recordedNames), look)
    const golden = join(import.meta.dirname, 'many.txt')
    if (process.env.UPDATE_GOLDEN) writeFileSync(golden, text)
    assert.equal(text, readFileSync(golden, 'utf8'))
  })

  test('each counts once, by its outcome', () => {
    const { outcomes, timelines } = many(...recordedNames)
    assert.equal(
      Object.values(outcomes).reduce((sum, count) => sum + count, 0),
      recordedNames.length,
    )
    const held = timelines.filter(({ sidecars, outcome }) => sidecars.size > 0 && outcome.kind === 'held')
    assert.equal(outcomes.held, held.length)
    assert.equal(outcomes['no-sidecars'], 1)
  })

  test('the median is a start that was seen, the slowest the last of them', () => {
    const { started } = many('held', 'native', 'timed-out', 'locked')
    assert.equal(started?.of, 3)
    assert.deepEqual([started.median.pod, started.slowest.pod], ['timed-out', 'held'])
    const { started: two } = many('native', 'timed-out')
    assert.deepEqual([two?.median.pod, two?.slowest.pod], ['native', 'timed-out'])
  })

  test('whom they waited for, and in vain', () => {
    const { waits } = many('held', 'timed-out', 'waiting')
    assert.deepEqual(waits.map(({ for: names, outcome, of }) => [names.join('+'), outcome, of]).toSorted(), [
      ['one+two', 'ready', 1],
      ['sidecar', 'closed', 1],
      ['sidecar', 'timed-out', 1],
      ['three', 'ready', 1],
    ])
  })

  test('none: it says so', () => {
    assert.equal(drawMany(many(), look), 'shop/web  Deployment, 0 pods\nno pods\n\n')
    assert.match(htmlMany(many(), page), /no pods/)
  })

  test('one that hangs for hours leaves room for the others', () => {
    const stuck = recordedPod('native-image')
    const hours = { ...timelineOf({ ...stuck, now: stuck.now + 6 * 3_600_000 }), name: 'web-1' }
    const text = drawMany(together([hours, recorded('held')], about), look)
    assert.match(text, /^1 +░+ +stuck\n.*held +░+▒+.*█/m)
    assert.match(text, /8 s/)
  })

  test('one that runs, and whose status has lost its first start, is not said to wait or to be starting', () => {
    const often = structuredClone(recordedPod('unlocked'))
    for (const status of often.pod.status?.containerStatuses ?? [])
      if (status.name === 'app') Object.assign(status, { restartCount: 4 })
    const lost = { ...timelineOf({ ...often, events: [], now: often.now + 86_400_000 }), name: 'web-1' }
    const { outcomes, timelines, waits } = together([lost, recorded('held')], about)
    assert.deepEqual([outcomes.stuck, outcomes.unknown], [0, 1])
    assert.deepEqual(
      timelines.map(({ name }) => name),
      ['held', 'web-1'],
    )
    assert.ok(waits.every(({ outcome }) => outcome !== 'closed'))
    const text = drawMany(together([lost, recorded('held')], about), look)
    assert.match(text, /^1 +▪+ +first start lost$/m)
    assert.doesNotMatch(text, /not started|haven?'t started|starting/)
    const single = drawTimeline(lost, look)
    assert.match(single, /^app has started, and when it first did is lost$/m)
    assert.doesNotMatch(single, /not started|so far/)
  })

  test('without events: times are to the second, and nothing is called held', () => {
    const blind = ['held', 'native'].map((name) =>
      timelineOf({ ...recordedPod(name), events: undefined, node: undefined }),
    )
    const { outcomes, started } = together(blind, about)
    assert.equal(outcomes.held, 0)
    assert.equal(started?.coarse, 2)
    assert.match(drawMany(together(blind, about), look), /2 of these starts are known to the second only/)
  })

  test('without one event only: no more is said to be gone than is', () => {
    for (const reason of ['Scheduled', 'Started']) {
      const seen = recordedPod('held')
      const events = seen.events?.filter((each) => each.reason !== reason)
      const text = drawMany(together([timelineOf({ ...seen, events })], about), look)
      assert.match(text, /1 of these starts is known to the second only: one of their events \(Scheduled, Started\) /)
      assert.doesNotMatch(text, /events are gone/)
    }
  })

  test('JSON has every pod, with codes', () => {
    const { pods, reasons, started } = JSON.parse(jsonMany(many('held', 'timed-out', 'native-image', 'no-sidecars')))
    assert.deepEqual(
      pods.map(({ name, code, outcome }: Record<string, string>) => [name, code, outcome]),
      [
        ['native-image', 'SF623', 'stuck'],
        ['held', 'SF621', 'held'],
        ['timed-out', 'SF622', 'too-early'],
        ['no-sidecars', undefined, 'no-sidecars'],
      ],
    )
    assert.deepEqual([reasons.stuck[0].what.why, reasons.stuck[0].pods, started.of], ['image', ['native-image'], 3])
  })
})

describe('as a page', () => {
  const evil = `<img src=x onerror="alert('1')">\u001b[31m\u202e`
  const hostile = (name: string): Timeline => {
    const text = JSON.stringify(recordedPod(name)).replaceAll('"sidecar"', JSON.stringify(evil))
    const seen = JSON.parse(text.replaceAll('{sidecar}', `{${JSON.stringify(evil).slice(1, -1)}}`))
    return { ...timelineOf(seen), name: evil }
  }

  for (const name of ['held', 'timed-out', 'native-image', 'locked', 'start-failed']) {
    test(`${name}: nobody's name or message becomes markup, and nothing is loaded`, () => {
      const timeline = hostile(name)
      const pages = [
        htmlTimeline(timeline, page),
        htmlMany(together([timeline, recorded('held')], { ...about, name: evil }), page),
      ]
      for (const text of pages) {
        assert.doesNotMatch(text, /<img|\p{Bidi_Control}|<script|<link|url\(|(src|href|action)="/u)
        assert.ok(!text.includes('\u001b'))
        assert.match(text, /&lt;img src=x/)
        assert.match(text, /Content-Security-Policy" content="default-src 'none'/)
      }
    })
  }

  test('says what the terminal says', () => {
    const text = htmlMany(many(...recordedNames), page)
    assert.match(text, new RegExp(`<h1>shop/web {2}Deployment, ${recordedNames.length} pods</h1>`))
    assert.match(text, /SF622 3 too early: sidecar was not ready in time/)
    assert.match(text, /2026-11-22T07:00:00Z/)
  })
})

test('a terminal is shown what a forged hook names without what it would obey', () => {
  const evil = '\u001b[31m\u202eevil'
  for (const name of ['held', 'timed-out', 'locked']) {
    const seen = structuredClone(recordedPod(name))
    for (const { lifecycle } of [...(seen.pod.spec?.initContainers ?? []), ...(seen.pod.spec?.containers ?? [])]) {
      const command = lifecycle?.postStart?.exec?.command
      const { checks } = JSON.parse(command?.[2] ?? '{}')
      if (checks) command?.splice(2, 1, JSON.stringify({ checks: [{ ...checks[0], container: evil }] }))
    }
    const timeline = timelineOf(seen)
    for (const text of [drawTimeline(timeline, look), drawMany(together([timeline], about), look)]) {
      assert.match(text, /for .*evil/)
      assert.doesNotMatch(text, /[^\P{Cc}\n]|\p{Bidi_Control}/u)
    }
  }
})
