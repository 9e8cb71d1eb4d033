import type { Configuration } from './configuration.ts'
import type { Surroundings } from './decision.ts'
import { examine } from './examine.ts'
import type { Plan } from './plan.ts'
import type { Container, Spec } from './pod.ts'
import { printable } from './warning.ts'

/** Whether a pod may be created as it stands, or why not: every reason, each with what to do. */
export type Validity = { readonly valid: true } | { readonly valid: false; readonly reasons: readonly string[] }

/**
 * Checks the final pod, after every injector: an annotated pod, or one under an enforced rule, is let through only if its sidecars are
 * there, in order, with their hooks. Never throws.
 */
export function validate(
  pod: unknown,
  configuration: Configuration,
  surroundings: Surroundings = { job: false },
): Validity {
  const examined = examine(pod, configuration, surroundings)
  switch (examined.kind) {
    case 'left':
      return { valid: true }
    case 'invalid':
      return verdict(examined.binding ? examined.problems : [], configuration)
    case 'planned':
      return verdict(
        examined.binding ? [...examined.absent, ...shortfalls(examined.plan, examined.spec)] : [],
        configuration,
      )
    default:
      return examined satisfies never
  }
}

/** `observe` and `invalid: warn` never refuse. */
function verdict(reasons: readonly string[], { mode, invalid }: Configuration): Validity {
  if (reasons.length === 0 || mode === 'observe' || invalid === 'warn') return { valid: true }
  return { valid: false, reasons: reasons.map((reason) => printable(reason, 1024)) }
}

const advice =
  'another webhook may have changed the pod after sidecar-first, or sidecar-first was not called: run "sidecar-first check"'

function shortfalls({ order, hooks, delivery }: Plan, spec: Spec): readonly string[] {
  const { mounts, volume, initContainer } = delivery
  const found = [
    ...misplaced(order.initContainers, spec.initContainers, 'initContainers'),
    ...misplaced(order.containers, spec.containers, 'containers'),
    ...[...hooks].map(([{ name }, hook]) =>
      hook === undefined
        ? `${name} still has a hook of ours that no tier needs`
        : `${name} lacks the PostStart hook that holds the app back`,
    ),
    ...mounts.map(({ name }) => `${name} lacks the mount of the waiter that its hook runs`),
    ...(volume === undefined ? [] : ['the volume of the waiter is missing']),
    ...(initContainer === undefined ? [] : ['the init container that delivers the waiter is missing']),
  ]
  return found.length === 0 ? [] : [...found, advice]
}

/** The first container of a list that stands too late, and what stands in its place. */
function misplaced(
  wanted: readonly Container[],
  present: readonly Container[],
  list: Container['list'],
): readonly string[] {
  const place = wanted.findIndex((container, index) => container !== present[index])
  const late = wanted[place]
  if (late === undefined) return []
  const instead = present[place]
  if (late.list !== list) return [`${late.name} has to be in spec.${list} with restartPolicy: Always`]
  const before = instead === undefined ? '' : `, before ${instead.name}, which stands there`
  return [`${late.name} has to stand at spec.${list}[${place}]${before}`]
}
