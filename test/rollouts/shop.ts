import assert from 'node:assert/strict'
import type { WireBudget } from '../../rollouts/controller/cluster.ts'
import { Store } from '../../rollouts/controller/store.ts'
import type { WirePod } from '../../rollouts/seen-pod.ts'
import type { Followed, WireObject } from '../../src/kubernetes/follow.ts'

/** A store of the namespace shop that has begun, and what its watch of pods goes into. */
export function shopStore(now: () => number, changed = () => {}) {
  let into: Followed<WirePod> | undefined
  let intoBudgets: Followed<WireBudget> | undefined
  const never = new Promise<void>(() => {})
  const store = new Store({
    mirrors: {
      rollouts: () => never,
      pods(its) {
        into = its
        return never
      },
      budgets(its) {
        list(its, [], 1)
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

/** What a list of these tells. */
export function list<T extends WireObject>(into: Followed<T>, objects: readonly T[], version: number) {
  into.begins()
  for (const one of objects) into.put(one)
  into.listed(version)
}
