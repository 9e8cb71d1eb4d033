import type { Memory } from '../memory.ts'
import type { Note } from '../pod-note.ts'
import type { PodWith, SeenPod } from '../seen-pod.ts'
import type { LifeOf } from '../sidecar-state.ts'
import type { Counts, ProgressReason, RolloutFailure, RolloutPhase, SidecarRollout } from '../types.ts'
import type { Budget } from './budget.ts'
import type { Denial } from './denials.ts'
import type { Fetch } from './fetch.ts'

/** What a decision about a rollout is made from. */
export interface Shown {
  readonly now: number
  readonly rollout: SidecarRollout
  /** An older rollout that claims the container of one of the pods. */
  readonly claimedBy: string | undefined
  /** The pods that the selector matches. */
  readonly pods: readonly SeenPod[]
  /** All of the namespace, for the budgets. */
  readonly neighbours: readonly SeenPod[]
  readonly budgets: readonly Budget[]
  /** How an image is doing on a node of a pod; undefined: nobody has asked for it there yet. @param isPublic the pod has no pull secrets */
  readonly fetchOf: (node: string, image: string, isPublic: boolean) => Fetch | undefined
  /** Whether a touched pod has reached this once: see `reachedKeys`. */
  readonly isKnown: (key: string) => boolean
  readonly lifeOf: LifeOf
  /** Why a pod may not have an image, as far as that has been tried. */
  readonly denialOf: (pod: SeenPod, image: string) => Denial | undefined
  /** What admission makes of the rollout's image when pods are created, as far as a template has shown that. */
  readonly bornAs: string | undefined
  /** Workloads whose template has an image that is replaced here. */
  readonly behind: readonly string[]
}

export interface Decision {
  readonly phase: RolloutPhase
  readonly reason: ProgressReason
  readonly message: string
  readonly counts: Counts
  /** When this generation was taken up. */
  readonly since: number
  readonly failure: RolloutFailure | undefined
  /** Whether this generation has reached its share, now or before. */
  readonly completed: boolean
  readonly memory: Memory
  /** Pods that are late for what isn't the sidecar's doing: each with the reason. */
  readonly excused: readonly string[]
  /** Pods that are left alone, by why. */
  readonly leftAlone: Readonly<Record<'superseded' | 'refused' | 'silent' | 'tooOld', readonly string[]>>
  /** What is said of pods whose change is denied: each with the reason. */
  readonly denied: readonly string[]
  readonly behind: readonly string[]
  /** Complete, and no pod has an image from here any more. */
  readonly unneeded: boolean
  /** Pods that fail now, whether that stops the rollout or not. */
  readonly failing: readonly RolloutFailure[]
  /** Pods whose bake ends, and on which it rests that others are touched or that it is complete: the watch may have gone silent. */
  readonly unconfirmed: readonly string[]
  /** What touched pods have reached: see `reachedKeys`. */
  readonly known: readonly string[]
  readonly steps: readonly Step[]
  /** Fetches that are of use. */
  readonly wanted: readonly { readonly node: string; readonly image: string }[]
  /** Nodes that can't fetch ahead. */
  readonly unfetchable: Unfetched | undefined
  /** Nodes on which the pull fails and is tried again. */
  readonly unfetched: Unfetched | undefined
  /** Nodes of late pods: whether their kubelets live has to be looked at. */
  readonly awaited: readonly string[]
  /** It is on its way, and no pod has been touched for longer than one may take, and once more as long. */
  readonly stuck: boolean
  /** When to look again even if nothing changes; undefined: no need. */
  readonly again: number | undefined
}

export interface Unfetched {
  readonly nodes: readonly string[]
  readonly why: string
}

export type Step =
  | ({ readonly do: 'touch'; readonly note: Note } & PodWith)
  /** Notes what admission has made of the image, so that it stays known when somebody else changes the pod. */
  | ({ readonly do: 'note'; readonly note: Note } & PodWith)
  | {
      readonly do: 'fetch'
      readonly node: string
      readonly image: string
      /** A pod whose pull secrets will do. */
      readonly like: SeenPod
      readonly pullPolicy: string
    }
