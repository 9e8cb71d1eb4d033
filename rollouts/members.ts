import type { SeenContainer, SeenPod } from './pod.ts'
import type { Touch } from './record.ts'
import { desiredOf } from './share.ts'
import { isAway, type Patience, type SidecarState, sidecarState, startedBy, touchOf } from './sidecar.ts'
import type { SidecarRollout } from './types.ts'

/** A matched pod, as the rollout sees it. */
export interface Member {
  readonly pod: SeenPod
  readonly container: SeenContainer
  readonly state: SidecarState
  /** This rollout's note about the image that the container has now. */
  readonly touch: Touch | undefined
  /** On the rollout's image, whoever brought it there. */
  readonly updated: boolean
  /** Touched and not done: maxUnavailable limits these besides the pods that aren't ready. */
  readonly inProgress: boolean
  readonly available: boolean
}

export interface Members {
  readonly all: readonly Member[]
  /** A pod that this rollout has brought to the image is done: the image works. */
  readonly proven: boolean
}

export interface Counts {
  readonly matched: number
  readonly desired: number
  readonly updated: number
  readonly ready: number
  readonly updatedReady: number
  readonly inProgress: number
  readonly previousImages: readonly { readonly image: string; readonly pods: number }[]
}

/** The pods that count: they have the container and aren't ending. @param pods those that the selector matches */
export function membersOf(rollout: SidecarRollout, pods: readonly SeenPod[], patience: Patience): Members {
  const all = pods.flatMap((pod): Member[] => {
    const container = pod.containers.find(({ name }) => name === rollout.spec.container)
    if (!container || pod.ending) return []
    const found = touchOf(pod, container)
    const touch = found?.rollout === rollout.metadata.uid ? found : undefined
    const state = sidecarState(pod, container, patience)
    const updated = container.image === rollout.spec.image
    const inProgress = touch !== undefined && state.is !== 'done' && state.is !== 'pending'
    return [{ pod, container, state, touch, updated, inProgress, available: pod.ready && !isAway(pod) && !inProgress }]
  })
  const proven = all.some(({ updated, touch, state }) => updated && touch?.back === false && state.is === 'done')
  return { all: proven ? all : all.map((one) => answerable(one, patience)), proven }
}

/** Until the image has proven itself, a pod that was given it before its start must show that it starts. */
function answerable(member: Member, patience: Patience): Member {
  const { state, touch, updated } = member
  if (state.is !== 'pending' || !touch || !updated) return member
  return { ...member, inProgress: true, state: startedBy(member.pod, member.container, touch, patience) }
}

export function countsOf(members: readonly Member[], { spec }: SidecarRollout): Counts {
  const updated = members.filter((one) => one.updated)
  const images = new Map<string, number>()
  for (const { touch } of updated) if (touch && !touch.back) images.set(touch.from, (images.get(touch.from) ?? 0) + 1)
  return {
    matched: members.length,
    desired: desiredOf(spec.strategy.partition, members.length),
    updated: updated.length,
    ready: members.filter(({ available }) => available).length,
    updatedReady: updated.filter(({ state }) => state.is === 'done').length,
    inProgress: members.filter((one) => one.inProgress).length,
    previousImages: [...images].map(([image, pods]) => ({ image, pods })).sort((a, b) => (a.image < b.image ? -1 : 1)),
  }
}

/** Brought to the image in this generation, and changed by somebody else since. */
export function hasDiverged({ pod, container, updated }: Member, { metadata, spec }: SidecarRollout): boolean {
  const touch = pod.touches.get(container.name)
  if (updated || touch === undefined || touch.back) return false
  return touch.rollout === metadata.uid && touch.generation === metadata.generation && touch.to === spec.image
}
