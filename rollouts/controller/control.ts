import type { Report } from '../../src/kubernetes/event.ts'
import { type FailureKind, failureKind } from '../../src/kubernetes/failure.ts'
import type { Followed } from '../../src/kubernetes/follow.ts'
import { pulledFor } from '../memory.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'
import { changePod, readPod } from './act.ts'
import { Claims } from './claims.ts'
import type { Cluster, Mirrors } from './cluster.ts'
import { next } from './decide-rollout.ts'
import type { Decision, Shown, Step } from './decision.ts'
import { Denials } from './denials.ts'
import { fetchName } from './fetch.ts'
import { Fetches } from './fetches.ts'
import { Lives } from './kubelet-lives.ts'
import { createQueue, type Queue } from './queue.ts'
import { differs, isSaid, statusOf, withWholeStatus } from './status.ts'
import { type Space, Store } from './store.ts'
import { Templates } from './templates.ts'
import { ToldPods } from './told-pods.ts'

/** What the controller tells whatever observes it: metrics, the log. */
export interface RolloutsObserver {
  looked(shown: Shown, decision: Decision): void
  /** @param ms how long it took */
  took(rollout: SidecarRollout, step: Step, ms: number): void
  turned(rollout: SidecarRollout, report: Report): void
  forgot(rollout: SidecarRollout): void
  failed(kind: FailureKind, error: unknown): void
  /** What may be asked at any time: how long a rollout has waited for a worker, in ms, and how many objects are kept. */
  watch?(state: { age: () => number; watched: () => number }): void
}

interface Controlling {
  readonly cluster: Cluster
  readonly mirrors: Mirrors
  /** Whether this process may write now. */
  readonly leads: () => boolean
  /** The API server's clock, in ms. */
  readonly now: () => number
  readonly steady: () => number
  /** The image of the pods that fetch. */
  readonly waiter: string
  readonly observer: RolloutsObserver
  readonly signal: AbortSignal
}

/** The shortest time between two writes of a status in which only the counts differ, in ms; and on average, for each rollout under way. */
const COUNTS = 1000
const COUNTS_EACH = 250
/** How often it is looked whether a kubelet lives, in ms. */
const LIVES = 3000
/** For so long after its last word a watch isn't taken for silent, in ms. */
const HEARD = 2000
/** So many of the pods that fail a rollout are read before it has failed. */
const CONFIRMED = 10
/** After this, in ms, it is looked whether this process leads again. */
const AGAIN = 500
/** After this, in ms, a pod that couldn't be removed is tried again. */
const REMOVAL = 60_000
/** How often a rollout is looked at while it fetches an image, in ms. */
const FETCHING = 2000

/** A rollout, and what is kept of it only to save calls, to wait less, and for messages: a new process finds that out again. */
interface Kept {
  rollout: SidecarRollout
  isGone: boolean
  /** When its status was written, and what part of the time for all it then rests: not all the same, so that the watch is never silent for long. */
  written: { readonly at: number; readonly share: number }
  /** What kept it from continuing. */
  trouble: string | undefined
  known: ReadonlySet<string>
  readonly told: ToldPods
  readonly denials: Denials
  readonly templates: Templates
}

/** How many rollouts are worked on at once. */
const WORKERS = 4
/** A slice of work is at most so many calls, and takes about so long, in ms; then it's another rollout's turn. */
const CALLS = 10
const SLICE = 2000

/** Upgrades sidecars. */
export class Controller {
  readonly #controlling: Controlling
  /** By namespace and name. */
  readonly #rollouts = new Map<string, Map<string, Kept>>()
  /** By namespace. */
  readonly #claims = new Map<string, Claims>()
  /** Those on their way. */
  readonly #moving = new Set<Kept>()
  /** When the watch of rollouts last said something, and how new that was. */
  #heard = { at: Number.NEGATIVE_INFINITY, version: 0 }
  readonly #fetches: Fetches
  readonly #lives = new Lives()
  readonly #queue: Queue<Kept>
  readonly #store: Store

