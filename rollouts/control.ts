import { isDeepStrictEqual } from 'node:util'
import { selects } from '../src/admission/selector.ts'
import type { Report } from '../src/kubernetes/event.ts'
import { type FailureKind, failureKind } from '../src/kubernetes/failure.ts'
import { createActor } from './act.ts'
import { claimedBy } from './claim.ts'
import type { Cluster, Mirrors } from './cluster.ts'
import type { Mirrored } from './mirror.ts'
import { type Decision, next, type Shown, type Step } from './next.ts'
import { createQueue, type Queue } from './queue.ts'
import { openSpace, type Space } from './space.ts'
import { differs, statusOf } from './status.ts'
import type { SidecarRollout } from './types.ts'

/** What the controller tells those who watch it: metrics, the log. */
export interface Observer {
  looked(rollout: SidecarRollout, shown: Shown, decision: Decision): void
  took(rollout: SidecarRollout, step: Step): void
  turned(rollout: SidecarRollout, report: Report): void
  forgot(rollout: SidecarRollout): void
  failed(kind: FailureKind, error: unknown): void
}

export interface Controlling {
  readonly cluster: Cluster
  readonly mirrors: Mirrors
  /** Whether this process may write now. */
  readonly leads: () => boolean
  /** The API server's clock, in ms. */
  readonly now: () => number
  readonly steady: () => number
  /** The image of the pods that fetch. */
  readonly waiter: string
  readonly observer: Observer
  readonly signal: AbortSignal
}

