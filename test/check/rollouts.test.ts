import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { RolloutPhase, RolloutStatus } from '../../rollouts/types.ts'
import { judgeRollout, type PodImage, type TemplateImage } from '../../src/check/rollouts.ts'
import { failure, rollout } from '../rollout/cases.ts'
import { levels } from './cluster.ts'

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
  ) => judgeRollout(rollout(phase, '', { desired: 2, matched: 2, ...more }), pods, templates)

  it('are well where pods and template have the image', () => {
    const findings = judge(both, [template('Deployment', wanted)])
    assert.deepEqual(findings, [{ level: 'ok', text: `prod/shop-envoy: 2 pods have envoy ${wanted}, as it says` }])
  })

  it('tell a pod that somebody has changed, with the line that sets it right', () => {
    const [finding] = judge([pod('a', wanted), pod('b', old)])
    assert.equal(finding?.level, 'warning')
    assert.match(
      finding?.text ?? '',
      /1 of the 2 pods that shall have envoy example\/envoy:2\.1 have it; .* b with example\/envoy:2\.0/,
    )
    assert.equal(finding?.next, `kubectl set image -n prod pod/b envoy=${wanted}`)
  })

  it('tell a template that brings the old image back', () => {
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

  it('say nothing of a template while some pods stay as they are, nor of pods that are still to come', () => {
    assert.deepEqual(
      levels(judge([pod('a', wanted), pod('b', old)], [template('Deployment', old)], 'Complete', { desired: 1 })),
      ['ok'],
    )
    assert.deepEqual(levels(judge([pod('b', old)], [template('Deployment', old)], 'Progressing')), ['ok'])
  })

  it('that have failed, or that nobody takes up, are a warning', () => {
    const [stopped] = judge(both, [], 'Stopped', { failure })
    assert.equal(stopped?.level, 'warning')
    assert.match(stopped?.text ?? '', /prod\/shop-envoy has stopped: envoy was not ready/)
    const [unseen] = judgeRollout(rollout(undefined), both, [])
    assert.match(unseen?.text ?? '', /not taken up by any controller/)
    assert.equal(unseen?.next, 'sidecar-first rollout status -n prod shop-envoy')
  })
})
