import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { LabelSelector } from '../../src/admission/pod/selector.ts'
import { type FailureKind, failureKind } from '../../src/kubernetes/failure.ts'
import type { Followed, WireObject } from '../../src/kubernetes/follow.ts'
import { type SeenPod, seenPod, type WirePod } from '../seen-pod.ts'
import type { Budget } from './budget.ts'
import type { Mirrors, WireBudget } from './cluster.ts'
import { FETCH_LABEL, type FetchPod, seenFetch } from './fetch.ts'

/** Of what there is one watch each. */
type Kind = 'pods' | 'budgets'

/** What is known of a namespace that has rollouts. */
export class Space {
  readonly #now: () => number
  readonly #changed: (was?: SeenPod, is?: SeenPod) => void
  readonly #pods = new Map<string, SeenPod>()
  readonly #fetches = new Map<string, WirePod>()
  readonly #budgets = new Map<string, Budget>()
  readonly #doubtful = new Set<string>()
  /** What the lists still owe. */
  readonly #missing = new Set<Kind>(['pods', 'budgets'])
  /** What lists that aren't complete yet have named; one that began before this namespace was opened doesn't have everything of it. */
  readonly #listed = new Map<Kind, Set<string>>()
  /** Names that have gone while the namespace is listed by itself. */
  #gone: Set<string> | undefined

  /** @param changed a pod, as it was and as it is; without either, anything may have changed */
  constructor(now: () => number, changed: (was?: SeenPod, is?: SeenPod) => void) {
    this.#now = now
    this.#changed = changed
  }

