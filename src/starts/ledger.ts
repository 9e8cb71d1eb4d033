import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { mostContainers } from '../admission/pod/read.ts'
import { isNotReady, mostName, type SeenEvent } from '../seen/event.ts'
import type { LiveContainer, LivePod } from '../seen/pod.ts'
import { beginOf, firstFailure, firstRun } from '../seen/runs.ts'
import { keptEvent, keptPod, newer, sameAs } from './kept.ts'
import { createGraves, createKubelets, createLimbo } from './memory.ts'
import { type CountedStart, countedStart, type StartSubject, startSubjectOf } from './start.ts'

/** Why a start wasn't counted. */
export const omissions = ['too-large', 'too-many'] as const
type Omission = (typeof omissions)[number]

export interface Counted {
  /** Such a start will be counted later, unless the pod never starts. */
  expected(subject: StartSubject, namespace: string): void
  start(start: CountedStart, namespace: string): void
  omitted(why: Omission): void
}

/** What a process leaves to the one that follows it. */
export interface Handover {
  /** What was due by then is counted, in ms by the API server's clock. */
  readonly until: number
  /** But for these pods, by uid. */
  readonly except: ReadonlySet<string>
}

export type Ledger = ReturnType<typeof createLedger>

type EventsState = 'coming' | 'interrupted' | 'forbidden'

/** What a probe or an event still has to say about a start comes within this time, in ms. */
const settles = 120_000
/** So much longer a start is kept while no events come, in ms. */
const patience = 600_000
/** What is seen late, by a wrong clock or not for long, has at least so long for its events, in ms. */
const least = 10_000
/** Pods that a handover names at the most. */
const mostExcept = 10_000

/** The largest that is kept of a pod: as many containers as are looked at, most of which haven't started. */
const mostOfOne = 98_304
/** Of all pods whose start waits to be judged, in bytes: 10,000 of 2,000, and a fifth more. */
const mostOfAll = 24_000_000
/** With more than this, pods that are gone don't wait for their events: what starts now needs the room. */
const mostWithGone = mostOfAll / 2
/** An ordinary start has 15; twelve containers that all fail have these. */
const mostEventsOfOne = 120
/** 10,000 pods of 15, some 100 bytes each. */
const mostEvents = 150_000

interface Pending {
  readonly subject: Pick<StartSubject, 'sidecars' | 'apps' | 'gate'>
  readonly namespace: string
  node: string | undefined
  /** When its start is judged; undefined until its app has started. */
  due: number | undefined
  /** Before that it isn't: its events are on their way. */
  earliest: number
  /** The pod, reduced; as of its last change since its app started. */
  text: string | undefined
  readonly failed: Set<string>
  events: SeenEvent[]
  /** It's being deleted: what it shows from now on is its end. */
  ending: boolean
  gone: boolean
}

interface Counting {
  /** By the API server's clock, in ms. */
  readonly now: () => number
  /** What was counted before. */
  readonly since: Handover
  readonly counted: Counted
}

/**
 * Counts the start of each pod once, by its uid. An app's start is judged two minutes later, when its probes and its events have had their
 * say, or when its pod is gone and its events have had the time to come.
 */
