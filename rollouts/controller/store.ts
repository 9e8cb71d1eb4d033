import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { LabelSelector } from '../../src/admission/pod/selector.ts'
import { type FailureKind, failureKind } from '../../src/kubernetes/failure.ts'
import { type SeenPod, seenPod, type WirePod } from '../seen-pod.ts'
import type { Budget } from './budget.ts'
import type { Mirrors, WireBudget } from './cluster.ts'
import { FETCH_LABEL, type FetchPod, seenFetch } from './fetch.ts'
import type { Mirrored } from './mirror.ts'

/** What is known of a namespace that has rollouts. */
export interface Space {
  pods(): readonly SeenPod[]
  budgets(): readonly Budget[]
  fetches(now: number): readonly FetchPod[]
  /** An answer of the API server, which comes sooner than the watch's. @returns the pod as it is known now */
  learn(pod: WirePod): SeenPod | undefined
  forget(name: string): void
  /** Nobody knows what has become of a patch of this pod, since its answer was lost: it must be read before anything else is decided. */
  doubt(name: string): void
  doubtful(): readonly string[]
}

/** Pods and budgets of the namespaces that have rollouts, by one watch each for the whole cluster. */
export interface Store {
  /** The namespaces are known that had rollouts when this began: lists and watches may begin. */
  begin(): void
  open(namespace: string): void
  close(namespace: string): void
  /** undefined until everything of the namespace is known. */
  space(namespace: string): Space | undefined
  /** How many objects are kept. */
  size(): number
  stop(): void
}

interface Kept {
  readonly pods: Map<string, SeenPod>
  readonly fetches: Map<string, WirePod>
  readonly budgets: Map<string, Budget>
  /** What the lists still owe. */
  readonly missing: Set<'pods' | 'budgets'>
  readonly doubtful: Set<string>
  /** Names that have gone while the namespace was listed by itself. */
  readonly gone: Set<string>
  readonly space: Space
}

const PAUSE = 1000

