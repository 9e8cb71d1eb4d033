import type { ClusterError } from '../../src/kubernetes/failure.ts'
import type { Note } from '../pod-note.ts'
import type { SeenPod } from '../seen-pod.ts'
import type { SidecarRollout } from '../types.ts'

/** A change of a pod that the API server has denied, for a policy, a webhook or want of a right. */
export interface Denial {
  readonly why: string
  /** When it's tried again, by the API server's clock, in ms. */
  readonly until: number
}

/** How long a denied change rests at first, and at most, in ms: the next time twice as long. */
const SHORTEST = 60_000
const LONGEST = 600_000

/** The last denial of each pod of a rollout; forgotten with the process, which then tries once more. */
export class Denials {
  readonly #last = new Map<string, Denial & { readonly change: string; readonly rest: number }>()

  saw(
    { pod, note }: { readonly pod: SeenPod; readonly note: Note },
    rollout: SidecarRollout,
    { message }: ClusterError,
    now: number,
  ) {
    const change = changeOf(pod, note.wanted, rollout)
    const last = this.#last.get(pod.uid)
    const rest = last?.change === change ? Math.min(2 * last.rest, LONGEST) : SHORTEST
    this.#last.set(pod.uid, { change, rest, why: message, until: now + rest })
  }

  of(pod: SeenPod, image: string, rollout: SidecarRollout): Denial | undefined {
    const last = this.#last.get(pod.uid)
    return last?.change === changeOf(pod, image, rollout) ? last : undefined
  }

  /** @param pods those that there still are */
  keep(pods: readonly SeenPod[]) {
    const there = new Set(pods.map(({ uid }) => uid))
    for (const uid of this.#last.keys()) if (!there.has(uid)) this.#last.delete(uid)
  }
}

/** Another spec, of the pod or of the rollout, is another change. */
const changeOf = ({ generation }: SeenPod, image: string, { metadata }: SidecarRollout) =>
  `${generation} ${metadata.generation} ${image}`
