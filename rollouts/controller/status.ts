import { isDeepStrictEqual } from 'node:util'
import {
  type ConditionType,
  conditionTypes,
  type RolloutCondition,
  type RolloutFailure,
  type RolloutStatus,
  type SidecarRollout,
} from '../types.ts'
import type { Decision } from './decision.ts'
import { firstNames } from './first-names.ts'
import { placeOf, refusalsOf } from './phase-rules.ts'

interface Finding {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** Nobody but this controller writes the status, as a rule. What of another's would be missed is taken as never written. */
export function withWholeStatus(rollout: SidecarRollout): SidecarRollout {
  const { status } = rollout
  if (!status) return rollout
  const { conditions, since }: Partial<RolloutStatus> = status
  if (Array.isArray(conditions) && !Number.isNaN(Date.parse(since ?? ''))) return rollout
  return { ...rollout, status: { ...status, conditions: [], observedGeneration: 0 } }
}

/** What the decision says to people and programs. @param trouble a call that fails and keeps the rollout from continuing */
export function statusOf(
  { metadata, status: former }: SidecarRollout,
  decision: Decision,
  { now, trouble }: { now: number; trouble: string | undefined },
): RolloutStatus {
  const { counts, phase, failure, since, memory } = decision
  const findings = findingsOf(decision, trouble)
  const before = new Map(former?.conditions.map((one) => [one.type, one]))
  const conditions = conditionTypes.flatMap((type): RolloutCondition[] => {
    const found = findings[type]
    if (!found) return []
    const was = before.get(type)
    const lastTransitionTime = was?.status === found.status ? was.lastTransitionTime : whole(now)
    const message = cut(found.message)
    return [{ type, ...found, message, observedGeneration: metadata.generation, lastTransitionTime }]
  })
  return {
    observedGeneration: metadata.generation,
    since: new Date(since).toISOString(),
    ...counts,
    revisions: memory.revisions,
    ...(memory.origins && { origins: memory.origins }),
    phase,
    ...(failure && { failure: { ...failure, message: cut(failure.message) } }),
    conditions,
  }
}

/** A registry's or a policy's words may be of any length, and the API server takes no status with more than 32,768 characters of them. */
const LONGEST = 4000
const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST).toWellFormed()}…` : text)

/** Whether steps must wait until the API server has the new status: more has changed than how far it is, and what holds it for a moment. */
export function differs(a: RolloutStatus | undefined, b: RolloutStatus): boolean {
  const kept = (status: RolloutStatus) => [
    status.observedGeneration,
    status.since,
    status.phase,
    status.failure,
    // That one more has baked is written with what comes next; that the first have, before others are touched.
    status.revisions?.map((one) => ({ ...one, bakedUntil: one.bakedUntil !== undefined })),
    status.origins,
    status.conditions.map(({ type, status: value, reason }) => [type, value, reason === 'CallFailed']),
  ]
  // Not compared as text: the API server orders fields in its own way.
  return a === undefined || !isDeepStrictEqual(kept(a), kept(b))
}

/** Whether nothing is to be written: that one more pod has baked goes with what comes next. */
export function isSaid(a: RolloutStatus | undefined, b: RolloutStatus): boolean {
  const was = a?.revisions?.at(-1)?.bakedUntil
  const revisions = b.revisions?.map((one, at, { length }) =>
    at === length - 1 && was !== undefined ? { ...one, bakedUntil: was } : one,
  )
  return isDeepStrictEqual(a, { ...b, ...(revisions && { revisions }) })
}

function findingsOf(
  decision: Decision,
  trouble: string | undefined,
): Readonly<Record<ConditionType, Finding | undefined>> {
  const {
    phase,
    reason,
    message,
    failure,
    failing,
    completed,
    unfetchable,
    unfetched,
    leftAlone,
    denied,
    excused,
    behind,
    unneeded,
  } = decision
  const moving = phase === 'Progressing' || phase === 'RollingBack'
  const said = moving && trouble !== undefined ? `${message}; ${trouble}` : message
  const why = moving && trouble !== undefined ? 'CallFailed' : reason
  const stalled = isStalled(decision)
  const as = (value: boolean): Finding => ({ status: value ? 'True' : 'False', reason: why, message: said })
  const some = (names: readonly string[], name: string, text: string) =>
    names.length === 0 ? undefined : finding('True', name, `${text}: ${firstNames(names)}`)
  return {
    Ready: as(phase === 'Complete'),
    Reconciling: as(moving && !stalled),
    Stalled:
      failure && stalled
        ? finding('True', failure.reason, `${placeOf(failure)}: ${failure.message}`)
        : decision.stuck
          ? finding('True', 'NoProgress', `nothing happens for longer than a pod may take: ${said}`)
          : as(stalled),
    Progressing: as(moving),
    Completed: completed
      ? finding('True', 'Complete', 'this generation has reached its share')
      : finding('False', 'NotYet', 'this generation has not reached its share yet'),
    Failed: failure
      ? finding('True', failure.reason, `${placeOf(failure)}: ${failure.message}`)
      : failing.length > 0
        ? finding('False', 'FewFailures', `pods that fail, which stops nothing: ${firstNames(failing.map(shortly))}`)
        : finding('False', 'NoFailure', 'nothing has failed'),
    Conflicting:
      phase === 'Waiting'
        ? finding('True', 'ClaimedByAnother', message)
        : finding('False', 'NoOther', 'no older rollout upgrades this container'),
    ImageFetched: unfetched
      ? finding('False', 'PullFails', `${firstNames(unfetched.nodes)} can't pull the image yet (${unfetched.why})`)
      : unfetchable &&
        finding(
          'False',
          'NotFetchedAhead',
          `${firstNames(unfetchable.nodes)} can't fetch images ahead (${unfetchable.why}); pods there go one at a time`,
        ),
    Superseded: some(
      leftAlone.superseded,
      'OtherImage',
      'left alone, since they have an image that is not to be replaced',
    ),
    Refused:
      leftAlone.refused.length === 0
        ? undefined
        : finding('True', denied.length > 0 ? 'Denied' : 'PutBack', refusalsOf(decision)),
    Silent: some(leftAlone.silent, 'KubeletSilent', 'their kubelets do not answer'),
    Held: some(
      excused,
      'OtherCause',
      'not ready for what does not seem to be the new sidecar, so they have twice the deadline',
    ),
    NodesTooOld: some(leftAlone.tooOld, 'NoObservedGeneration', 'left alone, since their kubelets are older than 1.34'),
    TemplateBehind: some(behind, 'OldTemplate', 'their templates still have an image that is replaced here'),
    Unneeded: unneeded
      ? finding('True', 'NoPodNeedsIt', 'no pod has an image from here any more: the rollout can be deleted')
      : phase === 'Complete'
        ? finding('False', 'PodsNeedIt', 'pods have their image from here, and new ones may need it')
        : finding('False', 'NotYet', 'not complete'),
  }
}

const shortly = (failure: RolloutFailure) => `${placeOf(failure)} (${failure.reason})`

const finding = (status: Finding['status'], reason: string, message: string): Finding => ({ status, reason, message })

/** Whether it needs somebody. */
function isStalled({ phase, failing, denied, stuck }: Decision): boolean {
  switch (phase) {
    case 'Stopped':
    case 'RolledBack':
    case 'Waiting':
    case 'Paused':
      return true
    case 'RollingBack':
      return stuck || failing.length > 0 || denied.length > 0
    case 'Progressing':
      return stuck
    case 'Complete':
      return false
    default:
      return phase satisfies never
  }
}

/** metav1.Time has whole seconds. */
const whole = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
