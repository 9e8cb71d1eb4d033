import { isDeepStrictEqual } from 'node:util'
import type { Decision } from './next.ts'
import {
  type ConditionType,
  conditionTypes,
  type RolloutCondition,
  type RolloutStatus,
  type SidecarRollout,
} from './types.ts'

interface Finding {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** What the decision says to people and programs. @param trouble a call that fails and keeps the rollout from going on */
export function statusOf(
  { metadata, status: former }: SidecarRollout,
  decision: Decision,
  { now, trouble }: { now: number; trouble: string | undefined },
): RolloutStatus {
  const { counts, phase, failure, since } = decision
  const findings = findingsOf(decision, trouble)
  const before = new Map(former?.conditions.map((one) => [one.type, one]))
  const conditions = conditionTypes.flatMap((type): RolloutCondition[] => {
    const found = findings[type]
    if (!found) return []
    const was = before.get(type)
    const lastTransitionTime = was?.status === found.status ? was.lastTransitionTime : whole(now)
    return [{ type, ...found, observedGeneration: metadata.generation, lastTransitionTime }]
  })
  return {
    observedGeneration: metadata.generation,
    since: new Date(since).toISOString(),
    ...counts,
    phase,
    ...(failure && { failure }),
    conditions,
  }
}

/** Whether steps must wait until the API server has the new status: what is decided by it later may differ, and not by counts alone. */
export function differs(a: RolloutStatus | undefined, b: RolloutStatus): boolean {
  const kept = (status: RolloutStatus) => [
    status.observedGeneration,
    status.since,
    status.phase,
    status.failure,
    status.conditions.map(({ type, status: value, reason }) => [type, value, reason]),
  ]
  // Not as text: the API server has an order of its own for fields.
  return a === undefined || !isDeepStrictEqual(kept(a), kept(b))
}

const NAMED = 5
const named = (names: readonly string[]) =>
  names.slice(0, NAMED).join(', ') + (names.length > NAMED ? ` and ${names.length - NAMED} more` : '')

function findingsOf(
  { phase, reason, message, failure, completed, unfetchable, diverged }: Decision,
  trouble: string | undefined,
): Partial<Record<ConditionType, Finding>> {
  const moving = phase === 'Progressing' || phase === 'RollingBack'
  return {
    Progressing: {
      status: moving ? 'True' : 'False',
      reason: moving && trouble !== undefined ? 'CallFailed' : reason,
      message: moving && trouble !== undefined ? `${message}; ${trouble}` : message,
    },
    Completed: { status: completed ? 'True' : 'False', reason: completed ? 'Complete' : 'UnderWay', message: '' },
    Failed: failure
      ? { status: 'True', reason: failure.reason, message: `${where(failure)}: ${failure.message}` }
      : { status: 'False', reason: 'NoFailure', message: '' },
    Conflicting:
      phase === 'Waiting'
        ? { status: 'True', reason: 'ClaimedByAnother', message }
        : { status: 'False', reason: 'NoOther', message: '' },
    ...(unfetchable && {
      ImageFetched: {
        status: 'False',
        reason: 'NotFetchedAhead',
        message: `${named(unfetchable.nodes)} can't fetch images ahead (${unfetchable.why}); pods there go one at a time`,
      },
    }),
    ...(diverged.length > 0 && {
      Diverged: {
        status: 'True',
        reason: 'ChangedByAnother',
        message: `changed by somebody else and left alone until the spec changes: ${named(diverged)}`,
      },
    }),
  }
}

const where = ({ pod, node }: { pod?: string; node?: string }) =>
  [pod && `pod ${pod}`, node && `node ${node}`].filter(Boolean).join(' on ')

/** metav1.Time has whole seconds. */
const whole = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
