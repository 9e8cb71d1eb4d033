import { type Member, membersOf } from '../../rollouts/members.ts'
import type { SeenPod } from '../../rollouts/pod.ts'
import type { SidecarState } from '../../rollouts/sidecar.ts'
import type { RolloutPhase, SidecarRollout } from '../../rollouts/types.ts'
import { selectorText } from './selector.ts'

export const podStates = ['old', 'in progress', 'new', 'failed'] as const
export type PodState = (typeof podStates)[number]

export interface PodView {
  readonly name: string
  readonly node: string
  readonly state: PodState
  /** The image in its spec. */
  readonly image: string
  /** From the change of its image until it was ready, or until now, in ms; absent for a pod that wasn't touched. */
  readonly took?: number
  readonly detail: string
}

/** A rollout as a person looks at it. */
export interface RolloutView {
  readonly name: string
  readonly namespace: string
  readonly container: string
  readonly selector: string
  readonly image: string
  /** `Unseen`: the controller hasn't taken up what the spec says now. */
  readonly phase: RolloutPhase | 'Unseen'
  /** Why it is there: the controller's words, or what went wrong. */
  readonly why: string
  readonly counts: Readonly<Record<PodState, number>>
  /** How many of the old ones stay as they are. */
  readonly staying: number
  /** Failed ones first, then those in progress, then the latest; empty where pods can't be listed. */
  readonly pods: readonly PodView[]
}

/**
 * @param pods those that the selector matches, or undefined where they can't be listed: then the counts are the controller's
 * @param now by the API server's clock, in ms
 */
export function viewOf(rollout: SidecarRollout, pods: readonly SeenPod[] | undefined, now: number): RolloutView {
  const { metadata, spec, status } = rollout
  const seen = status !== undefined && status.observedGeneration >= metadata.generation
  const patience = {
    minReady: spec.strategy.minReadySeconds * 1000,
    deadline: spec.strategy.progressDeadlineSeconds * 1000,
    since: Date.parse(status?.since ?? '') || 0,
    now,
  }
  const rows = membersOf(rollout, pods ?? [], patience).all.map((member) => podView(member, now))
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    container: spec.container,
    selector: selectorText(spec.selector),
    image: spec.image,
    phase: seen ? status.phase : 'Unseen',
    why: seen ? whyOf(rollout) : '',
    counts: pods === undefined ? reported(rollout) : counted(rows),
    staying: Math.max(0, (status?.matched ?? 0) - (status?.desired ?? 0)),
    pods: rows.sort(
      (a, b) => rank[a.state] - rank[b.state] || (b.took ?? 0) - (a.took ?? 0) || compare(a.name, b.name),
    ),
  }
}

const rank: Record<PodState, number> = { failed: 0, 'in progress': 1, new: 2, old: 3 }
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** What went wrong, while that is what counts; else the condition's message. */
function whyOf({ status }: SidecarRollout): string {
  const { failure, phase, conditions = [] } = status ?? {}
  if (failure && (phase === 'Stopped' || phase === 'RollingBack' || phase === 'RolledBack')) {
    const where = [failure.pod, failure.node && `on ${failure.node}`].filter(Boolean).join(' ')
    return `${failure.reason}${where ? ` (${where})` : ''}: ${failure.message}`
  }
  return conditions.find(({ type }) => type === 'Progressing')?.message ?? ''
}

function reported({ status }: SidecarRollout): Record<PodState, number> {
  const { matched = 0, updated = 0, updatedReady = 0, inProgress = 0, failure, phase } = status ?? {}
  const failed = phase === 'Stopped' && failure?.pod !== undefined ? 1 : 0
  return { old: matched - updated, 'in progress': inProgress - failed, new: updatedReady, failed }
}

function counted(rows: readonly PodView[]): Record<PodState, number> {
  const counts: Record<PodState, number> = { old: 0, 'in progress': 0, new: 0, failed: 0 }
  for (const { state } of rows) counts[state] += 1
  return counts
}

function podView({ pod, container, state: judged, touch, updated, inProgress }: Member, now: number): PodView {
  const state = stateOf(judged, { updated, inProgress })
  const base = { name: pod.name, node: pod.node ?? '', state, image: container.image, detail: detailOf(judged, state) }
  if (touch === undefined) return base
  const ready = judged.is === 'done' || judged.is === 'settling'
  const readyAt = Math.max(container.status?.readySince ?? 0, pod.ready ? pod.readyChanged : 0)
  return { ...base, took: Math.max(0, (ready ? readyAt : now) - touch.at) }
}

function stateOf({ is }: SidecarState, { updated, inProgress }: { updated: boolean; inProgress: boolean }): PodState {
  if (is === 'failed') return 'failed'
  if (updated) return is === 'done' ? 'new' : 'in progress'
  return inProgress ? 'in progress' : 'old'
}

function detailOf(judged: SidecarState, state: PodState): string {
  if (judged.is === 'failed') return `${judged.reason}: ${judged.message}`
  if (state !== 'in progress') return ''
  if (judged.is === 'settling') return 'ready, must stay so'
  return judged.is === 'pending' ? 'has not started yet' : 'not ready yet'
}
