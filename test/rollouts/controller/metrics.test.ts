import assert from 'node:assert/strict'
import { test } from 'node:test'
import { next } from '../../../rollouts/controller/decide-rollout.ts'
import type { Shown } from '../../../rollouts/controller/decision.ts'
import { rolloutsMetrics } from '../../../rollouts/controller/metrics.ts'
import { NOW, pod, rollout } from '../pods.ts'

test('who leads no more says nothing of rollouts: the next leader does', async () => {
  const { registry, observer, resigned } = rolloutsMetrics(() => 0)
  const pods = [pod('p0'), pod('p1')]
  const shown: Shown = {
    now: NOW,
    rollout: rollout(),
    claimedBy: undefined,
    pods,
    neighbours: pods,
    budgets: [],
    fetchOf: () => ({ is: 'there' }),
    lifeOf: () => undefined,
    isKnown: () => false,
    denialOf: () => undefined,
    behind: [],
    bornAs: undefined,
  }
  observer.watch?.({ age: () => 5000, watched: () => 7 })
  observer.looked(shown, next(shown))
  assert.match(await registry.metrics(), /^sidecar_first_rollout_phase\{.*phase="Progressing"\} 1$/m)
  assert.match(await registry.metrics(), /^sidecar_first_rollouts_watched_objects 7$/m)
  resigned()
  const after = await registry.metrics()
  assert.doesNotMatch(after, /^sidecar_first_rollout_(?:phase|pods)\{/m)
  assert.match(after, /^sidecar_first_rollouts_watched_objects 0$/m)
  assert.match(after, /^sidecar_first_rollouts_queue_age_seconds 0$/m)
})
