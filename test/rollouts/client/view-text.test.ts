import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { firstSeen } from '../../../rollouts/client/calls.ts'
import { type RolloutView, viewOf } from '../../../rollouts/client/view.ts'
import { changeLines, rolloutsTable, rolloutText } from '../../../rollouts/client/view-text.ts'
import { type SeenPod, seenPod, type WirePod } from '../../../rollouts/seen-pod.ts'
import type { RolloutStatus } from '../../../rollouts/types.ts'
import { cases, now, pod, rollout } from './cases.ts'

const folder = join(import.meta.dirname, 'golden')
const fileOf = (name: string) => join(folder, `${name.replaceAll(' ', '-')}.txt`)
const viewOfCase = (name: string, at = now) => {
  const { rollout: one, pods } = cases[name] ?? { rollout: rollout(undefined), pods: [] }
  const seen = pods?.map((each) => seenPod(each, firstSeen(each), at))
  return viewOf(one, seen, at)
}

for (const name of Object.keys(cases)) {
  test(`golden: ${name}`, () => {
    const view = viewOfCase(name)
    const shown = [
      rolloutText(view),
      '--- each change',
      changeLines(undefined, view),
      '--- among all',
      rolloutsTable([view]),
    ].join('\n')
    if (process.env.UPDATE_GOLDEN) writeFileSync(fileOf(name), shown)
    assert.equal(shown, readFileSync(fileOf(name), 'utf8'))
  })
}

test('no golden file is left without its case', () => {
  const wanted = new Set(Object.keys(cases).map(fileOf))
  const stray = readdirSync(folder)
    .map((file) => join(folder, file))
    .filter((file) => !wanted.has(file))
  if (process.env.UPDATE_GOLDEN) for (const file of stray) rmSync(file)
  else assert.deepEqual(stray, [])
})

test('lines have no character that a terminal obeys, and an end', () => {
  const long = rollout('Progressing', 'x'.repeat(10_000))
  for (const view of [...Object.keys(cases).map((name) => viewOfCase(name)), viewOf(long, [], now)]) {
    const text = rolloutText(view) + changeLines(undefined, view) + rolloutsTable([view])
    assert.doesNotMatch(text, /[^\P{C}\n]/u)
    for (const line of text.split('\n')) assert.ok(line.length <= 512, line)
  }
})

/** One who watches, from `now` on: each step so many seconds later. */
function watched(
  ...steps: readonly (readonly [seconds: number, pods: readonly WirePod[], counts?: Partial<RolloutStatus>])[]
): RolloutView[] {
  const former = new Map<string, SeenPod>()
  let view: RolloutView | undefined
  return steps.map(([seconds, pods, counts = {}]) => {
    const at = now + seconds * 1000
    for (const each of pods)
      former.set(each.metadata.name, seenPod(each, former.get(each.metadata.name) ?? firstSeen(each), at))
    view = viewOf(rollout('Progressing', 'going', { matched: 2, ...counts }), [...former.values()], at, view)
    return view
  })
}

test('a log tells what is new, and nothing twice', () => {
  const views = watched(
    [0, [pod(0, { touched: 4 }), pod(1)], { updated: 1, inProgress: 1 }],
    [1, [pod(0, { touched: 4 }), pod(1)], { updated: 1, inProgress: 1 }],
    [3, [pod(0, { touched: 4, ready: 0 }), pod(1, { touched: 0 })], { updated: 2, inProgress: 2 }],
    [20, [pod(0, { touched: 4, ready: 0 }), pod(1, { touched: 0 })], { updated: 2, updatedReady: 1, inProgress: 1 }],
    [30, [pod(0, { touched: -25, back: true }), pod(1, { touched: 0 })], { updated: 1, inProgress: 2 }],
    [50, [pod(0, { touched: -25, ready: -27, back: true }), pod(1, { touched: 0 })], { updated: 1, inProgress: 2 }],
    [61, [pod(0, { touched: -25, ready: -27, back: true }), pod(1, { touched: 0 })], { updated: 1, inProgress: 1 }],
  )
  const told = views.map((view, index) => changeLines(views[index - 1], view))
  const lines = [
    ['shop-0 on node-0: in progress, not ready yet', 'Progressing: going [1 in progress, 1 old]'],
    [],
    [
      'shop-0 on node-0: in progress, ready, not for long enough yet',
      'shop-1 on node-1: in progress, not ready yet',
      'Progressing: going [2 in progress]',
    ],
    ['shop-0 on node-0: new after 7s', 'Progressing: going [1 new, 1 in progress]'],
    ['shop-0 on node-0: in progress, not ready yet', 'Progressing: going [2 in progress]'],
    ['shop-0 on node-0: in progress, ready, not for long enough yet'],
    ['shop-0 on node-0: back on example/envoy:2.0 after 25s', 'Progressing: going [1 in progress, 1 old]'],
  ]
  assert.deepEqual(
    told,
    lines.map((some) => some.map((line) => `shop-envoy: ${line}\n`).join('')),
  )
})

test('how long a pod took is told only where somebody saw it become ready', () => {
  const ready = { ...pod(0, { touched: 60, ready: 50 }) }
  const stayed = { ...ready, status: { ...ready.status, conditions: [{ type: 'Ready', status: 'True' }] } }
  const took = (pods: readonly WirePod[]) => watched([0, pods]).map((view) => view.pods[0]?.took)
  assert.deepEqual([took([ready]), took([stayed])], [[10_000], [undefined]])
})
