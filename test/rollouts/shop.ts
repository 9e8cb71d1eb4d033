import assert from 'node:assert/strict'
import type { Mirrored } from '../../rollouts/controller/mirror.ts'
import { createStore, type Store } from '../../rollouts/controller/store.ts'
import type { WirePod } from '../../rollouts/pod.ts'

/** A store of the namespace shop that has begun, and what its watch of pods goes into. */
export function shopStore(now: () => number): { store: Store; into: Mirrored<WirePod> } {
  let into: Mirrored<WirePod> | undefined
  const never = new Promise<void>(() => {})
  const store = createStore({
    mirrors: {
      rollouts: () => never,
      pods(its) {
        into = its
        return never
      },
      budgets(its) {
        its.listed([], 1)
        return never
      },
      listPods: () => never,
      listBudgets: () => never,
    },
    now,
    changed() {},
    failed(_, error) {
      throw error
    },
  })
  store.open('shop')
  store.begin()
  assert.ok(into)
  return { store, into }
}
