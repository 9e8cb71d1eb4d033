import type { Context } from '../intent/context.ts'
import type { Intent } from '../intent/intent.ts'
import type { Container, Hook, Pod } from '../pod/pod.ts'
import type { Problem, Warning } from '../words/messages.ts'
import { gatesOf, planGates } from './gate.ts'
import { type LineUp, lineUp } from './line-up.ts'
import { type Lock, noLock, planLock } from './lock.ts'
import { lockingOf, withoutLock } from './lock-choice.ts'
import { type Order, startOrder } from './order.ts'

/** What holds the app back: the sidecars in their order, the hooks of their gates, and the lock where there is one. */
interface Hold {
  readonly lined: LineUp
  readonly order: Order
  readonly hooks: ReadonlyMap<Container, Hook>
  readonly lock: Lock
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

export function planHold(pod: Pod, intent: Intent, context: Context): Hold {
  const locking = lockingOf(pod, intent, context)
  switch (locking.kind) {
    case 'off':
      return withWarnings(open(pod, intent), locking.notes)
    case 'impossible': {
      const hold = open(pod, intent)
      return { ...hold, problems: [...hold.problems, locking.problem] }
    }
    case 'on':
      return locked(pod, intent, { regardless: locking.regardless, asker: context.surroundings.asker })
    default:
      return locking satisfies never
  }
}

function open(pod: Pod, intent: Intent): Hold {
  const { lined, problems, warnings } = lineUp(pod, intent, 'no')
  const order = startOrder(lined)
  const lock = noLock(order, lined)
  const gates = planGates(gatesOf(lined), lined, lock.openings)
  return { lined, order, hooks: gates.hooks, lock, problems: [...problems, ...gates.problems], warnings }
}

/** Locked, or open if there is nothing to lock, or if nobody asks for a lock and it is in the way of something. */
function locked(
  pod: Pod,
  intent: Intent,
  { regardless, asker }: { regardless: boolean; asker: Context['surroundings']['asker'] },
): Hold {
  const { choice } = intent.lock
  const { lined, warnings, ...found } = lineUp(pod, intent, choice === 'on' ? 'asked' : 'by-default')
  const all = gatesOf(lined)
  const why = withoutLock(all, pod, { choice, regardless })
  if (why !== undefined) return withWarnings(open(pod, intent), why === 'unasked' ? [] : [{ kind: 'no-lock', why }])
  const order = startOrder(lined)
  const lock = planLock(all, order, lined, asker)
  const gates = planGates(all, lined, lock.openings)
  const problems = [...found.problems, ...gates.problems, ...lock.problems]
  const hold: Hold = { lined, order, hooks: gates.hooks, lock, problems, warnings }
  const [problem] = problems
  if (problem === undefined || regardless || intent.enforced) return hold
  const without = open(pod, intent)
  return without.problems.length > 0 ? hold : withWarnings(without, [{ kind: 'lock-in-the-way', problem }])
}

function withWarnings(hold: Hold, more: readonly Warning[]): Hold {
  return more.length === 0 ? hold : { ...hold, warnings: [...hold.warnings, ...more] }
}