/** @param changed a pod, as it was and as it is; without either, anything of the namespace may have changed */
export function createStore({
  mirrors,
  now,
  changed,
  isCalm,
  failed,
}: {
  mirrors: Mirrors
  now: () => number
  changed: (namespace: string, was?: SeenPod, is?: SeenPod) => void
  /** Whether no rollout is under way. */
  isCalm: () => boolean
  failed: (kind: FailureKind, error: unknown) => void
}): Store {
  const kept = new Map<string, Kept>()
  let watching: AbortController | undefined
  let begun = false
  const stopped = new AbortController()

  function putPod(pod: WirePod): SeenPod | undefined {
    const { name, namespace, labels } = pod.metadata
    const its = kept.get(namespace)
    if (!its) return undefined
    if (labels?.[FETCH_LABEL] !== undefined) {
      its.fetches.set(name, pod)
      changed(namespace)
      return undefined
    }
    const was = its.pods.get(name)
    if (was && isKnown(pod, was)) return was
    const is = seenPod(pod, was, now())
    its.pods.set(name, is)
    changed(namespace, was, is)
    return is
  }
  /** @param version of what says so: a pod of the same name that is newer stays */
  function gonePod(name: string, namespace: string, version = Number.POSITIVE_INFINITY) {
    const its = kept.get(namespace)
    const was = its?.pods.get(name)
    if (!its || Number(was?.version) > version) return
    its.gone.add(name)
    its.doubtful.delete(name)
    its.pods.delete(name)
    if (was) changed(namespace, was)
    if (its.fetches.delete(name)) changed(namespace)
  }
  function goneBudget(name: string, namespace: string) {
    if (kept.get(namespace)?.budgets.delete(name)) changed(namespace)
  }
  function listed(
    kind: 'pods' | 'budgets',
    { objects, version }: { objects: readonly { name: string; namespace: string }[]; version: number },
    covers: Set<Kept>,
  ) {
    const names = Map.groupBy(objects, ({ namespace }) => namespace)
    for (const [namespace, its] of kept) {
      if (!covers.has(its)) continue
      const there = new Set(names.get(namespace)?.map(({ name }) => name))
      if (kind === 'pods') {
        for (const name of [...its.pods.keys(), ...its.fetches.keys()])
          if (!there.has(name)) gonePod(name, namespace, version)
      } else for (const name of its.budgets.keys()) if (!there.has(name)) goneBudget(name, namespace)
      // One that says what is known already is no reason to look at every rollout.
      if (its.missing.delete(kind)) changed(namespace)
    }
  }

  /** @param covered the namespaces that were open when the list began: only of those it has everything */
  const intoPods = (covered: () => Set<Kept>): Mirrored<WirePod> => ({
    put: putPod,
    gone: gonePod,
    listed: (objects, version) => listed('pods', { objects, version }, covered()),
    isCalm,
  })
  function putBudget({ metadata, spec, status }: WireBudget) {
    const { name, namespace = '' } = metadata
    const its = kept.get(namespace)
    const is: Budget = {
      name,
      selector: (spec?.selector ?? {}) as LabelSelector,
      allowed: status?.disruptionsAllowed ?? 0,
      desiredHealthy: status?.desiredHealthy,
    }
    if (!its || isDeepStrictEqual(its.budgets.get(name), is)) return
    its.budgets.set(name, is)
    changed(namespace)
  }
  const intoBudgets = (covered: () => Set<Kept>): Mirrored<WireBudget> => ({
    put: putBudget,
    gone: goneBudget,
    listed: (objects, version) => listed('budgets', { objects, version }, covered()),
    isCalm,
  })

  function watch() {
    if (watching || !begun || kept.size === 0) return
    watching = new AbortController()
    const signal = AbortSignal.any([watching.signal, stopped.signal])
    const covering = (follow: (covered: () => Set<Kept>) => void) => {
      let covers = new Set(kept.values())
      follow(() => {
        const those = covers
        covers = new Set(kept.values())
        return those
      })
    }
    covering((covered) => void mirrors.pods(intoPods(covered), signal))
    covering((covered) => void mirrors.budgets(intoBudgets(covered), signal))
  }

  /** Lists a namespace whose first rollout came while the watches were already open. */
  async function fill(namespace: string, its: Kept) {
    while (kept.get(namespace) === its && !stopped.signal.aborted) {
      try {
        its.gone.clear()
        await mirrors.listPods(namespace, (pod) => {
          if (kept.get(namespace) === its && !its.gone.has(pod.metadata.name)) putPod(pod)
        })
        await mirrors.listBudgets(namespace, (budget) => {
          if (kept.get(namespace) === its) putBudget(budget)
        })
        its.missing.clear()
        return changed(namespace)
      } catch (error) {
        failed(failureKind(error), error)
        await sleep(PAUSE, undefined, { signal: stopped.signal }).catch(() => {})
      }
    }
  }

  return {
    begin() {
      begun = true
      watch()
    },
    open(namespace) {
      if (kept.has(namespace)) return
      const its: Kept = {
        pods: new Map(),
        fetches: new Map(),
        budgets: new Map(),
        missing: new Set(['pods', 'budgets']),
        doubtful: new Set(),
        gone: new Set(),
        space: {
          pods: () => [...its.pods.values()],
          budgets: () => [...its.budgets.values()],
          fetches: (at) => [...its.fetches.values()].flatMap((pod) => seenFetch(pod, at) ?? []),
          // A pod that has gone by now must not come back.
          learn(pod) {
            const { name, labels } = pod.metadata
            its.doubtful.delete(name)
            return labels?.[FETCH_LABEL] !== undefined || its.pods.has(name) ? putPod(pod) : undefined
          },
          doubt: (name) => void its.doubtful.add(name),
          doubtful: () => [...its.doubtful],
          forget: (name) => gonePod(name, namespace),
        },
      }
      kept.set(namespace, its)
      if (watching) void fill(namespace, its)
      else watch()
    },
    close(namespace) {
      kept.delete(namespace)
      if (kept.size > 0) return
      watching?.abort()
      watching = undefined
    },
    space(namespace) {
      const its = kept.get(namespace)
      return its && its.missing.size === 0 ? its.space : undefined
    },
    size: () => [...kept.values()].reduce((sum, { pods, budgets }) => sum + pods.size + budgets.size, 0),
    stop: () => stopped.abort(),
  }
}

/** The versions of an object are numbers that grow (KEP-5504); anything else is taken as it comes. */
function isKnown({ metadata }: WirePod, { uid, version }: SeenPod): boolean {
  return metadata.uid === uid && Number(metadata.resourceVersion) <= Number(version)
}