  constructor(controlling: Controlling) {
    const { cluster, mirrors, steady, now, waiter, signal, observer } = controlling
    this.#controlling = controlling
    this.#fetches = new Fetches(cluster, steady, waiter)
    this.#queue = createQueue({
      steady,
      signal,
      workers: WORKERS,
      // One rollout of a namespace at a time: they share its budgets, and claims are decided among them.
      groupOf: ({ rollout }) => rollout.metadata.namespace,
      work: (kept) => this.#work(kept),
      failed: (kept, error) => {
        kept.trouble = error instanceof Error ? error.message : String(error)
        this.#failed(error)
      },
    })
    this.#store = new Store({
      mirrors,
      now,
      changed: (namespace, was, is) => this.#changed(namespace, was, is),
      isCalm: () => this.#moving.size === 0,
      failed: observer.failed,
    })
  }

  /** Until the signal ends. */
  async run(): Promise<void> {
    const { mirrors, signal, observer } = this.#controlling
    observer.watch?.({ age: () => this.#queue.age(), watched: () => this.#store.size() })
    await Promise.all([mirrors.rollouts(this.#intoRollouts(), signal), this.#queue.ended])
    this.#store.stop()
  }

  #intoRollouts(): Followed<SidecarRollout> {
    let listed = new Set<Kept>()
    return {
      begins() {
        listed = new Set()
      },
      put: (rollout) => {
        this.#hear(rollout)
        listed.add(this.#put(rollout))
      },
      gone: (last) => {
        this.#hear(last)
        this.#gone(last)
      },
      listed: () => {
        const all = [...this.#rollouts.values()].flatMap((its) => [...its.values()])
        for (const kept of all) if (!listed.has(kept)) this.#gone(kept.rollout)
        this.#store.begin()
      },
    }
  }

  #failed = (error: unknown) => this.#controlling.observer.failed(failureKind(error), error)

  #hear({ metadata }: SidecarRollout) {
    const version = Math.max(Number(metadata.resourceVersion), this.#heard.version)
    this.#heard = { at: this.#controlling.steady(), version }
  }

  /** Whether the watch has caught up with what is known of a rollout, and a moment ago: then it would have told of a pause. */
  #isHeard({ metadata }: SidecarRollout): boolean {
    const { at, version } = this.#heard
    return this.#controlling.steady() - at < HEARD && Number(metadata.resourceVersion) <= version
  }

  #put(found: SidecarRollout): Kept {
    const rollout = withWholeStatus(found)
    const { uid, resourceVersion, generation, namespace, name } = rollout.metadata
    const known = this.#find(rollout)
    const was = known?.rollout.metadata
    if (known && was?.uid === uid) {
      if (Number(resourceVersion) < Number(was.resourceVersion)) return known
      known.rollout = rollout
      this.#claims.get(namespace)?.put(rollout)
      // Rivals may be affected, too.
      if (was.generation !== generation) this.#wake(namespace)
      return known
    }
    if (known) this.#drop(known)
    const kept = {
      rollout,
      isGone: false,
      written: { at: Number.NEGATIVE_INFINITY, share: 1 },
      trouble: undefined,
      known: new Set<string>(),
      told: new ToldPods(),
      denials: new Denials(),
      templates: new Templates(),
    }
    const its = this.#rollouts.get(namespace) ?? new Map()
    this.#rollouts.set(namespace, its.set(name, kept))
    const claims = this.#claims.get(namespace) ?? new Claims()
    this.#claims.set(namespace, claims)
    claims.put(rollout)
    this.#store.open(namespace)
    this.#wake(namespace)
    return kept
  }

  /** From an answer: a rollout that the watch has told is gone must not come back. */
  #learn(rollout: SidecarRollout) {
    const known = this.#find(rollout)?.rollout.metadata
    const { uid, resourceVersion } = rollout.metadata
    if (known?.uid === uid || Number(known?.resourceVersion) < Number(resourceVersion)) this.#put(rollout)
  }

  #gone({ metadata: { namespace, name } }: SidecarRollout) {
    const its = this.#rollouts.get(namespace)
    const was = its?.get(name)
    if (!its || !was) return
    its.delete(name)
    this.#drop(was)
    this.#controlling.observer.forgot(was.rollout)
    if (its.size > 0) return this.#wake(namespace)
    this.#rollouts.delete(namespace)
    this.#claims.delete(namespace)
    this.#store.close(namespace)
  }

  #drop(kept: Kept) {
    kept.isGone = true
    this.#claims.get(kept.rollout.metadata.namespace)?.drop(kept.rollout)
    this.#moving.delete(kept)
    this.#queue.forget(kept)
  }

  #find = ({ metadata: { namespace, name } }: SidecarRollout) => this.#rollouts.get(namespace)?.get(name)

  #of = (namespace: string): readonly Kept[] => [...(this.#rollouts.get(namespace)?.values() ?? [])]

  #wake(namespace: string) {
    for (const kept of this.#of(namespace)) this.#queue.add(kept)
  }

  #changed(namespace: string, was?: SeenPod, is?: SeenPod) {
    // Neither: a budget, a pod that fetches, or a list has changed.
    if (was === undefined && is === undefined) return this.#wake(namespace)
    for (const rollout of this.#claims.get(namespace)?.pod(was, is) ?? []) {
      const kept = this.#find(rollout)
      if (kept) this.#queue.add(kept)
    }
  }

  /** @returns whether pods are to be taken back: that goes before everything else */
  async #work(kept: Kept): Promise<boolean> {
    const { cluster, leads, now, observer } = this.#controlling
    const { rollout } = kept
    const { namespace, deletionTimestamp } = rollout.metadata
    const space = this.#store.space(namespace)
    // Gone while it was worked on, which may have put it back into the queue.
    if (kept.isGone) this.#queue.forget(kept)
    if (!space || kept.isGone) return false
    if (!leads()) return this.#leftOff(kept)
    if (deletionTimestamp !== undefined) {
      // Kept by a finalizer; whoever deleted it wants no more of it, and a younger one may have its pods now.
      this.#moving.delete(kept)
      return false
    }
    for (const name of space.doubtful()) await readPod(cluster, { namespace, name }, space)
    const decide = () => {
      const shown = this.#look(kept, rollout, space)
      return { shown, decision: next(shown) }
    }
    // Before anything is decided: a pod that was born with the image isn't restarted for its name.
    await kept.templates.lookAtBirths(this.#look(kept, rollout, space), cluster)
    let { shown, decision } = decide()
    if (await this.#confirm(rollout, space, decision)) ({ shown, decision } = decide())
    // Known before its end is written, so that this is one write.
    const isDone = decision.phase === 'Complete' && !decision.unneeded
    if (isDone && (await this.#lookAtTemplates(kept, shown, decision))) ({ shown, decision } = decide())
    if (kept.isGone) return false
    this.#remember(kept, shown, decision)
    observer.looked(shown, decision)
    const said = await this.#say(kept, rollout, decision)
    if (kept.isGone) return false
    await this.#tell(kept, said, decision)
    if (!leads()) return this.#leftOff(kept)
    await this.#fetches.clear(said, space, decision.wanted, shown.now).catch((error) => {
      // It is of no more use, and holds nothing up; whatever keeps it may pass.
      this.#failed(error)
      this.#queue.add(kept, REMOVAL)
    })
    await this.#act(kept, said, { space, decision, written: said !== rollout })
    kept.trouble = undefined
    if (decision.again !== undefined) this.#queue.add(kept, decision.again - now())
    // How a fetch is judged also depends on its age.
    if (decision.wanted.length > 0) this.#queue.add(kept, FETCHING)
    if (decision.awaited.length > 0) {
      for (const node of decision.awaited) await this.#lookForLife(node)
      this.#queue.add(kept, LIVES)
    }
    await this.#expire(kept, said, decision)
    return decision.phase === 'RollingBack' || decision.reason === 'TakingBack'
  }

  /** A renewal may only have been late: then nothing else would have it looked at again. */
  #leftOff(kept: Kept): false {
    this.#queue.add(kept, AGAIN)
    return false
  }

  /** A slice of the steps. Before each, the spec must still be the one by which it was decided: it may have been paused. */
  async #act(
    kept: Kept,
    rollout: SidecarRollout,
    { space, decision, written }: { space: Space; decision: Decision; written: boolean },
  ) {
    const { cluster, leads, now, steady, observer } = this.#controlling
    const end = steady() + SLICE
    const isFresh = written || this.#isHeard(rollout)
    // A watch that has gone silent may have missed that it was paused.
    if (!isFresh && touches(decision)) await this.#refresh(rollout)
    for (const [index, step] of decision.steps.entries()) {
      if (index >= CALLS || steady() > end) return this.#queue.add(kept)
      if (kept.isGone || kept.rollout.metadata.generation !== rollout.metadata.generation) return this.#queue.add(kept)
      if (!leads()) return void this.#leftOff(kept)
      const began = steady()
      if (step.do !== 'fetch') {
        const denied = await changePod(cluster, step, space)
        if (denied) {
          // Another pod may have its turn, and the status has to name this one.
          kept.denials.saw(step, rollout, denied, now())
          this.#queue.add(kept)
          this.#failed(denied)
          continue
        }
      } else if (!(await this.#fetches.take(step, rollout, space))) continue
      observer.took(rollout, step, steady() - began)
    }
  }

  /** Reads the pods on which a failure rests, or the end of the first bake or the last: a watch may have gone silent. @returns whether it was needed */
  async #confirm({ metadata, spec, status }: SidecarRollout, space: Space, decision: Decision) {
    const { failure, failing, memory, unconfirmed } = decision
    const isNew = failure !== undefined && status?.failure?.generation !== metadata.generation
    const isFetch = isNew && failure.pod === undefined && failure.node !== undefined
    const failed = isFetch
      ? [fetchName({ metadata }, failure.node, pulledFor(spec.image, memory))]
      : failing.slice(0, isNew ? CONFIRMED : 0).flatMap(({ pod }) => pod ?? [])
    const names = [...failed, ...unconfirmed.slice(0, CONFIRMED)]
    for (const name of names) await readPod(this.#controlling.cluster, { namespace: metadata.namespace, name }, space)
    return names.length > 0
  }

  #look(kept: Kept, rollout: SidecarRollout, space: Space): Shown {
    const now = this.#controlling.now()
    const claims = this.#claims.get(rollout.metadata.namespace)
    return {
      now,
      rollout,
      claimedBy: claims?.claimedBy(rollout),
      pods: claims?.podsOf(rollout) ?? [],
      neighbours: space.pods(),
      budgets: space.budgets(),
      fetchOf: this.#fetches.of(rollout, space.fetches(now)),
      isKnown: (one) => kept.known.has(one),
      lifeOf: this.#lives.of,
      denialOf: (pod, image) => kept.denials.of(pod, image, rollout),
      bornAs: kept.templates.bornAs(rollout),
      behind: kept.templates.behind(rollout),
    }
  }

  #remember(kept: Kept, { pods }: Shown, { known, phase }: Decision) {
    if (phase === 'Progressing' || phase === 'RollingBack') this.#moving.add(kept)
    else this.#moving.delete(kept)
    const there = new Set(pods.map(({ uid }) => uid))
    const before = [...kept.known].filter((one) => there.has(one.slice(0, one.indexOf(' '))))
    kept.known = new Set([...before, ...known])
    kept.denials.keep(pods)
  }

  /**
   * Writes the status before anything is done by it: a successor after a crash must know of a failure before the first pod is put back.
   */
  async #say(kept: Kept, rollout: SidecarRollout, decision: Decision): Promise<SidecarRollout> {
    const { cluster, now, steady, observer } = this.#controlling
    const { status: former } = rollout
    const status = statusOf(rollout, decision, { now: now(), trouble: kept.trouble })
    if (!differs(former, status)) {
      if (isSaid(former, status)) return rollout
      const { at, share } = kept.written
      const rest = at + Math.max(COUNTS, COUNTS_EACH * this.#moving.size * share) - steady()
      // Before a touch it would have to be read otherwise.
      if (rest > 0 && !(touches(decision) && !this.#isHeard(rollout))) {
        this.#queue.add(kept, rest)
        return rollout
      }
    }
    kept.written = { at: steady(), share: 2 * Math.random() }
    const said = await cluster.writeStatus(rollout, status).catch(async (error) => {
      // Somebody else wrote first, or the rollout is gone: the watch may not have told us yet.
      const kind = failureKind(error)
      if (kind === 'invalid' || kind === 'conflict' || kind === 'missing') await this.#refresh(rollout)
      throw error
    })
    this.#learn(said)
    const report = reportOf(rollout, decision)
    if (report) {
      observer.turned(said, report)
      // That it has been taken up is one of a rollout's few calls, and its status says so.
      if (former === undefined && report.reason === 'Progressing') return said
      await cluster.report(said, report, now()).catch(this.#failed)
    }
    return said
  }

  /** Events of pods that fail without stopping the rollout: after it was complete, or within maxFailures. */
  async #tell(kept: Kept, rollout: SidecarRollout, { failing, failure }: Decision) {
    const { cluster, now, steady, observer } = this.#controlling
    const { reports, again } = kept.told.say(failing, { known: failure?.pod, steady: steady() })
    for (const report of reports) {
      observer.turned(rollout, report)
      await cluster.report(rollout, report, now()).catch(this.#failed)
    }
    if (again !== undefined) this.#queue.add(kept, again)
  }

  async #lookForLife(node: string) {
    const { cluster, now } = this.#controlling
    const renewed = await cluster.readNodeLease(node).catch((error) => {
      this.#failed(error)
      if (failureKind(error) === 'forbidden') return undefined
      throw error
    })
    this.#lives.saw(node, renewed, now())
  }

  /** Only informs, so trouble with it holds nothing up. @returns whether something new is known */
  async #lookAtTemplates({ templates }: Kept, shown: Shown, { memory }: Decision): Promise<boolean> {
    const { cluster, steady } = this.#controlling
    return await templates.look(shown, memory, { cluster, steady: steady() }).catch((error) => {
      this.#failed(error)
      return false
    })
  }

  /** Deletes the rollout once it has been unneeded for as long as it says. */
  async #expire(kept: Kept, rollout: SidecarRollout, { unneeded }: Decision) {
    const { cluster, now, leads } = this.#controlling
    const seconds = rollout.spec.ttlSecondsAfterUnneeded
    const condition = rollout.status?.conditions.find(({ type }) => type === 'Unneeded')
    if (seconds === undefined || !unneeded || condition?.status !== 'True') return
    const rest = Date.parse(condition.lastTransitionTime) + seconds * 1000 - now()
    if (rest > 0) this.#queue.add(kept, rest)
    else if (leads()) await cluster.removeRollout(rollout)
    else this.#leftOff(kept)
  }

  async #refresh(rollout: SidecarRollout) {
    const { namespace, name } = rollout.metadata
    const found = await this.#controlling.cluster.readRollout(namespace, name)
    if (found) this.#learn(found)
    else this.#gone(rollout)
  }
}

const touches = ({ steps }: Decision) => steps.some((step) => step.do !== 'fetch')

/** An event when the phase changes. */
function reportOf({ status }: SidecarRollout, { phase, message, failure }: Decision): Report | undefined {
  if (status?.phase === phase) return undefined
  const bad = phase === 'Stopped' || phase === 'RollingBack' || phase === 'Waiting'
  const why = failure ? ` (${failure.reason}${failure.pod ? `, pod ${failure.pod}` : ''}: ${failure.message})` : ''
  return { type: bad ? 'Warning' : 'Normal', reason: phase, message: `${message}${why}` }
}
