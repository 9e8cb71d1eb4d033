import assert from 'node:assert/strict'
import { test } from 'node:test'
import { phaseOf } from '../../certs/decide-step.ts'
import { certsMetrics } from '../../certs/metrics.ts'

test('who leads no more says nothing of the certificates: the next leader does', async () => {
  const { registry, observer } = certsMetrics(() => 0)
  const current = { id: 'a', issued: 0, expires: 86_400_000, signs: true }
  const secret = { current, next: undefined, retired: [], leaf: undefined, asked: undefined }
  const shown = { now: 0, secret, configurations: [], strangers: [], served: undefined, nextTrustedFor: 0 }
  observer.turned(true)
  observer.looked(shown, phaseOf(shown), [{ kind: 'leaf-missing' }])
  const said = /^sidecar_first_certs_(?:phase\{.*\}|days_left\{.*\}|problems) [^0]/m
  assert.match(await registry.metrics(), said)
  observer.turned(false)
  assert.doesNotMatch(await registry.metrics(), said)
})
