import { formatCheck, isCommand } from './check.ts'
import { formatDuration, longest as longestTimeout } from './duration.ts'
import { beforeJson, waiterHook } from './hook.ts'
import type { Intent, Sidecar } from './intent.ts'
import { keys } from './keys.ts'
import { type Member, startsNative, waits } from './members.ts'
import type { Container, Hook } from './pod.ts'
import { quote } from './quote.ts'
import { portNumber, unsendableHeader } from './resolve.ts'
import { type ShellBefore, shellHook, shellPolls } from './shell.ts'
import type { SpecCheck, WaiterSpec } from './waiter.ts'

/**
 * The hooks that hold the app back: one a tier, on the last container of the tier, waiting for all of it. Native sidecars have
 * started before any regular container exists, so a tier's are waited for among themselves.
 */
export function gateHooks(
  tiers: readonly (readonly Member[])[],
  intent: Intent,
  problems: string[],
): ReadonlyMap<Container, Hook> {
  const hooks = new Map<Container, Hook>()
  for (const tier of tiers) {
    for (const native of [true, false]) {
      const members = tier.filter((member) => startsNative(member, intent) === native)
      const carrier = members.findLast(({ kept }) => !kept)
      if (carrier === undefined || !members.some(waits)) continue
      const hook = tierHook(members, carrier, intent, problems)
      if (hook !== undefined) hooks.set(carrier.container, hook)
    }
  }
  return hooks
}

function tierHook(members: readonly Member[], carrier: Member, intent: Intent, problems: string[]): Hook | undefined {
  const polled = members.filter(({ resolved }) => resolved.kind === 'polled')
  const own = carrier.resolved.kind === 'hook' ? carrier.resolved.command : undefined
  if (own !== undefined && polled.length === 0) return { kind: 'exec', command: own }
  const before: Hook | undefined = own === undefined ? carrier.original : { kind: 'exec', command: own }
  if (before?.kind === 'tcpSocket') {
    problems.push(
      `${keys.existingHook}: ${carrier.sidecar.name} has a tcpSocket PostStart hook, which the kubelet always fails; remove it`,
    )
    return undefined
  }
  if (before?.kind === 'exec' && !isCommand(before.command)) {
    problems.push(
      `${keys.existingHook}: ${carrier.sidecar.name} has a PostStart hook that can't run: its program is empty or a word has a NUL; remove it`,
    )
    return undefined
  }
  const message = carrier.container.terminationMessagePath
  if (intent.delivery === 'shell') return shellTierHook(polled, carrier, before, message, problems)
  const resolvedBefore = before === undefined ? undefined : resolveHookPort(before, carrier, problems)
  const spec: WaiterSpec = {
    v: 1,
    checks: polled.map(specCheck),
    ...(resolvedBefore === undefined ? {} : { before: beforeJson(resolvedBefore) }),
    message,
  }
  return waiterHook(spec)
}

function shellTierHook(
  polled: readonly Member[],
  carrier: Member,
  before: Exclude<Hook, { kind: 'tcpSocket' }> | undefined,
  message: string,
  problems: string[],
): Hook | undefined {
  const chained: ShellBefore | undefined = before?.kind === 'httpGet' ? undefined : before
  if (before !== undefined && chained === undefined) {
    problems.push(
      `${keys.waiter}: the shell form can't chain the httpGet hook of ${carrier.sidecar.name}; use init-container`,
    )
  }
  const checks = polled.flatMap((member) => {
    const { resolved, sidecar, container } = member
    if (resolved.kind !== 'polled') return []
    if (!shellPolls(resolved.check)) {
      const written = formatCheck(resolved.check)
      problems.push(
        `${keys.waiter}: the shell form polls http and tcp only, and ${sidecar.name} has ${written}; use init-container`,
      )
      return []
    }
    const { check, headers, attemptTimeout, successes } = resolved
    const { onTimeout } = sidecar
    return [
      {
        container: sidecar.name,
        check,
        headers,
        attemptTimeout,
        successes,
        onTimeout,
        timeout: timeoutOf(sidecar, container),
      },
    ]
  })
  return shellHook(checks, chained, message)
}

/** Hooks name ports too, and the waiter knows numbers only. */
function resolveHookPort(hook: Hook, { container, sidecar }: Member, problems: string[]): Hook {
  if (hook.kind !== 'httpGet') return hook
  const port = portNumber(hook.port, container)
  const header = unsendableHeader(hook.httpHeaders)
  const its = `${sidecar.name}: its PostStart hook has`
  if (port === undefined) problems.push(`${its} the port ${quote(String(hook.port))}, which it doesn't have`)
  if (header !== undefined) problems.push(`${its} a header ${quote(header.name)} that HTTP can't carry`)
  return { ...hook, port: port ?? hook.port }
}

function specCheck(member: Member): SpecCheck {
  const { sidecar, container, resolved } = member
  if (resolved.kind !== 'polled') throw new TypeError(`${sidecar.name} is not polled`)
  return {
    container: sidecar.name,
    check: formatCheck(resolved.check),
    timeout: formatDuration(timeoutOf(sidecar, container)),
    onTimeout: sidecar.onTimeout,
    ...(resolved.headers.length === 0 ? {} : { headers: resolved.headers }),
    ...(resolved.attemptTimeout === 1 ? {} : { attemptTimeout: formatDuration(resolved.attemptTimeout * 1000) }),
    ...(resolved.successes === 1 ? {} : { successes: resolved.successes }),
  }
}

/** Milliseconds: what somebody said, else the default or the startupProbe's own patience, whichever is longer. */
export function timeoutOf({ timeout, defaultTimeout }: Sidecar, { startupProbe }: Container): number {
  if (timeout !== undefined) return timeout
  if (startupProbe === undefined) return defaultTimeout
  const { initialDelaySeconds, failureThreshold, periodSeconds } = startupProbe
  return Math.min(
    Math.max(defaultTimeout, (initialDelaySeconds + failureThreshold * periodSeconds) * 1000),
    longestTimeout,
  )
}
