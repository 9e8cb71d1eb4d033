import { matchesGlob } from '../src/admission/intent/glob.ts'
import { mayBeMadeOf, sameName } from './image.ts'
import type { PodWith } from './seen-pod.ts'
import { noteOf } from './sidecar-state.ts'
import type { Revision, SidecarRollout } from './types.ts'

/** What a rollout remembers in its status, brought up to date with its spec. */
export interface Memory {
  /** The last one is the present image. */
  readonly revisions: readonly Revision[]
  /** The images that may be replaced: those found at first, and each former one of the spec; undefined until a pod was found. */
  readonly origins: readonly string[] | undefined
}

const REVISIONS = 5
const ORIGINS = 20

/**
 * Pods that may have been born with the image of the spec, by another name: if their owner's template has it, they were.
 * @param pods those that the selector matches and that have the container
 */
export const maybeBorn = ({ spec, status }: SidecarRollout, pods: readonly PodWith[]): readonly PodWith[] => {
  const known = (status?.revisions ?? []).flatMap(({ effective, born }) => [effective, born])
  return pods.filter(
    ({ pod: { owner, generation }, container: { name, image } }) =>
      name === spec.container && owner && generation === 1 && mayBeMadeOf(image, spec.image) && !known.includes(image),
  )
}

/**
 * @param pods those that the selector matches and that have the container
 * @param bornAs what admission makes of the spec's image when pods are created
 */
export function remember(
  { metadata, spec, status }: SidecarRollout,
  pods: readonly PodWith[],
  bornAs?: string,
): Memory {
  const former = status?.revisions ?? []
  const at = former.findIndex(({ image }) => sameName(image, spec.image))
  // Back on an earlier image: what came after it is undone.
  const all =
    at >= 0
      ? former.slice(0, at + 1)
      : [...former, { image: spec.image, partition: spec.strategy.partition, completed: false }]
  const last = all.length - 1
  const revisions = all.slice(-REVISIONS).map((one) => (bornAs && one === all[last] ? { ...one, born: bornAs } : one))
  const births = new Set(revisions.slice(-1).flatMap(({ born }) => born ?? []))
  const superseded = former.flatMap(({ image }) => (sameName(image, spec.image) ? [] : [image]))
  const known = status?.origins
  const found = pods.flatMap(({ pod, container }) => {
    const note = noteOf(pod, container)
    if (note?.rollout === metadata.uid) return [note.base]
    return sameName(container.image, spec.image) || births.has(container.image) ? [] : [container.image]
  })
  if (!known && pods.length === 0) return { revisions, origins: undefined }
  const images = new Set([...(known ?? found), ...superseded].filter((image) => !births.has(image)))
  // Of too many, those that pods or the last revisions have are kept: pods are still born with the former.
  const used = new Set([...found, ...superseded])
  const origins = [...images].sort((a, b) => Number(used.has(b)) - Number(used.has(a))).slice(0, ORIGINS)
  return { revisions, origins: origins.sort() }
}

/** What nodes pull for an image of the spec: what admission has made of it, once a pod has shown that. */
export const pulledFor = (image: string, { revisions }: Memory): string =>
  revisions.find((one) => sameName(one.image, image))?.effective ?? image

/** Whether a pod that has this image, and no note of ours, may get another. */
export function isOrigin(image: string, { spec }: SidecarRollout, { origins = [] }: Memory): boolean {
  return origins.some((one) => sameName(one, image)) || (spec.from ?? []).some((glob) => matchesGlob(glob, image))
}

/**
 * The images that pods fall back to, in this order, each with the share that stays on what follows it; after them, each pod's own origin.
 * @param failed whether the present image has failed
 */
export function basesOf({ spec }: SidecarRollout, { revisions }: Memory, failed: boolean): readonly Revision[] {
  if (spec.strategy.rest === 'origin') return []
  const current = revisions.at(-1)
  const earlier = revisions.slice(0, -1).filter(({ completed }) => completed)
  // A greater share of the same image has failed: back to the one that was complete.
  return [...(failed && current?.completed ? [current] : []), ...earlier.reverse()]
}
