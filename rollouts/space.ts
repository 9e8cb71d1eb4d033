import type { LabelSelector } from '../src/admission/selector.ts'
import type { Budget } from './budget.ts'
import type { Mirrors, WireBudget } from './cluster.ts'
import { FETCH_LABEL, type FetchPod, seenFetch, type WireFetchPod } from './fetch.ts'
import type { Mirrored } from './mirror.ts'
import { type SeenPod, seenPod, type WirePod } from './pod.ts'

/** What is known of a namespace that has rollouts. */
export interface Space {
  /** Both lists are there. */
  ready(): boolean
  pods(): readonly SeenPod[]
  budgets(): readonly Budget[]
  fetches(now: number): readonly FetchPod[]
  /** An answer of the API server, sooner than the watch has it. */
  learn(pod: WirePod & WireFetchPod): void
  forget(name: string): void
  close(): void
}

type AnyPod = WirePod & WireFetchPod

/**
 * @param changed of a pod, as it was and as it is; without either: anything may have changed
 */
export function openSpace(
  namespace: string,
  { mirrors, now, changed }: { mirrors: Mirrors; now: () => number; changed: (was?: SeenPod, is?: SeenPod) => void },
): Space {
  const pods = new Map<string, SeenPod>()
  const fetches = new Map<string, WireFetchPod>()
  const budgets = new Map<string, Budget>()
  const missing = new Set(['pods', 'budgets'])
  const closing = new AbortController()

  function put(pod: AnyPod) {
    const { name, labels } = pod.metadata
    if (labels?.[FETCH_LABEL] !== undefined) {
      fetches.set(name, fetchPart(pod))
      return changed()
    }
    const was = pods.get(name)
    if (was && isKnown(pod, was)) return
    const is = seenPod(pod, was, now())
    pods.set(name, is)
    changed(was, is)
  }
  function gone(name: string) {
    const was = pods.get(name)
    pods.delete(name)
    if (was) changed(was)
    if (fetches.delete(name)) changed()
  }
  const intoPods: Mirrored<AnyPod> = {
    put,
    gone,
    listed(objects) {
      const names = new Set(objects.map(({ name }) => name))
      for (const name of [...pods.keys(), ...fetches.keys()]) if (!names.has(name)) gone(name)
      missing.delete('pods')
      changed()
    },
  }
  const intoBudgets: Mirrored<WireBudget> = {
    put({ metadata, spec, status }) {
      budgets.set(metadata.name, {
        name: metadata.name,
        selector: (spec.selector ?? {}) as LabelSelector,
        allowed: status?.disruptionsAllowed ?? 0,
        desiredHealthy: status?.desiredHealthy,
      })
      changed()
    },
    gone(name) {
      budgets.delete(name)
      changed()
    },
    listed(objects) {
      const names = new Set(objects.map(({ name }) => name))
      for (const name of budgets.keys()) if (!names.has(name)) budgets.delete(name)
      missing.delete('budgets')
      changed()
    },
  }
  void mirrors.pods(namespace, intoPods, closing.signal)
  void mirrors.budgets(namespace, intoBudgets, closing.signal)

  return {
    ready: () => missing.size === 0,
    pods: () => [...pods.values()],
    budgets: () => [...budgets.values()],
    fetches: (at) => [...fetches.values()].flatMap((pod) => seenFetch(pod, at) ?? []),
    // What is gone by now must not come back to life.
    learn(pod) {
      if (pod.metadata.labels?.[FETCH_LABEL] !== undefined || pods.has(pod.metadata.name)) put(pod)
    },
    forget: gone,
    close: () => closing.abort(),
  }
}

/** Versions of one object are numbers that grow (KEP-5504); what isn't a number is taken as it comes. */
function isKnown({ metadata }: WirePod, { uid, version }: SeenPod): boolean {
  return metadata.uid === uid && Number(metadata.resourceVersion) <= Number(version)
}

const fetchPart = ({ metadata, spec, status }: WireFetchPod): WireFetchPod => ({
  metadata,
  spec,
  ...(status && { status }),
})
