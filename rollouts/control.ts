import { selects } from '../src/admission/selector.ts'
import { ClusterError, type FailureKind, failureKind } from '../src/kubernetes/failure.ts'
import { claimedBy } from './claim.ts'
import type { Cluster, Mirrors, Report } from './cluster.ts'
import { type Fetch, fetchName, fetchPod } from './fetch.ts'
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
/** So often may a pod that fetches be refused before the namespace counts as one that can't have it. */
const REFUSALS = 3
/** After which it is tried again, in ms. */
const REFUSED = 600_000

/** Upgrades sidecars until `signal` ends. */
export async function control({ cluster, mirrors, leads, now, steady, waiter, observer, signal }: Controlling) {
  const rollouts = new Map<string, SidecarRollout>()
  const spaces = new Map<string, Space>()
  /** Kept only to spare calls and for the words: a new process finds them out again. */
  const written = new Map<string, number>()
  const refusals = new Map<string, { times: number; why: string; at: number }>()
  const trouble = new Map<string, string>()

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
      fetchOf(node, image): Fetch | undefined {
        const refused = refusals.get(fetchName(rollout, node, image))
        if (refused && refused.times >= REFUSALS && steady() - refused.at < REFUSED)
          return { is: 'unable', why: refused.why }
        return fetches.get(`${node} ${image}`)
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
    await clear(said, space, decision, shown.now)
    if (decision.steps.some((step) => step.do === 'touch') && !(await stillWanted(key, said))) return
    for (const step of decision.steps) {
      if (!leads()) return
      await take(step, said, space)
      observer.took(said, step)
    }
    trouble.delete(key)
    if (decision.again !== undefined) queue.add(key, decision.again - now())
    if (decision.reason === 'FetchingImage' || decision.wanted.length > 0) queue.add(key, FETCHING)
  }

  /** The status, before anything is done by it: who comes after a crash must know of a failure before the first pod is put back. */
  async function say(key: string, rollout: SidecarRollout, decision: Decision): Promise<SidecarRollout> {
    const { status: former } = rollout
    const status = statusOf(rollout, decision, { now: now(), trouble: trouble.get(key) })
    if (!differs(former, status)) {
      if (JSON.stringify(former) === JSON.stringify(status)) return rollout
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

  async function take(step: Step, rollout: SidecarRollout, space: Space): Promise<void> {
    const { namespace } = rollout.metadata
    if (step.do === 'fetch') {
      const { node, image, pullPolicy, like } = step
      const pod = fetchPod(rollout, { node, image, pullPolicy, pullSecrets: like.pullSecrets, waiter })
      const { name } = pod.metadata
      try {
        space.learn(await cluster.createPod(namespace, pod))
      } catch (error) {
        const kind = failureKind(error)
        if (kind === 'conflict') {
          const found = await cluster.readPod(namespace, name)
          if (found) return space.learn(found)
        }
        if (kind !== 'invalid' && kind !== 'forbidden') throw error
        // Something guards the namespace, or the API server doesn't know image volumes; a refusal by itself may pass.
        const times = kind === 'invalid' ? REFUSALS : (refusals.get(name)?.times ?? 0) + 1
        refusals.set(name, { times, why: error instanceof Error ? error.message : String(error), at: steady() })
        if (times < REFUSALS) throw error
        queue.add(keyOf(rollout.metadata))
      }
      return
    }
    try {
      space.learn(await cluster.touchPod(step.pod, step.container, step.touch))
    } catch (error) {
      const kind = failureKind(error)
      if (kind !== 'invalid' && kind !== 'conflict' && kind !== 'missing') throw error
      const found = await cluster.readPod(namespace, step.pod.name)
      if (found) space.learn(found)
      else space.forget(step.pod.name)
      if (found?.metadata.resourceVersion === step.pod.version) throw error
      // It isn't as it was seen: what to do is decided anew.
      throw new ClusterError('conflict', `pod ${step.pod.name} has changed meanwhile`)
    }
  }

  /** Pods that have fetched what is needed no more. */
  async function clear({ metadata }: SidecarRollout, space: Space, { wanted }: Decision, at: number) {
    const needed = new Set(wanted.map(({ node, image }) => `${node} ${image}`))
    for (const { name, rollout, node, image } of space.fetches(at)) {
      if (rollout !== metadata.uid || needed.has(`${node} ${image}`) || !leads()) continue
      await cluster.removePod(metadata.namespace, name)
      space.forget(name)
    }
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
