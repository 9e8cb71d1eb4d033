import { ClusterError, failureKind } from '../../src/kubernetes/failure.ts'
import type { WirePod } from '../seen-pod.ts'
import { isRewritten } from '../sidecar-state.ts'
import type { SidecarRollout } from '../types.ts'
import type { Cluster } from './cluster.ts'
import type { Decision, Step } from './decision.ts'
import { type Fetch, fetchName, fetchPod } from './fetch.ts'
import type { Space } from './store.ts'

/** How often a pod that fetches may be refused before the namespace counts as one that can't have it. */
const REFUSALS = 3
/** After this time it is tried again, in ms. */
const REFUSED = 600_000

export interface Actor {
  /** Takes a step; the space learns the result. */
  take(step: Step, rollout: SidecarRollout, space: Space): Promise<void>
  /** Reads a pod; the space learns what it is. */
  read(pod: { readonly namespace: string; readonly name: string }, space: Space): Promise<WirePod | undefined>
  /** Removes the pods whose image is no longer needed. @param now by the API server's clock, in ms */
  clear(rollout: SidecarRollout, space: Space, wanted: Decision['wanted'], now: number): Promise<void>
  /** Set when the pod that would fetch has been refused too often. */
  refusedFetch(rollout: SidecarRollout, node: string, image: string): Fetch | undefined
}

/** @param waiter the image of the pods that fetch */
export function createActor({
  cluster,
  steady,
  waiter,
}: {
  cluster: Cluster
  steady: () => number
  waiter: string
}): Actor {
  /** By the name of the pod; forgotten with the process. */
  const refusals = new Map<string, { times: number; why: string; at: number }>()

  async function fetch(step: Extract<Step, { do: 'fetch' }>, rollout: SidecarRollout, space: Space): Promise<void> {
    const { node, image, pullPolicy, like } = step
    const { namespace } = rollout.metadata
    const pod = fetchPod(rollout, { node, image, pullPolicy, pullSecrets: like.pullSecrets, waiter })
    const { name } = pod.metadata
    const stored = await cluster.createPod(namespace, pod).catch(async (error) => {
      const kind = failureKind(error)
      const found = kind === 'conflict' ? await cluster.readPod(namespace, name) : undefined
      if (found) return found
      if (kind !== 'invalid' && kind !== 'forbidden') throw error
      // Something guards the namespace; a refusal by itself may pass.
      const times = kind === 'invalid' ? REFUSALS : (refusals.get(name)?.times ?? 0) + 1
      refusals.set(name, { times, why: error instanceof Error ? error.message : String(error), at: steady() })
      if (times < REFUSALS) throw error
      return undefined
    })
    if (stored === undefined) return
    if (stored.spec.volumes?.some((volume) => volume.image)) return void space.learn(stored)
    // An API server before 1.35 stores the pod without the volume: it would end at once, and fetch nothing. That is so whether it can be removed
    // or not; one that can't goes with its rollout.
    refusals.set(name, { times: REFUSALS, why: 'the API server does not store image volumes', at: steady() })
    await cluster.removePod(namespace, name)
  }

  async function read({ namespace, name }: { namespace: string; name: string }, space: Space) {
    const found = await cluster.readPod(namespace, name)
    if (found) space.learn(found)
    else space.forget(name)
    return found
  }

  async function touch(step: Extract<Step, { do: 'touch' | 'note' }>, space: Space): Promise<void> {
    const { pod, container, note } = step
    const patch = step.do === 'touch' ? cluster.touchPod : cluster.notePod
    try {
      const is = space.learn(await patch(pod, container, note))
      const seen = is?.containers.find(({ name }) => name === container.name)
      // Admission has made another image of it: noted at once, so that it stays known whatever happens to the pod.
      if (step.do === 'touch' && is && seen && isRewritten(note, is, seen)) {
        space.learn(await cluster.notePod(is, seen, { ...note, effective: seen.image }))
      }
    } catch (error) {
      const kind = failureKind(error)
      // No answer, or a strange one, may mean that it was done all the same.
      if (kind !== 'forbidden' && kind !== 'throttled') space.doubt(pod.name)
      if (kind !== 'invalid' && kind !== 'conflict' && kind !== 'missing') throw error
      const found = await read(pod, space)
      if (found?.metadata.resourceVersion === pod.version) throw error
      // The pod has changed since it was seen, so the decision is made again.
      throw new ClusterError('conflict', `pod ${pod.name} has changed in the meantime`)
    }
  }

  return {
    read,
    take: (step, rollout, space) => (step.do === 'fetch' ? fetch(step, rollout, space) : touch(step, space)),
    async clear({ metadata }, space, wanted, now) {
      const needed = new Set(wanted.map(({ node, image }) => `${node} ${image}`))
      for (const { name, rollout, node, image, fetch } of space.fetches(now)) {
        const isNeeded = needed.has(`${node} ${image}`) && fetch.is !== 'expired'
        if (rollout !== metadata.uid || isNeeded) continue
        await cluster.removePod(metadata.namespace, name)
        space.forget(name)
      }
    },
    refusedFetch(rollout, node, image) {
      const refused = refusals.get(fetchName(rollout, node, image))
      if (!refused || refused.times < REFUSALS || steady() - refused.at > REFUSED) return undefined
      return { is: 'unable', why: refused.why }
    },
  }
}
