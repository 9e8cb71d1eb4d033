import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Start } from '../../src/preview/forecast.ts'
import type { Timeline } from '../../src/timeline/timeline.ts'
import { foresee } from '../../src/try/foresee.ts'

const at = (ms: number) => ({ at: ms, exact: true })

/** A pod whose app was pulled for `pull` ms while its sidecar took `readiness` ms. */
function foreseen(pull: number, readiness: number, meanwhile: readonly string[] | undefined) {
  const timeline = {
    from: at(0),
    until: 60_000,
    app: 'app',
    starts: [
      { name: 'app', begun: at(0), started: at(pull) },
      { name: 'envoy', begun: at(0), started: at(100), ready: at(100 + readiness) },
    ],
  } as unknown as Timeline
  const order = [
    { name: 'envoy', role: 'sidecar', start: 0, ready: 4, after: [], notReady: [] },
    { name: 'app', role: 'app', start: 5, ready: 7, after: ['envoy'], notReady: [], ...(meanwhile && { meanwhile }) },
  ] as unknown as readonly Start[]
  return foresee(timeline, order, false).cost?.would
}

test('behind a lease a start takes the slower of pull and readiness, else both together', () => {
  for (const [pull, readiness] of [
    [8000, 5000],
    [8000, 12_000],
    [300, 2000],
  ] as const) {
    assert.equal(foreseen(pull, readiness, ['envoy']), Math.max(100 + pull, 100 + readiness))
    assert.equal(foreseen(pull, readiness, undefined), 100 + readiness + pull)
  }
})
