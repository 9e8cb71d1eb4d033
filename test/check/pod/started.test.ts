import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { told } from '../../../src/check/findings.ts'
import { startFindings } from '../../../src/check/pod/start.ts'
import { closely, judgeStarts, type StartedPod } from '../../../src/check/pod/started.ts'
import { ClusterError } from '../../../src/kubernetes/failure.ts'
import type { Objects } from '../../../src/kubernetes/objects.ts'
import { judge } from '../../../src/outcome/outcome.ts'
import { recordedPod } from '../../outcome/recorded.ts'
import { seenOf } from '../../outcome/seen.ts'
import { ofDeployment } from '../cluster.ts'

/** As `check` sees it, which asks for events only where it must, and gets none. */
const lookAt = async (name: string, later = 0, more: object = {}) => {
  const { pod, now } = recordedPod(name)
  pod.metadata = { ...pod.metadata, ...more }
  let asked = false
  // biome-ignore lint/correctness/useYield: it only fails
  async function* items() {
    asked = true
    throw new ClusterError('forbidden', 'events is forbidden')
  }
  const seen = await closely({ items } as unknown as Objects, () => now + later)(pod, [])
  return { seen, asked }
}
const seenAt = async (...how: Parameters<typeof lookAt>) => (await lookAt(...how)).seen
const findings = async (...all: readonly Promise<StartedPod>[]) =>
  judgeStarts(await Promise.all(all), recordedPod('held').now)
    .map(told)
    .map(({ level, text }) => `${level}: ${text}`)

describe('how pods started', () => {
  test('is no news of those that run with their sidecars', async () => {
    assert.deepEqual(await findings(seenAt('held'), seenAt('native'), seenAt('no-sidecars'), seenAt('waiting')), [])
  })

  test('is no news of one that was evicted: another has its place', async () => {
    const { pod, now } = recordedPod('held')
    Object.assign(pod.status ?? {}, { phase: 'Failed', reason: 'Evicted' })
    const seen = seenOf({ pod, now, events: undefined, node: undefined })
    assert.deepEqual(
      startFindings(seen, judge(seen)).map((each) => told(each).code),
      ['SF624', 'SF627'],
    )
    const one = { name: 'web-1', owner: { kind: 'Deployment', namespace: 'shop', name: 'web' }, ...judge(seen) }
    assert.deepEqual(judgeStarts([one], now), [])
  })

  for (const [name, says] of [
    ['crash-loop', /^problem: Pod record\/crash-loop without a sidecar: sidecar keeps ending: exit code 1/],
    ['crash-loop-later', /^problem: .* sidecar keeps ending/],
    ['image', /^problem: .* the image of sidecar can't be pulled/],
    ['start-failed', /^problem: .* sidecar can't be started: .*\/missing/],
    ['unpatched-image', /^problem: .* the image of sidecar can't be pulled/],
    ['timed-out-never', /^problem: .* sidecar has ended: .*was not ready after/],
    ['native-image', /^problem: .* stuck.*: the image of sidecar can't be pulled/],
    ['native-crash-loop', /^problem: .* stuck.*: sidecar keeps ending, and nothing behind it starts/],
  ] as const) {
    test(`is a problem: ${name}`, async () => {
      const [finding, ...others] = await findings(seenAt(name))
      assert.match(finding ?? '', says)
      assert.deepEqual(others, [])
    })
  }

  test('is one finding for the pods of an owner that are alike', async () => {
    const some = ['a', 'b'].map((name) => seenAt('crash-loop', 0, { name, ...ofDeployment('web') }))
    const sound = seenAt('held', 0, ofDeployment('web'))
    assert.match(
      (await findings(...some, sound)).join('\n'),
      /^problem: Deployment record\/web: 2 of 3 pods without a sidecar: sidecar/,
    )
  })

  test('is asked of the events only where they can say more', async () => {
    const more = async (name: string, later = 0) => (await lookAt(name, later)).asked
    assert.equal(await more('held'), false)
    assert.equal(await more('no-sidecars'), false)
    assert.equal(await more('waiting'), false)
    assert.equal(await more('waiting', 240_000), true)
    assert.equal(await more('crashed-once'), true)
    assert.equal(await more('crashed-once', 2 * 3_600_000), false)
  })
})

describe('how one pod started', () => {
  const of = (name: string, later = 0) => {
    const seen = recordedPod(name)
    const now = seen.now + later
    const kept = seenOf({ ...seen, now })
    return startFindings(kept, judge(kept)).map(told)
  }

  test('is told with a command that shows more', () => {
    const [early, without] = of('crash-loop')
    assert.deepEqual([early?.level, without?.level], ['warning', 'problem'])
    assert.equal(early?.next, 'sidecar-first timeline -n record pod/crash-loop')
    assert.equal(without?.next, 'kubectl logs -n record crash-loop -c sidecar --previous')
    assert.deepEqual(of('no-sidecars'), [])
  })

  test('is stuck where a hook has waited for minutes, and fine before', () => {
    assert.deepEqual(
      [of('waiting')[0]?.level, of('held')[0]?.text],
      ['ok', 'its app began after its sidecars were ready'],
    )
    const [stuck] = of('waiting', 240_000)
    assert.deepEqual(
      [stuck?.level, stuck?.text],
      ['problem', 'stuck for 4 minutes: it waits for sidecar, in the hook of sidecar'],
    )
  })
})
