import { type Member, membersOf } from '../../rollouts/members.ts'
import { patienceOf } from '../../rollouts/next.ts'
import type { SeenContainer, SeenPod } from '../../rollouts/pod.ts'
import type { SidecarState } from '../../rollouts/sidecar.ts'
import type { RolloutFailure, RolloutPhase, SidecarRollout } from '../../rollouts/types.ts'
import { selectorText } from './selector.ts'

export type PodState = 'old' | 'in progress' | 'new' | 'failed'

export interface PodView {
  readonly name: string
  readonly node: string
  readonly state: PodState
  /** The image in its spec. */
  readonly image: string
  /** When its image was changed; absent for a pod that wasn't touched. */
  readonly touched?: string
  /** From then until it was ready or had failed, or until now, in ms; absent where nobody saw it become ready: the API has no time for that. */
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
 * @param before the view of a moment ago, for one who watches
 */
export function viewOf(
  rollout: SidecarRollout,
  pods: readonly SeenPod[] | undefined,
  now: number,
  before?: RolloutView,
): RolloutView {
  const { metadata, spec, status } = rollout
  const seen = status !== undefined && status.observedGeneration >= metadata.generation
  const former = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const rows = membersOf(rollout, pods ?? [], patienceOf(rollout, now)).all.map((member) =>
    podView(member, { former: former.get(member.pod.name), failure: seen ? failureIn(rollout) : undefined, now }),
  )
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
      (a, b) => rank[a.state] - rank[b.state] || compare(b.touched ?? '', a.touched ?? '') || compare(a.name, b.name),
    ),
  }
}

const rank: Record<PodState, number> = { failed: 0, 'in progress': 1, new: 2, old: 3 }
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** What went wrong, while that is what counts. */
function failureIn({ status }: SidecarRollout): RolloutFailure | undefined {
  const { failure, phase } = status ?? {}
  return phase === 'Stopped' || phase === 'RollingBack' || phase === 'RolledBack' ? failure : undefined
}

function whyOf(rollout: SidecarRollout): string {
  const failure = failureIn(rollout)
  if (failure === undefined) {
    return rollout.status?.conditions.find(({ type }) => type === 'Progressing')?.message ?? ''
  }
  const where = [failure.pod, failure.node && `on ${failure.node}`].filter(Boolean).join(' ')
  return `${failure.reason}${where ? ` (${where})` : ''}: ${failure.message}`
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

interface Beside {
  readonly former: PodView | undefined
  readonly failure: RolloutFailure | undefined
  readonly now: number
}

function podView({ pod, container, touch, updated, inProgress, ...member }: Member, beside: Beside): PodView {
  const { failure } = beside
  const failed = updated && member.state.is !== 'done' && failure?.pod === pod.name
  const judged: SidecarState = failed
    ? { is: 'failed', reason: failure.reason, message: failure.message }
    : member.state
  const state = stateOf(judged, { updated, inProgress })
  const detail = detailOf(judged, state)
  const base = { name: pod.name, node: pod.node ?? '', state, image: container.image, detail }
  if (touch === undefined) return base
  const took = tookOf(pod, { container, judged, touched: touch.at }, beside)
  return { ...base, touched: new Date(touch.at).toISOString(), ...(took !== undefined && { took: Math.max(0, took) }) }
}

function tookOf(
  pod: SeenPod,
  { container, judged, touched }: { container: SeenContainer; judged: SidecarState; touched: number },
  { former, failure, now }: Beside,
): number | undefined {
  if (judged.is === 'failed' && failure?.pod === pod.name) return Date.parse(failure.time) - touched
  if (judged.is !== 'done' && judged.is !== 'settling') return now - touched
  const changed = pod.ready ? pod.readyChanged : 0
  // A pod that stays ready all the while: only who has watched it knows.
  const watched = former !== undefined && (former.image !== container.image || former.took !== undefined)
  if (!watched && changed < touched) return undefined
  return Math.max(watched ? (container.status?.readySince ?? 0) : 0, changed) - touched
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
