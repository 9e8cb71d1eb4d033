import { ClusterError, failureKind } from '../../src/kubernetes/failure.ts'
import type { WirePod } from '../seen-pod.ts'
import { isRewritten } from '../sidecar-state.ts'
import { type Cluster, isAsSeen } from './cluster.ts'
import type { Step } from './decision.ts'
import type { Space } from './store.ts'

/** Reads a pod; the space learns what it is. */
export async function readPod(
  cluster: Cluster,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  space: Space,
): Promise<WirePod | undefined> {
  const found = await cluster.readPod(namespace, name)
  if (found) space.learn(found)
  else space.forget(name)
  return found
}

/** Changes a pod; the space learns the result. @returns what denies it; undefined: it's done */
export async function changePod(
  cluster: Cluster,
  { do: what, pod, container, note }: Exclude<Step, { do: 'fetch' }>,
  space: Space,
): Promise<ClusterError | undefined> {
  const patch = what === 'touch' ? cluster.touchPod : cluster.notePod
  try {
    const is = space.learn(await patch(pod, container, note))
    const seen = is?.containers.find(({ name }) => name === container.name)
    // Admission has made another image of it: noted at once, so that it stays known whatever happens to the pod.
    if (what === 'touch' && is && seen && isRewritten(note, is, seen)) {
      space.learn(await cluster.notePod(is, seen, { ...note, effective: seen.image }))
    }
    return undefined
  } catch (error) {
    const kind = failureKind(error)
    // No answer, or a strange one, may mean that it was done all the same.
    if (kind !== 'forbidden' && kind !== 'throttled') space.doubt(pod.name)
    if (kind !== 'invalid' && kind !== 'forbidden' && kind !== 'conflict' && kind !== 'missing') throw error
    const found = await readPod(cluster, pod, space)
    // A policy's denial is either of these, and so is a failed test of the patch.
    const mayBeDenial = error instanceof ClusterError && (kind === 'invalid' || kind === 'forbidden')
    if (mayBeDenial && found && isAsSeen(found, pod, container)) return error
    if (found?.metadata.resourceVersion === pod.version) throw error
    // The pod has changed since it was seen, so the decision is made again.
    throw new ClusterError('conflict', `pod ${pod.name} has changed in the meantime`)
  }
}
