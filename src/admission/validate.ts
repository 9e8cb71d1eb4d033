import { allowed, refused, type Validity } from './decision.ts'
import { type Absent, type Examined, examine, mayRefuse, requires } from './examine.ts'
import { unwrapEnd } from './hook/end.ts'
import { sameHook } from './hook/hook.ts'
import { lockedBy, lockOf } from './hook/lock-names.ts'
import { openedBy, unwrap } from './hook/unwrap.ts'
import { withoutLease } from './hook/waiter.ts'
import type { Configuration } from './intent/configuration.ts'
import type { Plan } from './plan/plan.ts'
import type { Container, Hook, Spec } from './pod/pod.ts'
import { isOfAnother } from './pod/status.ts'
import type { Surroundings } from './pod/surroundings.ts'
import type { Problem } from './words/messages.ts'

/**
 * Checks the final pod, after every injector: an annotated pod, or one under an enforced rule, is only let through if its sidecars are
 * there, in order, with their hooks. Never throws.
 */
export function validate(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Validity {
  if (configuration.mode === 'observe') return allowed
  const context = { configuration, surroundings: { ...surroundings, asker: 'final' } } as const
  const reasons = objections(examine(pod, context), configuration)
  return reasons.length === 0 ? allowed : refused(reasons)
}

function objections(examined: Examined, configuration: Configuration): readonly Problem[] {
  if (examined.kind === 'left' || !mayRefuse(examined, configuration)) return []
  switch (examined.kind) {
    case 'invalid':
      return examined.problems
    case 'planned':
      return [
        ...(requires(examined, configuration) ? missing(examined.absent) : []),
        ...shortfalls(examined, configuration),
      ]
    default:
      return examined satisfies never
  }
}

/** Why the final pod is refused for what it lacks. */
export const missing = (absent: readonly Absent[]): readonly Problem[] =>
  absent.map(({ key, name, near }) =>
    near === undefined ? { kind: 'container-missing', key, name } : { kind: 'container-misspelt', key, name, near },
  )

function shortfalls(
  { plan, pod: { metadata, spec }, binding }: Extract<Examined, { kind: 'planned' }>,
  { version }: Configuration,
): readonly Problem[] {
  const { order, delivery, lock, ends } = plan
  const enforced = binding === 'enforced'
  // Replicas of two versions answer side by side during an upgrade, and those of two configurations during a change. What one has written the
  // other is asked about.
  const lenient = !enforced && isOfAnother(version, metadata.annotations)
  const hooks = [...plan.hooks].filter(([{ postStart }, hook]) => {
    if (hook !== undefined && sameHook(postStart, withoutLease(hook))) return false
    const mayDiffer = lenient || (!enforced && hook !== undefined)
    return !(mayDiffer && holdsToo(postStart, hook))
  })
  const startupProbes = lenient ? [] : [...plan.startupProbes]
  const found: readonly Problem[] = [
    ...misplaced(order.initContainers, spec.initContainers, 'initContainers'),
    ...misplaced(order.containers, spec.containers, 'containers'),
    ...hooks.map(([{ name, postStart }, hook]): Problem => {
      if (hook === undefined) return { kind: 'hook-left-over', name }
      const isAltered = sameHook(withoutLease(postStart), withoutLease(hook))
      return isAltered ? { kind: 'lease-differs', name } : { kind: 'hook-missing', name }
    }),
    ...startupProbes.map(([{ name }, { kind: wanted }]) => ({ kind: 'startup-probe-differs', name, wanted }) as const),
    ...delivery.mounts.map(({ name }) => ({ kind: 'mount-missing', name }) as const),
    ...(delivery.volume ? [{ kind: 'volume-missing', image: delivery.volume.kind === 'image' } as const] : []),
    ...(delivery.initContainer === undefined ? [] : [{ kind: 'installer-missing' } as const]),
    ...lockShortfalls(spec, lock, lenient),
    ...endShortfalls(ends, enforced),
  ]
  return found.length === 0 ? [] : [...found, { kind: 'changed-later' }]
}

/** `lenient`: another version may lock what this one doesn't, or the other way round. What counts is that each lock has a hook that opens it. */
function lockShortfalls(spec: Spec, lock: Plan['lock'], lenient: boolean): readonly Problem[] {
  const stuck = neverOpened(spec)
  const wrong = lenient ? stuck : new Set([...lock.variables.keys(), ...stuck])
  const variables = [...wrong].map(({ name }) => ({ kind: 'variable-wrong', name }) as const)
  const { volume, mounts, installer } = lock
  if (lenient) return volume === undefined || volume === 'absent' ? variables : [{ kind: 'lock-missing' }, ...variables]
  return [
    ...(volume === undefined ? [] : [{ kind: 'lock-missing' } as const]),
    ...mounts.map(({ name }) => ({ kind: 'lock-mount-missing', name }) as const),
    ...(installer === undefined ? [] : [{ kind: 'reset-missing' } as const]),
    ...variables,
  ]
}

/** One that is no longer needed waits for nothing. */
function endShortfalls({ hooks, mounts }: Plan['ends'], enforced: boolean): readonly Problem[] {
  // A replica with another configuration may have written another limit.
  const holdsToo = (present: ReturnType<Container['preStop']>, wanted: Hook) =>
    !enforced && present !== 'unreadable' && unwrapEnd(present)?.ours === unwrapEnd(wanted)?.ours
  const missing = [...hooks].filter(([{ preStop }, hook]) => {
    return hook !== undefined && unwrapEnd(hook)?.ours !== undefined && !holdsToo(preStop(), hook)
  })
  return [
    ...missing.map(([{ name }]) => ({ kind: 'end-hook-missing', name }) as const),
    ...mounts.map(({ name }) => ({ kind: 'end-mount-missing', name }) as const),
  ]
}

/** What waits for a lock that no hook opens: a replica of 0.1 that is called again writes its own hook, and leaves the variable. */
function neverOpened({ initContainers, containers, volumes }: Spec): readonly Container[] {
  const all = [...initContainers, ...containers]
  const isLock = lockedBy(volumes)
  const opened = new Set(all.map(({ postStart }) => openedBy(postStart)))
  return all.filter(({ variables }) =>
    variables().some((each) => {
      const key = lockOf(each)
      return isLock(each) && (key === undefined || !opened.has(key))
    }),
  )
}

/** Whether a hook of ours waits for the same containers as the one that is wanted, in whatever way; where none is wanted, it only holds longer. */
function holdsToo(present: Hook | undefined, wanted: Hook | undefined): boolean {
  const found = unwrap(present)
  if (found?.ours !== true) return false
  return wanted === undefined || found.waitsFor.join() === unwrap(wanted)?.waitsFor.join()
}

/** The first container of a list that comes too late, and what is in its place. */
function misplaced(
  wanted: readonly Container[],
  present: readonly Container[],
  list: Container['list'],
): readonly Problem[] {
  const place = wanted.findIndex((container, index) => container !== present[index])
  const late = wanted[place]
  if (late === undefined) return []
  const { name } = late
  if (late.list !== list) return [{ kind: 'wrong-list', name, list }]
  return [{ kind: 'wrong-place', name, place: `spec.${list}[${place}]`, instead: present[place]?.name }]
}
