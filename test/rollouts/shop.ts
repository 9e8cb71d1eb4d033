import assert from 'node:assert/strict'
import type { WireBudget } from '../../rollouts/controller/cluster.ts'
import type { Mirrored } from '../../rollouts/controller/mirror.ts'
import { createStore } from '../../rollouts/controller/store.ts'
import type { WirePod } from '../../rollouts/seen-pod.ts'

/** A store of the namespace shop that has begun, and what its watch of pods goes into. */
export function shopStore(now: () => number, changed = () => {}) {
  let into: Mirrored<WirePod> | undefined
  let intoBudgets: Mirrored<WireBudget> | undefined
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
        intoBudgets = its
        return never
      },
      listPods: () => never,
      listBudgets: () => never,
    },
    now,
    changed,
    isCalm: () => false,
    failed(_, error) {
      throw error
    },
  })
  store.open('shop')
  store.begin()
  assert.ok(into && intoBudgets)
  return { store, into, intoBudgets }
}