  pods = (): readonly SeenPod[] => [...this.#pods.values()]
  budgets = (): readonly Budget[] => [...this.#budgets.values()]
  fetches = (at: number): readonly FetchPod[] => [...this.#fetches.values()].flatMap((pod) => seenFetch(pod, at) ?? [])
  size = (): number => this.#pods.size + this.#budgets.size
  isWhole = (): boolean => this.#missing.size === 0

  /** An answer of the API server, which comes sooner than the watch's. @returns the pod as it is known now */
  learn(pod: WirePod): SeenPod | undefined {
    const { name, labels } = pod.metadata
    this.#doubtful.delete(name)
    // A pod that has gone by now must not come back.
    return labels?.[FETCH_LABEL] !== undefined || this.#pods.has(name) ? this.putPod(pod) : undefined
  }
  forget = (name: string) => this.gone('pods', name)
  /** Nobody knows what has become of a patch of this pod, since its answer was lost: it must be read before anything else is decided. */
  doubt = (name: string) => void this.#doubtful.add(name)
  doubtful = (): readonly string[] => [...this.#doubtful]

  putPod(pod: WirePod): SeenPod | undefined {
    const { name, labels } = pod.metadata
    if (labels?.[FETCH_LABEL] !== undefined) {
      this.#fetches.set(name, pod)
      this.#changed()
      return undefined
    }
    const was = this.#pods.get(name)
    if (was && isKnown(pod, was)) return was
    const is = seenPod(pod, was, this.#now())
    this.#pods.set(name, is)
    this.#changed(was, is)
    return is
  }

  putBudget({ metadata: { name }, spec, status }: WireBudget) {
    const is: Budget = {
      name,
      selector: (spec?.selector ?? {}) as LabelSelector,
      allowed: status?.disruptionsAllowed ?? 0,
      desiredHealthy: status?.desiredHealthy,
    }
    if (isDeepStrictEqual(this.#budgets.get(name), is)) return
    this.#budgets.set(name, is)
    this.#changed()
  }

  /** @param version of what says so: a pod of the same name that is newer stays */
  gone(kind: Kind, name: string, version = Number.POSITIVE_INFINITY) {
    if (kind === 'budgets') {
      if (this.#budgets.delete(name)) this.#changed()
      return
    }
    const was = this.#pods.get(name)
    if (Number(was?.version) > version) return
    this.#gone?.add(name)
    this.#doubtful.delete(name)
    this.#pods.delete(name)
    if (was) this.#changed(was)
    if (this.#fetches.delete(name)) this.#changed()
  }

  /** A list of the whole cluster begins. */
  begins = (kind: Kind) => void this.#listed.set(kind, new Set())
  lists = (kind: Kind, name: string) => void this.#listed.get(kind)?.add(name)
  /** It's complete: what it hasn't named wasn't there at this version. */
  listed(kind: Kind, version: number) {
    const there = this.#listed.get(kind)
    if (!there) return
    this.#listed.delete(kind)
    const known = kind === 'pods' ? [...this.#pods.keys(), ...this.#fetches.keys()] : [...this.#budgets.keys()]
    for (const name of known) if (!there.has(name)) this.gone(kind, name, version)
    // One that says what is known already is no reason to look at every rollout.
    if (this.#missing.delete(kind)) this.#changed()
  }

  /** By lists of this namespace alone. @throws ClusterError */
  async fill(namespace: string, { listPods, listBudgets }: Pick<Mirrors, 'listPods' | 'listBudgets'>) {
    const gone = new Set<string>()
    this.#gone = gone
    await listPods(namespace, (pod) => {
      if (!gone.has(pod.metadata.name)) this.putPod(pod)
    })
    await listBudgets(namespace, (budget) => this.putBudget(budget))
    this.#missing.clear()
    this.#gone = undefined
    this.#changed()
  }
}

const PAUSE = 1000

/** Pods and budgets of the namespaces that have rollouts, by one watch each for the whole cluster. */
export class Store {
  readonly #settings: Settings
  readonly #spaces = new Map<string, Space>()
  readonly #stopped = new AbortController()
  #watching: AbortController | undefined
  #begun = false

  constructor(settings: Settings) {
    this.#settings = settings
  }

  /** The namespaces are known that had rollouts when this began: lists and watches may begin. */
  begin() {
    this.#begun = true
    this.#watch()
  }

  open(namespace: string) {
    if (this.#spaces.has(namespace)) return
    const { now, changed } = this.#settings
    const space: Space = new Space(now, (was, is) => {
      // A list that began before the namespace was closed and opened again tells of what is no longer so.
      if (this.#spaces.get(namespace) === space) changed(namespace, was, is)
    })
    this.#spaces.set(namespace, space)
    if (this.#watching) void this.#fill(namespace, space)
    else this.#watch()
  }

  close(namespace: string) {
    this.#spaces.delete(namespace)
    if (this.#spaces.size > 0) return
    this.#watching?.abort()
    this.#watching = undefined
  }

  /** undefined until everything of the namespace is known. */
  space(namespace: string): Space | undefined {
    const space = this.#spaces.get(namespace)
    return space?.isWhole() ? space : undefined
  }

  /** How many objects are kept. */
  size = (): number => [...this.#spaces.values()].reduce((sum, space) => sum + space.size(), 0)
  stop = () => this.#stopped.abort()

  #watch() {
    if (this.#watching || !this.#begun || this.#spaces.size === 0) return
    this.#watching = new AbortController()
    const signal = AbortSignal.any([this.#watching.signal, this.#stopped.signal])
    const { mirrors } = this.#settings
    void mirrors.pods(
      this.#into('pods', (space, pod) => space.putPod(pod)),
      signal,
    )
    void mirrors.budgets(
      this.#into('budgets', (space, budget) => space.putBudget(budget)),
      signal,
    )
  }

  #into<T extends WireObject>(kind: Kind, put: (space: Space, object: T) => void): Followed<T> {
    const spaceOf = ({ metadata: { namespace = '' } }: T) => this.#spaces.get(namespace)
    return {
      begins: () => {
        for (const space of this.#spaces.values()) space.begins(kind)
      },
      put(object) {
        const space = spaceOf(object)
        if (!space) return
        space.lists(kind, object.metadata.name)
        put(space, object)
      },
      gone: (last) => spaceOf(last)?.gone(kind, last.metadata.name, Number(last.metadata.resourceVersion)),
      listed: (version) => {
        for (const space of this.#spaces.values()) space.listed(kind, version)
      },
      isCalm: this.#settings.isCalm,
    }
  }

  /** Of a namespace whose first rollout came while the watches were already open. */
  async #fill(namespace: string, space: Space) {
    const { mirrors, failed } = this.#settings
    while (this.#spaces.get(namespace) === space && !this.#stopped.signal.aborted) {
      try {
        return await space.fill(namespace, mirrors)
      } catch (error) {
        failed(failureKind(error), error)
        await sleep(PAUSE, undefined, { signal: this.#stopped.signal }).catch(() => {})
      }
    }
  }
}

interface Settings {
  readonly mirrors: Mirrors
  readonly now: () => number
  /** A pod, as it was and as it is; without either, anything of the namespace may have changed. */
  readonly changed: (namespace: string, was?: SeenPod, is?: SeenPod) => void
  /** Whether no rollout is under way. */
  readonly isCalm: () => boolean
  readonly failed: (kind: FailureKind, error: unknown) => void
}

/** The versions of an object are numbers that grow (KEP-5504); anything else is taken as it comes. */
function isKnown({ metadata }: WirePod, { uid, version }: SeenPod): boolean {
  return metadata.uid === uid && Number(metadata.resourceVersion) <= Number(version)
}
