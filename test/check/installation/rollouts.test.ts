import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RolloutPhase, RolloutStatus } from '../../../rollouts/types.ts'
import { judgeRollout as judge, type PodImage, type TemplateImage } from '../../../src/check/installation/rollouts.ts'
import { failure, rollout } from '../../rollouts/client/cases.ts'
import { levels, worded } from '../cluster.ts'

const judgeRollout = worded(judge)

const [old, wanted] = ['example/envoy:2.0', 'example/envoy:2.1']
const owner = (kind: string, name = 'shop') => ({ kind, name, namespace: 'prod' })
const pod = (name: string, image: string, kind = 'Deployment'): PodImage => ({ name, image, owner: owner(kind) })
const template = (kind: string, image: string): TemplateImage => ({ holder: owner(kind), image })
const both = [pod('a', wanted), pod('b', wanted)]

describe('rollouts', () => {
  const judge = (
    pods: readonly PodImage[],
    templates: readonly TemplateImage[] = [],
    phase: RolloutPhase | undefined = 'Complete',
    more: Partial<RolloutStatus> = {},
  ) => judgeRollout(rollout(phase, '', { desired: 2, matched: 2, origins: [old], ...more }), pods, templates)

  test('are well where pods and template have the image', () => {
    const findings = judge(both, [template('Deployment', wanted)])
    assert.deepEqual(findings, [
      { code: 'SF808', level: 'ok', text: `prod/shop-envoy: 2 pods have envoy ${wanted}, as it says` },
    ])
  })

  test('tell a pod that somebody has changed, with the line that sets it right', () => {
    const [finding] = judge([pod('a', wanted), pod('b', old)])
    assert.equal(finding?.level, 'warning')
    assert.match(
      finding?.text ?? '',
      /1 of the 2 pods that should have envoy example\/envoy:2\.1 have it; .* b with example\/envoy:2\.0/,
    )
    assert.equal(finding?.next, `kubectl set image -n prod pod/b envoy=${wanted}`)
  })

  test('tell a template that brings the old image back', () => {
    const next = (kind: string) => judge(both, [template(kind, old)])[0]?.next ?? ''
    const set = (kind: string) => `kubectl set image -n prod ${kind}/shop envoy=${wanted}`
    for (const kind of ['Deployment', 'StatefulSet', 'DaemonSet']) {
      assert.equal(next(kind), `${set(kind.toLowerCase())}   (recreates its pods: best with the next release)`)
    }
    assert.deepEqual([next('CronJob'), next('ReplicaSet')], [set('cronjob'), set('replicaset')])
    assert.match(next('Job'), /a Job keeps its template/)
    assert.match(next('CloneSet'), /correct the template of CloneSet shop/)
    const [finding] = judge(both, [template('Deployment', old)])
    assert.match(
      finding?.text ?? '',
      /^Deployment prod\/shop makes new pods with envoy example\/envoy:2\.0, and prod\/shop-envoy says/,
    )
  })

  test('say nothing of a template while some pods stay as they are, nor of pods that are still to come', () => {
    assert.deepEqual(
      levels(judge([pod('a', wanted), pod('b', old)], [template('Deployment', old)], 'Complete', { desired: 1 })),
      ['ok'],
    )
    assert.deepEqual(levels(judge([pod('b', old)], [template('Deployment', old)], 'Progressing')), ['ok'])
  })

  test('never advise to go back from an image that is not ours to replace, such as a newer release', () => {
    const newer = 'example/envoy:3.0'
    const findings = judge([pod('a', wanted), pod('b', newer)], [template('Deployment', newer)])
    assert.deepEqual(levels(findings), ['ok'])
  })

  test('take what a mirror makes of the image for the image', () => {
    const mirrored = `mirror.example/${wanted}`
    const revisions = [{ image: wanted, partition: 0, completed: true, effective: mirrored }]
    const [finding] = judge([pod('a', mirrored), pod('b', mirrored)], [], 'Complete', { revisions })
    assert.match(finding?.text ?? '', /2 pods have envoy/)
  })

  test('that have failed, or that nobody takes up, are a warning', () => {
    const [stopped] = judge(both, [], 'Stopped', { failure })
    assert.equal(stopped?.level, 'warning')
    assert.match(stopped?.text ?? '', /prod\/shop-envoy has stopped: envoy was not ready/)
    const [stuck] = judgeRollout(rollout('Stopped', 'none of 2 pods can be upgraded in place'), both, [])
    assert.equal(stuck?.text, 'prod/shop-envoy has stopped: none of 2 pods can be upgraded in place')
    const [unseen] = judgeRollout(rollout(undefined), both, [])
    assert.match(unseen?.text ?? '', /no controller has taken up/)
    assert.equal(unseen?.next, 'sidecar-first rollout status -n prod shop-envoy')
  })
})
