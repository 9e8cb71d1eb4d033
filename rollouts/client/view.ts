import type { Code } from '../../src/admission/words/values.ts'
import { selectorText } from '../../src/kubernetes/selector.ts'
import { rolloutCodes } from '../codes.ts'
import { type Member, membersOf, withContainer } from '../members.ts'
import { remember } from '../memory.ts'
import type { SeenContainer, SeenPod } from '../seen-pod.ts'
import { patienceOf, type SidecarState } from '../sidecar-state.ts'
import type { RolloutFailure, RolloutPhase, RolloutStatus, SidecarRollout } from '../types.ts'

export type PodState = 'old' | 'in progress' | 'new' | 'failed'

export interface PodView {
  readonly name: string
  readonly node: string
  readonly state: PodState
  /** The image in its spec. */
  readonly image: string
  /** When the controller changed its image; absent for a pod that it hasn't touched. */
  readonly touched?: string
  /** From then until it was ready or failed, or until now, in ms; absent if nobody saw it become ready: the API doesn't record that. */
  readonly took?: number
  readonly detail: string
}

/** A rollout as shown to a person. */
export interface RolloutView {
  readonly name: string
  readonly namespace: string
  readonly container: string
  readonly selector: string
  readonly image: string
  /** `Unseen`: no controller has seen the current spec. */
  readonly phase: RolloutPhase | 'Unseen'
  /** Of what `check` finds of such a rollout. */
  readonly code?: Code
  /** The controller's message, or what went wrong. */
  readonly why: string
  readonly counts: Readonly<Record<PodState, number>>
  /** How many of the old pods stay on their image. */
  readonly staying: number
  /** Failed pods first, then those in progress, then the most recent; empty if pods can't be listed. */
  readonly pods: readonly PodView[]
}

/**
 * @param pods those that the selector matches, or undefined if they can't be listed: then the counts are the controller's
 * @param now by the API server's clock, in ms
 * @param before the previous view, while watching
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
  const having = withContainer(rollout, pods ?? [])
  const { all } = membersOf(rollout, having, remember(rollout, having), {
    // Whether a pod is late is for the controller to judge, which has seen it for longer.
    patience: { ...patienceOf(rollout, now), deadline: Number.POSITIVE_INFINITY },
    isSettled: () => seen && status.phase === 'Complete',
  })
  const rows = all.map((member) =>
    podView(member, { former: former.get(member.pod.name), failure: seen ? failureIn(rollout) : undefined, now }),
  )
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    container: spec.container,
    selector: selectorText(spec.selector),
    image: spec.image,
    phase: seen ? status.phase : 'Unseen',
    ...codeOf(seen, rollout),
    why: seen ? whyOf(rollout) : '',
    // Of one decision with the phase; before there is one, as the pods are.
    counts: status === undefined ? counted(rows) : reported(status),
    staying: Math.max(0, (status?.matched ?? 0) - (status?.desired ?? 0)),
    pods: rows.sort(
      (a, b) => rank[a.state] - rank[b.state] || compare(b.touched ?? '', a.touched ?? '') || compare(a.name, b.name),
    ),
  }
}

const rank: Record<PodState, number> = { failed: 0, 'in progress': 1, new: 2, old: 3 }
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function codeOf(seen: boolean, rollout: SidecarRollout): { readonly code?: Code } {
  if (!seen) return { code: rolloutCodes.unseen }
  const isOver = rollout.status?.phase === 'Stopped' || failureIn(rollout) !== undefined
  return isOver ? { code: rolloutCodes.failed } : {}
}

/** What went wrong, in the phases that a failure decides. */
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

function reported(status: RolloutStatus): Record<PodState, number> {
  const { matched, updated, updatedReady, failure, phase } = status
  const failed = phase === 'Stopped' && failure?.pod !== undefined ? 1 : 0
  const inProgress = Math.max(failed, status.inProgress, updated - updatedReady) - failed
  const old = Math.max(0, matched - updatedReady - inProgress - failed)
  return { old, 'in progress': inProgress, new: updatedReady, failed }
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

function podView({ pod, container, note, updated, inProgress, ...member }: Member, beside: Beside): PodView {
  const { failure } = beside
  const failed = updated && member.state.is !== 'done' && failure?.pod === pod.name
  const judged: SidecarState = failed
    ? { is: 'failed', reason: failure.reason, message: failure.message }
    : member.state
  const state = stateOf(judged, { updated, inProgress })
  const detail = detailOf(judged, state)
  const base = { name: pod.name, node: pod.node ?? '', state, image: container.image, detail }
  if (note === undefined) return base
  const took = tookOf(pod, { container, judged, touched: note.at }, beside)
  return { ...base, touched: new Date(note.at).toISOString(), ...(took !== undefined && { took: Math.max(0, took) }) }
}

function tookOf(
  pod: SeenPod,
  { container, judged, touched }: { container: SeenContainer; judged: SidecarState; touched: number },
  { former, failure, now }: Beside,
): number | undefined {
  if (judged.is === 'failed' && failure?.pod === pod.name) return Date.parse(failure.time) - touched
  if (judged.is !== 'done' && judged.is !== 'settling') return now - touched
  const changed = pod.ready ? pod.readyChanged : 0
  // The pod was ready all the while: only a watcher knows when the new container became ready.
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
  if (judged.is === 'settling') return 'ready, not for long enough yet'
  if (judged.is === 'silent') return 'its kubelet has not seen it yet'
  return judged.is === 'pending' ? 'not started yet' : 'not ready yet'
}
