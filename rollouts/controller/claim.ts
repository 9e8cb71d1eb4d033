import { selects } from '../../src/admission/pod/selector.ts'
import { withContainer } from '../members.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'

/** The name of an older rollout that claims the container of one of these pods. @param pods those that the rollout matches */
export function claimedBy(
  rollout: SidecarRollout,
  others: readonly SidecarRollout[],
  pods: readonly SeenPod[],
): string | undefined {
  const having = withContainer(rollout, pods)
  const isRival = (other: SidecarRollout) =>
    other.spec.container === rollout.spec.container &&
    older(other, rollout) &&
    having.some(({ pod }) => selects(other.spec.selector, pod.labels))
  return others.find(isRival)?.metadata.name
}

/** Of two that are equally old, one must be: by name. */
function older({ metadata: a }: SidecarRollout, { metadata: b }: SidecarRollout): boolean {
  if (a.uid === b.uid || a.deletionTimestamp !== undefined) return false
  const [first, second] = [Date.parse(a.creationTimestamp), Date.parse(b.creationTimestamp)]
  return first < second || (first === second && a.name < b.name)
}
