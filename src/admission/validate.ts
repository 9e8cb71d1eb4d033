import { allowed, refused, type Validity } from './decision.ts'
import { type Examined, examine } from './examine.ts'
import type { Configuration } from './intent/configuration.ts'
import type { Container } from './pod/pod.ts'
import type { Surroundings } from './pod/surroundings.ts'
import type { Problem, Warning } from './words/messages.ts'

/**
 * Checks the final pod, after every injector: an annotated pod, or one under an enforced rule, is only let through if its sidecars are
 * there, in order, with their hooks. Never throws.
 */
export function validate(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Validity {
  const { mode, invalid } = configuration
  if (mode === 'observe' || invalid === 'warn') return allowed
  const reasons = objections(examine(pod, { configuration, surroundings }))
  return reasons.length === 0 ? allowed : refused(reasons)
}

function objections(examined: Examined): readonly (Problem | Warning)[] {
  switch (examined.kind) {
    case 'left':
      return []
    case 'invalid':
      return examined.binding ? examined.problems : []
    case 'planned':
      return examined.binding ? [...examined.absent, ...shortfalls(examined)] : []
    default:
      return examined satisfies never
  }
}

function shortfalls({ plan, pod: { spec } }: Extract<Examined, { kind: 'planned' }>): readonly Problem[] {
  const { order, hooks, startupProbes, delivery, lock } = plan
  const found: readonly Problem[] = [
    ...misplaced(order.initContainers, spec.initContainers, 'initContainers'),
    ...misplaced(order.containers, spec.containers, 'containers'),
    ...[...hooks].map(([{ name }, hook]) => ({ kind: hook ? 'hook-missing' : 'hook-left-over', name }) as const),
    ...[...startupProbes].map(
      ([{ name }, { kind: wanted }]) => ({ kind: 'startup-probe-differs', name, wanted }) as const,
    ),
    ...delivery.mounts.map(({ name }) => ({ kind: 'mount-missing', name }) as const),
    ...(delivery.volume ? [{ kind: 'volume-missing' } as const] : []),
    ...(delivery.initContainer === undefined ? [] : [{ kind: 'installer-missing' } as const]),
    ...(lock.volume === undefined ? [] : [{ kind: 'lock-missing' } as const]),
    ...lock.mounts.map(({ name }) => ({ kind: 'lock-mount-missing', name }) as const),
    ...(lock.installer === undefined ? [] : [{ kind: 'reset-missing' } as const]),
    ...[...lock.variables].map(([{ name }]) => ({ kind: 'variable-wrong', name }) as const),
  ]
  return found.length === 0 ? [] : [...found, { kind: 'changed-later' }]
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
