import type { Code } from '../../src/admission/words/values.ts'
import { selectorText } from '../../src/kubernetes/selector.ts'
import { rolloutCodes } from '../codes.ts'
import { type Member, membersOf, withContainer } from '../members.ts'
import { remember } from '../memory.ts'
import type { SeenPod } from '../seen-pod.ts'
import { patienceOf, type SidecarState } from '../sidecar-state.ts'
import {
  currentStatus,
  type RolloutFailure,
  type RolloutPhase,
  type RolloutStatus,
  type SidecarRollout,
} from '../types.ts'
import { nextStep } from './next-step.ts'

export type PodState = 'old' | 'in progress' | 'new' | 'failed'

export interface PodView {
  readonly name: string
  readonly node: string
  readonly state: PodState
  /** The image in its spec. */
  readonly image: string
  /** When the controller changed its image; undefined for a pod that it hasn't touched. */
  readonly touched: string | undefined
  /** From then until it was ready or failed, or until now, in ms; undefined if nobody saw it become ready: the API doesn't record that. */
  readonly took: number | undefined
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
  readonly code: Code | undefined
  /** The controller's message, or what went wrong. */
  readonly why: string
  /** What to do about it; empty if there is nothing to say. */
  readonly next: string
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
  const current = currentStatus(rollout)
  const failure = failureIn(current)
  const former = new Map(before?.pods.map((pod) => [pod.name, pod]))
  const having = withContainer(rollout, pods ?? [])
  const { all } = membersOf(rollout, having, remember(rollout, having), {
    // Whether a pod is late is for the controller to judge, which has seen it for longer.
    patience: { ...patienceOf(rollout, now, () => undefined), deadline: Number.POSITIVE_INFINITY },
    isKnown: () => current?.phase === 'Complete',
  })
  const rows = all.map((member) => podView(member, { former: former.get(member.pod.name), failure, now }))
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    container: spec.container,
    selector: selectorText(spec.selector),
    image: spec.image,
    phase: current?.phase ?? 'Unseen',
    code: codeOf(current),
    why: whyOf(current),
    next: nextStep(rollout, current),
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

function codeOf(current: RolloutStatus | undefined): Code | undefined {
  if (!current) return rolloutCodes.unseen
  return current.phase === 'Stopped' || failureIn(current) ? rolloutCodes.failed : undefined
}

/** What went wrong, in the phases that a failure decides. */
function failureIn(current: RolloutStatus | undefined): RolloutFailure | undefined {
  const { failure, phase } = current ?? {}
  return phase === 'Stopped' || phase === 'RollingBack' || phase === 'RolledBack' ? failure : undefined
}

function whyOf(current: RolloutStatus | undefined): string {
  const failure = failureIn(current)
  if (!failure) {
    const stuck = current?.conditions.find(({ type, reason }) => type === 'Stalled' && reason === 'NoProgress')
    return (stuck ?? current?.conditions.find(({ type }) => type === 'Progressing'))?.message ?? ''
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

function podView(member: Member, beside: Beside): PodView {
  const { pod, container, note, updated, state: found } = member
  const blame = updated && found.is !== 'done' && beside.failure?.pod === pod.name ? beside.failure : undefined
  const judged: SidecarState = blame ? { ...blame, is: 'failed' } : found
  const took = note && tookOf(member, judged, note.at, beside)
  return {
    name: pod.name,
    node: pod.node ?? '',
    image: container.image,
    ...shownOf(judged, member),
    touched: note && new Date(note.at).toISOString(),
    took: took === undefined ? undefined : Math.max(0, took),
  }
}

function tookOf(
  { pod, container }: Member,
  judged: SidecarState,
  touched: number,
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

function shownOf(judged: SidecarState, { updated, inProgress }: Member): Pick<PodView, 'state' | 'detail'> {
  const { is } = judged
  if (is === 'failed') return { state: 'failed', detail: `${judged.reason}: ${judged.message}` }
  if (is === 'starting' && judged.lacks !== undefined) {
    return { state: 'in progress', detail: `the sidecar is ready, but ${judged.lacks}` }
  }
  if (is === 'done' && updated) return { state: 'new', detail: '' }
  return updated || inProgress ? { state: 'in progress', detail: details[is] } : { state: 'old', detail: '' }
}

const details: Readonly<Record<Exclude<SidecarState['is'], 'failed'>, string>> = {
  pending: 'not started yet',
  silent: 'its kubelet has not seen it yet',
  starting: 'not ready yet',
  settling: 'ready, not for long enough yet',
  done: '',
}
