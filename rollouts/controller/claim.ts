import { selects } from '../../src/admission/pod/selector.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'

/** The name of an older rollout that claims the container of one of these pods. @param pods those that the rollout matches */
export function claimedBy(
  rollout: SidecarRollout,
  others: readonly SidecarRollout[],
  pods: readonly SeenPod[],
): string | undefined {
  const { container } = rollout.spec
  const rivals = others.filter((other) => other.spec.container === container && older(other, rollout))
  const contested = (other: SidecarRollout) =>
    pods.some((pod) => !pod.ending && selects(other.spec.selector, pod.labels) && has(pod, container))
  return rivals.find(contested)?.metadata.name
}

const has = ({ containers }: SeenPod, container: string) => containers.some(({ name }) => name === container)

/** Of two that are equally old, one must be: by name. */
function older({ metadata: a }: SidecarRollout, { metadata: b }: SidecarRollout): boolean {
  if (a.uid === b.uid || a.deletionTimestamp !== undefined) return false
  const [first, second] = [Date.parse(a.creationTimestamp), Date.parse(b.creationTimestamp)]
  return first < second || (first === second && a.name < b.name)
}