/** Counts alone are written no more often, in ms. */
const COUNTS = 1000
/** While something is fetched it is looked after this often, in ms. */
const FETCHING = 2000
/** Upgrades sidecars until `signal` ends. */
export async function control({ cluster, mirrors, leads, now, steady, waiter, observer, signal }: Controlling) {
  const rollouts = new Map<string, SidecarRollout>()
  const spaces = new Map<string, Space>()
  /** Kept only to spare calls and for the words: a new process finds them out again. */
  const written = new Map<string, number>()
  const trouble = new Map<string, string>()

  const actor = createActor({ cluster, steady, waiter })
  const queue: Queue = createQueue({
    steady,
    signal,
    work,
    failed(key, error) {
      trouble.set(key, error instanceof Error ? error.message : String(error))
      observer.failed(failureKind(error), error)
    },
  })

  const intoRollouts: Mirrored<SidecarRollout> = {
    put(rollout) {
      const key = keyOf(rollout.metadata)
      const was = rollouts.get(key)
      const { uid, resourceVersion } = rollout.metadata
      if (was?.metadata.uid === uid && Number(resourceVersion) < Number(was.metadata.resourceVersion)) return
      rollouts.set(key, rollout)
      const { namespace } = rollout.metadata
      if (!spaces.has(namespace)) spaces.set(namespace, open(namespace))
      // Rivals may be affected, too.
      if (was?.metadata.generation !== rollout.metadata.generation) wake(namespace)
    },
    gone(name, namespace) {
      const key = keyOf({ name, namespace })
      const was = rollouts.get(key)
      rollouts.delete(key)
      for (const map of [written, trouble]) map.delete(key)
      queue.forget(key)
      if (was) observer.forgot(was)
      if (of(namespace).length > 0) return wake(namespace)
      spaces.get(namespace)?.close()
      spaces.delete(namespace)
    },
    listed(objects) {
      const keys = new Set(objects.map(keyOf))
      for (const [key, { metadata }] of rollouts)
        if (!keys.has(key)) intoRollouts.gone(metadata.name, metadata.namespace)
    },
  }

  const of = (namespace: string) => [...rollouts.values()].filter(({ metadata }) => metadata.namespace === namespace)

  function wake(namespace: string) {
    for (const { metadata } of of(namespace)) queue.add(keyOf(metadata))
  }

  const open = (namespace: string): Space =>
    openSpace(namespace, {
      mirrors,
      now,
      changed(was, is) {
        const concerned = of(namespace).filter(({ spec }) =>
          [was, is].some((pod) => pod && selects(spec.selector, pod.labels)),
        )
        // A budget, a fetch, or a pod of a budget's alone.
        const all = was === undefined && is === undefined ? of(namespace) : concerned
        for (const { metadata } of all) queue.add(keyOf(metadata))
      },
    })

  function look(rollout: SidecarRollout, space: Space): Shown {
    const { namespace, uid } = rollout.metadata
    const at = now()
    const neighbours = space.pods()
    const pods = neighbours.filter(({ labels }) => selects(rollout.spec.selector, labels))
    const fetches = new Map(
      space.fetches(at).flatMap((one) => (one.rollout === uid ? [[`${one.node} ${one.image}`, one.fetch]] : [])),
    )
    return {
      now: at,
      rollout,
      claimedBy: claimedBy(rollout, of(namespace), pods),
      pods,
      neighbours,
      budgets: space.budgets(),
      fetchOf(node, image) {
        return actor.refusedFetch(rollout, node, image) ?? fetches.get(`${node} ${image}`)
      },
    }
  }

  async function work(key: string): Promise<void> {
    const rollout = rollouts.get(key)
    const space = rollout && spaces.get(rollout.metadata.namespace)
    if (!rollout || !space?.ready() || !leads()) return
    const shown = look(rollout, space)
    const decision = next(shown)
    observer.looked(rollout, shown, decision)
    const said = await say(key, rollout, decision)
    if (leads()) await actor.clear(said, space, decision.wanted, shown.now)
    if (decision.steps.some((step) => step.do === 'touch') && !(await stillWanted(key, said))) return
    for (const step of decision.steps) {
      if (!leads()) return
      await actor.take(step, said, space)
      observer.took(said, step)
    }
    trouble.delete(key)
    if (decision.again !== undefined) queue.add(key, decision.again - now())
    // How a fetch is judged depends on its age as well.
    if (decision.wanted.length > 0) queue.add(key, FETCHING)
  }

  /** The status, before anything is done by it: who comes after a crash must know of a failure before the first pod is put back. */
  async function say(key: string, rollout: SidecarRollout, decision: Decision): Promise<SidecarRollout> {
    const { status: former } = rollout
    const status = statusOf(rollout, decision, { now: now(), trouble: trouble.get(key) })
    if (!differs(former, status)) {
      if (isDeepStrictEqual(former, status)) return rollout
      const rest = (written.get(key) ?? 0) + COUNTS - steady()
      if (rest > 0) {
        queue.add(key, rest)
        return rollout
      }
    }
    written.set(key, steady())
    const said = await cluster.writeStatus(rollout, status).catch(async (error) => {
      // Somebody wrote first, or it's gone: the watch may not have it yet.
      const kind = failureKind(error)
      if (kind === 'invalid' || kind === 'conflict' || kind === 'missing') await refresh(rollout)
      throw error
    })
    intoRollouts.put(said)
    const report = reportOf(rollout, decision)
    if (report) {
      observer.turned(said, report)
      await cluster.report(said, report, now()).catch((error) => observer.failed(failureKind(error), error))
    }
    return said
  }

  /** What was decided by what a silent watch has left behind isn't done: a rollout may have been paused since. */
  async function stillWanted(key: string, rollout: SidecarRollout): Promise<boolean> {
    const found = await refresh(rollout)
    const { uid, generation } = rollout.metadata
    if (found?.metadata.uid === uid && found.metadata.generation === generation) return true
    queue.add(key)
    return false
  }

  async function refresh({ metadata: { namespace, name } }: SidecarRollout): Promise<SidecarRollout | undefined> {
    const found = await cluster.readRollout(namespace, name)
    if (found) intoRollouts.put(found)
    else intoRollouts.gone(name, namespace)
    return found
  }

  await Promise.all([mirrors.rollouts(intoRollouts, signal), queue.ended])
  for (const space of spaces.values()) space.close()
}

const keyOf = ({ namespace, name }: { namespace: string; name: string }) => `${namespace}/${name}`

/** An event when the phase changes. */
function reportOf({ status }: SidecarRollout, { phase, message, failure }: Decision): Report | undefined {
  if (status?.phase === phase) return undefined
  const bad = phase === 'Stopped' || phase === 'RollingBack' || phase === 'Waiting'
  const why = failure ? ` (${failure.reason}${failure.pod ? `, pod ${failure.pod}` : ''}: ${failure.message})` : ''
  return { type: bad ? 'Warning' : 'Normal', reason: phase, message: `${message}${why}` }
}
