import { waiterHook } from '../hook/hook.ts'
import { type WaiterSpec, waiterName, waiterPath } from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import type { Intent } from '../intent/intent.ts'
import type { Container, Hook, Pod } from '../pod/pod.ts'
import { readStatus } from '../pod/status.ts'
import { keys } from '../words/keys.ts'

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
  const installer = spec.initContainers.find(({ name }) => name === waiterName)
  const image = installer?.image ?? spec.volumes.find(({ name }) => name === waiterName)?.imageReference
  if (!image || image === configuration.waiter.image) return undefined
  const { version } = readStatus(metadata.annotations.get(keys.status))
  const isOlder = typeof version === 'string' && version !== configuration.version && /^0\.[01]\./.test(version)
  return isOlder ? version : undefined
}

/** Hooks as that waiter takes them. It refuses `path`, and asks what `check` says, which is as near to it as a check can be. */
export function hooksOfOlder(hooks: ReadonlyMap<Container, Hook>): ReadonlyMap<Container, Hook> {
  return new Map([...hooks].map(([container, hook]) => [container, withoutPaths(hook)]))
}

function withoutPaths(hook: Hook): Hook {
  if (hook.kind !== 'exec') return hook
  const [program, , spec] = hook.command
  if (program !== waiterPath || spec === undefined) return hook
  const whole: WaiterSpec = JSON.parse(spec)
  return waiterHook({ ...whole, checks: whole.checks.map(({ path, ...check }) => check) })
}
