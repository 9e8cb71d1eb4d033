import type { Member } from '../members.ts'
import type { Note } from '../pod-note.ts'
import { noteOf, standing } from '../sidecar-state.ts'
import type { Shown, Step } from './decision.ts'
import type { Move } from './targets.ts'

/** The step that gives a pod its image. @param back it takes the pod off the present image */
export function touching({ member, to }: Move, { rollout, now }: Shown, back: boolean): Step {
  const { pod, container, origin } = member
  const note: Note = {
    rollout: rollout.metadata.uid,
    revision: rollout.metadata.generation,
    from: container.image,
    wanted: to,
    effective: undefined,
    base: origin ?? container.image,
    back,
    gen: pod.generation + 1,
    ...formerOf(member, to),
    at: now,
  }
  return { do: 'touch', pod, container, note }
}

/** What of a pod that is touched ran before, and what may be started before the kubelet sees the touch. */
function formerOf({ pod, container }: Member, to: string): Pick<Note, 'ids' | 'keep' | 'between' | 'images'> {
  const { status } = container
  const now = status?.id ? { ids: [status.id], images: [status.imageId].filter(Boolean) } : { ids: [], images: [] }
  const before = noteOf(pod, container)
  if (!before || standing(pod, container) === 'current') {
    // Scheduled, and nothing is reported yet: the old image may be starting. Or somebody has changed the pod, and its kubelet hasn't seen that.
    const starting = now.ids.length === 0 || (pod.observed ?? pod.generation) < pod.generation
    return { ...now, keep: [], between: starting && pod.node !== undefined }
  }
  // Taken back before the kubelet acted: what ran before goes on. Had it acted, its next report wouldn't show that one any more.
  const keep = !before.between && before.from === to ? before.ids : []
  const ids = [...new Set([...before.ids, ...before.keep, ...now.ids])].filter((id) => !keep.includes(id))
  return { ids, keep, between: true, images: [...new Set([...before.images, ...now.images])] }
}
