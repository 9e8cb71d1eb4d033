import { sameHook, waiterHook } from '../hook/hook.ts'
import { type WaiterSpec, waiterName, waiterPath, withoutLease } from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import type { Intent } from '../intent/intent.ts'
import type { Container, Hook, Pod, Spec } from '../pod/pod.ts'
import { readStatus } from '../pod/status.ts'
import { keys } from '../words/keys.ts'
import type { Problem } from '../words/messages.ts'

/**
 * The version of before 0.2 whose waiter stays in the pod: `inject` wrote it into a template. Its status says so; a mirror's image alone doesn't.
 * Where a rule is enforced, nothing that a pod says counts.
 */
export function olderWaiter(
  { metadata, spec }: Pod,
  { enforced }: Intent,
  configuration: Configuration,
): string | undefined {
  if (enforced) return undefined
  const image = waiterImageIn(spec)
  if (!image || image === configuration.waiter.image) return undefined
  const { version } = readStatus(metadata.annotations.get(keys.status))
  const isOlder = typeof version === 'string' && version !== configuration.version && /^0\.[01]\./.test(version)
  return isOlder ? version : undefined
}

/**
 * Under an enforced rule the hook is what we write, whatever waiter a template brings. One of before 0.2 refuses what it doesn't know, and the gate
 * would fail again and again, or never open.
 */
export function tooOldWaiter(
  { spec }: Pod,
  { enforced }: Intent,
  hooks: ReadonlyMap<Container, Hook>,
  ends: boolean,
  { waiter }: Configuration,
): readonly Problem[] {
  const image = enforced ? waiterImageIn(spec) : undefined
  if (!image || image === waiter.image || !/:v?0\.[01]\.[^/:@]*(?:@[^/@]*)?$/.test(image)) return []
  const isNew = [...hooks.values()]
    .map(specOf)
    .some((spec) => spec?.lock ?? spec?.checks.some(({ path }) => path !== undefined))
  return isNew || ends ? [{ kind: 'waiter-too-old', image }] : []
}

/** Whether the waiter in the pod is known to know the end of a pod. */
export function knowsEnds({ spec }: Pod, { enforced }: Intent, { waiter }: Configuration): boolean {
  const image = enforced ? undefined : waiterImageIn(spec)
  return !image || image === waiter.image
}

function waiterImageIn({ initContainers, volumes }: Spec): string | undefined {
  const installer = initContainers.find(({ name }) => name === waiterName)
  return installer?.image ?? volumes.find(({ name }) => name === waiterName)?.imageReference
}

/** What a planned hook tells the waiter. */
function specOf(hook: Hook): WaiterSpec | undefined {
  if (hook.kind !== 'exec') return undefined
  const [program, , spec] = hook.command
  return program === waiterPath && spec !== undefined ? JSON.parse(spec) : undefined
}

/**
 * Hooks as the waiter in the pod takes them. One of before leases refuses a hook that tells of them, and its sidecar would be restarted for ever.
 * One of another image may be that, or a mirror: it is told of them only if it was before. An enforced rule's hook says all that the rule says.
 */
export function hooksForItsWaiter(
  { spec }: Pod,
  { enforced }: Intent,
  hooks: ReadonlyMap<Container, Hook>,
  { waiter }: Configuration,
): ReadonlyMap<Container, Hook> {
  const image = enforced ? undefined : waiterImageIn(spec)
  const isOurs = !image || image === waiter.image
  if (isOurs || [...spec.containers, ...spec.initContainers].some(({ postStart }) => tellsOfLease(postStart)))
    return hooks
  return new Map([...hooks].map(([container, hook]) => [container, withoutLease(hook) ?? hook]))
}

const tellsOfLease = (hook: Hook | undefined): boolean => !sameHook(hook, withoutLease(hook))

/** Hooks as a waiter of before 0.2 takes them. It refuses `path`, and asks what `check` says, which is as near to it as a check can be. */
export function hooksOfOlder(hooks: ReadonlyMap<Container, Hook>): ReadonlyMap<Container, Hook> {
  return new Map([...hooks].map(([container, hook]) => [container, withoutPaths(hook)]))
}

function withoutPaths(hook: Hook): Hook {
  const whole = specOf(hook)
  return whole === undefined ? hook : waiterHook({ ...whole, checks: whole.checks.map(({ path, ...check }) => check) })
}