export function createLedger({ now, since, counted }: Counting) {
  /** Undefined for a pod that is done with, or is nobody's business. */
  const pods = new Map<string, Pending | undefined>()
  const graves = createGraves(now)
  const limbo = createLimbo(now, mostEventsOfOne)
  const kubelets = createKubelets()
  const states = { Pod: 'interrupted', Node: 'interrupted' } as Record<'Pod' | 'Node', EventsState>
  let isListed = false
  let [pending, bytes, kept] = [0, 0, 0]

  function forget(uid: string): void {
    const one = pods.get(uid)
    if (one?.gone) pods.delete(uid)
    else pods.set(uid, undefined)
    if (!one) return
    pending--
    bytes -= sizeOf(one.text)
    kept -= one.events.length
  }

  function omit(uid: string, why: Omission): void {
    forget(uid)
    counted.omitted(why)
  }

  function settle(uid: string, one: Pending): void {
    forget(uid)
    const pod = one.text === undefined ? undefined : (JSON.parse(one.text) as LivePod)
    if (!pod) {
      const { gate } = one.subject
      const start = { gate, outcome: 'not-started', seconds: undefined, waits: [], early: [], crashed: false } as const
      // A pod that was never given to a node has nothing to do with its sidecars.
      if (one.node !== undefined) counted.start(start, one.namespace)
      return
    }
    const own = one.events.filter(({ host }) => host === undefined || host === one.node)
    const node = kubelets.of(one.node ?? '')
    const { failed, subject, namespace } = one
    const seen = {
      pod,
      events: states.Pod === 'forbidden' ? undefined : own,
      node: states.Node === 'coming' ? node : undefined,
      failed,
      now: now(),
    }
    counted.start(countedStart(seen, subject.sidecars), namespace)
  }

  function put(uid: string, pod: V1Pod): void {
    const known = pods.get(uid)
    if ((pods.has(uid) && !known) || graves.has(uid)) return
    const { namespace = '' } = pod.metadata ?? {}
    const { containers = [], initContainers = [] } = pod.spec ?? {}
    // Thousands, each compared with each, would hold up everybody else for half a minute.
    if (!known && containers.length + initContainers.length > mostContainers) {
      omit(uid, 'too-large')
      return
    }
    const early = limbo.take(namespace, uid)
    const found = known ? undefined : startSubjectOf(pod)
    const subject = known?.subject ?? found
    if (!subject) {
      pods.set(uid, undefined)
      return
    }
    const live = keptPod(pod)
    const apps = live.containers.filter(({ name }) => subject.apps.includes(name))
    const started = apps.some((app) => beginOf(firstRun(app)) !== undefined || app.restarts > 0)
    const mark = started ? startedAt(live, apps) + settles : undefined
    // Found as one that has started already: whoever was there then has counted it.
    if (!known && mark !== undefined && mark <= since.until && !since.except.has(uid)) {
      pods.set(uid, undefined)
      return
    }
    const { sidecars, gate } = subject
    const one = known ?? {
      subject: { sidecars, apps: subject.apps, gate },
      namespace,
      node: undefined,
      due: undefined,
      earliest: 0,
      text: undefined,
      failed: new Set(),
      events: [],
      ending: false,
      gone: false,
    }
    if (found) {
      pods.set(uid, one)
      pending++
      counted.expected(found, namespace)
      for (const event of early) add(one, event)
    }
    // An older list may not have it yet.
    one.node ??= live.node
    one.ending ||= pod.metadata?.deletionTimestamp !== undefined
    if (!one.ending) for (const app of apps) if (firstFailure(app)) one.failed.add(app.name)
    if (mark === undefined || (one.ending && one.text !== undefined)) return
    if (one.due === undefined) {
      one.earliest = now() + least
      one.due = Math.max(Math.min(mark, now() + settles), one.earliest)
    }
    const text = JSON.stringify(live)
    if (sizeOf(text) > mostOfOne) omit(uid, 'too-large')
    else if (bytes - sizeOf(one.text) + sizeOf(text) > mostOfAll) omit(uid, 'too-many')
    else {
      bytes += sizeOf(text) - sizeOf(one.text)
      one.text = text
    }
  }

  /** Without those that don't fit, times are known to the second. */
  function add(one: Pending, event: SeenEvent): void {
    if (one.ending && isNotReady(event.says)) return
    const same = one.events.findIndex((each) => sameAs(each, event))
    if (same >= 0) one.events[same] = newer(one.events[same] ?? event, event)
    else if (one.events.length < mostEventsOfOne && kept < mostEvents) {
      one.events.push(event)
      kept++
    }
  }

  function remove(uid: string, last: V1Pod | undefined): void {
    const known = pods.get(uid)
    if (last && (known || !pods.has(uid))) put(uid, last)
    graves.add(uid)
    const one = pods.get(uid)
    if (one?.text === undefined) {
      if (one) settle(uid, one)
      pods.delete(uid)
      return
    }
    one.gone = one.ending = true
    one.due = one.earliest
    if (isDue(one) || bytes > mostWithGone) settle(uid, one)
  }

  /** While no events come, starts are judged later. */
  function isDue({ due }: Pending): boolean {
    const waits = states.Pod === 'interrupted' || states.Node === 'interrupted'
    return due !== undefined && due + (waits ? patience : 0) <= now()
  }

  return {
    /** It's there, or has changed; may be what is known already, or older than that. */
    pod(pod: V1Pod): void {
      const uid = pod.metadata?.uid
      if (uid) put(uid, pod)
    },
    /** @param last how it was when it was deleted, if anybody saw that */
    gone(uid: string, last?: V1Pod): void {
      if (!graves.has(uid)) remove(uid, last)
    },
    /** All pods are known: what isn't named is gone. */
    listed(uids: ReadonlySet<string>): void {
      for (const uid of [...pods.keys()]) if (!uids.has(uid) && !pods.get(uid)?.gone) remove(uid, undefined)
      isListed = true
    },
    /** Of a pod or of a node. */
    event(event: CoreV1Event): void {
      const found = keptEvent(event)
      if (!found) return
      const { kind, uid = '', name = '' } = event.involvedObject
      if (Math.max(uid.length, name.length) > mostName) return
      if (kind === 'Node') {
        if (found.says === 'starting') kubelets.started(name, found)
        return
      }
      const one = pods.get(uid)
      const { namespace = '' } = event.metadata
      // Who may write events in one namespace has no say in others.
      if (one?.namespace === namespace) add(one, found)
      if (!pods.has(uid) && !graves.has(uid)) limbo.add(namespace, uid, found)
    },
    /** Whether events come: while they don't, starts are judged later; or they never will, and starts are judged without. */
    events(of: 'Pod' | 'Node', state: EventsState): void {
      states[of] = state
    },
    /** Counts what is due. */
    tick(): void {
      if (!isListed) return
      for (const [uid, one] of pods) if (one && isDue(one)) settle(uid, one)
      limbo.tick()
      graves.tick()
    },
    /** What has been counted by now. */
    handover(): Handover {
      if (!isListed) return since
      const except = new Set<string>()
      for (const [uid, one] of pods) {
        if (one?.due !== undefined && !one.gone && except.size < mostExcept) except.add(uid)
      }
      return { until: now(), except }
    },
    /** How many pods are being followed to their start. */
    pending: () => pending,
  }
}

/**
 * When the first app started, by the control plane's clock, from the pod alone, so that two processes say the same. The node's clock is only
 * compared with itself. Where the status has lost the first start, it's when the pod was given to its node.
 */
function startedAt({ given, created, taken }: LivePod, apps: readonly LiveContainer[]): number {
  const from = given ?? created ?? 0
  const starts = apps.flatMap((app) => beginOf(firstRun(app))?.at ?? [])
  return starts.length === 0 || taken === undefined ? from : from + Math.max(0, Math.min(...starts) - taken)
}

/** What a text takes in memory: one byte for each character, or two if one of them needs that. */
const sizeOf = (text = ''): number => (/[^\0-\xff]/.test(text) ? 2 : 1) * text.length
