import type { CoreV1Event, V1Pod } from '@kubernetes/client-node'
import { type SeenEvent, seenEvent } from '../seen/event.ts'
import { type LivePod, livePod } from '../seen/pod.ts'

/**
 * What is kept of a pod; as JSON it's a text of a thousand characters, a tenth of the memory of what the API server sends. The sidecars that it names are
 * left out, since anybody may write as many as they like, and so is what the kubelet says in words, which nobody reads here.
 */
export function keptPod(pod: V1Pod): LivePod {
  const live = livePod(pod, 0)
  // A sidecar that a preset knows is named when it is judged; of 500 containers each word counts.
  const containers = live.containers.map((each) => ({
    ...each,
    byPreset: each.byPreset === 'helper' ? each.byPreset : undefined,
  }))
  return { ...live, named: [], containers }
}

/** Undefined for what says nothing about a start, or doesn't come from whom it should. */
export function keptEvent(event: CoreV1Event): SeenEvent | undefined {
  const seen = seenEvent(event, 0)
  if (!seen?.says || seen.says === 'backs-off') return undefined
  if (seen.says !== 'given' && !seen.host) return undefined
  return seen
}

/** Whether they are one event, told again when it has happened again. */
export const sameAs = (one: SeenEvent, other: SeenEvent): boolean =>
  one.at === other.at && one.says === other.says && one.container === other.container && one.host === other.host

/** An older list may have it as it was. */
export const newer = (one: SeenEvent, other: SeenEvent): SeenEvent =>
  (one.times ?? 1) > (other.times ?? 1) ? one : other
