import { formatDuration, waitRange } from '../check/duration.ts'
import { formatCheck, isCommand } from '../check/grammar.ts'
import { beforeJson, waiterHook } from '../hook/hook.ts'
import { type ShellBefore, type ShellCheck, shellHook, shellPolls } from '../hook/shell.ts'
import { mostArgument, type SpecCheck, type WaiterSpec } from '../hook/waiter.ts'
import type { Sidecar } from '../intent/intent.ts'
import type { Container, Hook } from '../pod/pod.ts'
import { isWithin } from '../words/json.ts'
import { keys } from '../words/keys.ts'
import type { Problem } from '../words/messages.ts'
import { canCarry, type LineUp, type Member, startsNative, waits } from './line-up.ts'
import { asciiHost, portNumber, unsendableHeader } from './resolve.ts'
import { secondsOf } from './startup-probe.ts'

/** A hook that was to be made, or what is wrong with what it is made from. */
interface Made {
  readonly hook?: Hook
  readonly problems: readonly Problem[]
}

/** The sidecars of a tier that one hook waits for. */
export interface HookGroup {
  readonly members: readonly Member[]
  /** The last that can have it. */
  readonly carrier: Member | undefined
}

/** Native sidecars have started before any regular container exists, so a tier's native sidecars are waited for among themselves. */
export function hookGroups({ tiers, intent }: LineUp): readonly HookGroup[] {
  return tiers.flatMap((tier) =>
    [true, false].map((native) => {
      const members = tier.filter((member) => startsNative(member, intent) === native)
      return { members, carrier: members.findLast(canCarry) }
    }),
  )
}

/** The hooks that hold the app back: one for each group, on its last container, waiting for all of it. */
export function planGates(lined: LineUp): {
  readonly hooks: ReadonlyMap<Container, Hook>
  readonly problems: readonly Problem[]
} {
  const hooks = new Map<Container, Hook>()
  const problems: Problem[] = []
  for (const { members, carrier } of hookGroups(lined)) {
    if (carrier === undefined || !members.some(waits)) continue
    const made = tierHook(members, carrier, lined.intent.delivery)
    if (made.hook !== undefined) hooks.set(carrier.container, made.hook)
    problems.push(...made.problems)
  }
  return { hooks, problems }
}

function tierHook(members: readonly Member[], carrier: Member, delivery: LineUp['intent']['delivery']): Made {
  const polled = members.filter(({ resolved }) => resolved.kind === 'polled')
  const own = carrier.resolved.kind === 'hook' ? carrier.resolved.command : undefined
  if (own !== undefined && polled.length === 0) return { hook: { kind: 'exec', command: own }, problems: [] }
  const before: Hook | undefined = own === undefined ? carrier.original : { kind: 'exec', command: own }
  const wrong = (kind: 'tcp-hook' | 'hook-cannot-run'): Made => {
    return { problems: [{ kind, name: carrier.sidecar.name, path: keys.existingHook }] }
  }
  if (before?.kind === 'tcpSocket') return wrong('tcp-hook')
  if (before?.kind === 'exec' && !isCommand(before.command)) return wrong('hook-cannot-run')
  const made = delivery === 'shell' ? shellTierHook(polled, carrier, before) : waiterTierHook(polled, carrier, before)
  if (made.hook?.kind !== 'exec' || made.hook.command.every((word) => isWithin(mostArgument, word))) return made
  return {
    problems: [...made.problems, { kind: 'hook-too-large', name: carrier.sidecar.name, ...largest(polled, before) }],
  }
}

/** What makes a hook so large. */
function largest(polled: readonly Member[], before: Hook | undefined): { cause: string; path: string } {
  const parts = polled.map(({ sidecar, resolved }) => {
    return { cause: `the check of ${sidecar.name}`, path: sidecar.checkSource, size: JSON.stringify(resolved).length }
  })
  if (before !== undefined) {
    const size = JSON.stringify(beforeJson(before)).length
    parts.push({ cause: 'the PostStart hook that it already has', path: keys.existingHook, size })
  }
  const { cause, path } = parts.reduce((most, part) => (part.size > most.size ? part : most))
  return { cause, path }
}

function waiterTierHook(polled: readonly Member[], carrier: Member, before: Hook | undefined): Made {
  const resolved = before?.kind === 'httpGet' ? resolveHttpGet(before, carrier) : { hook: before, problems: [] }
  const spec: WaiterSpec = {
    v: 1,
    checks: polled.map(specCheck),
    ...(resolved.hook === undefined ? {} : { before: beforeJson(resolved.hook) }),
    message: carrier.container.terminationMessagePath,
  }
  return { hook: waiterHook(spec), problems: resolved.problems }
}

function shellTierHook(
  polled: readonly Member[],
  { sidecar: { name }, container }: Member,
  before: Exclude<Hook, { kind: 'tcpSocket' }> | undefined,
): Made {
  const problems: Problem[] = []
  const chained: ShellBefore | undefined = before?.kind === 'httpGet' ? undefined : before
  if (before !== chained) problems.push({ kind: 'shell-http-hook', name, path: keys.waiter })
  const checks: ShellCheck[] = []
  for (const { resolved, sidecar, container } of polled) {
    if (resolved.kind !== 'polled') continue
    const { check, headers, attemptTimeout, successes } = resolved
    const timeout = timeoutOf(sidecar, container)
    const rest = { container: sidecar.name, headers, attemptTimeout, successes, onTimeout: sidecar.onTimeout, timeout }
    if (shellPolls(check)) checks.push({ check, ...rest })
    else problems.push({ kind: 'shell-check', name: sidecar.name, check: formatCheck(check), path: keys.waiter })
  }
  return { hook: shellHook(checks, chained, container.terminationMessagePath), problems }
}

/** Hooks may name ports, and the waiter only knows numbers. */
function resolveHttpGet(hook: Extract<Hook, { kind: 'httpGet' }>, { container, sidecar: { name } }: Member): Made {
  const port = portNumber(hook.port, container)
  const header = unsendableHeader(hook.httpHeaders)
  const problems: Problem[] = []
  if (port === undefined) problems.push({ kind: 'hook-port-missing', name, port: String(hook.port) })
  if (header !== undefined) problems.push({ kind: 'hook-header-unsendable', name, header: header.name })
  return { hook: { ...hook, host: asciiHost(hook.host), port: port ?? hook.port }, problems }
}

function specCheck(member: Member): SpecCheck {
  const { sidecar, container, resolved } = member
  if (resolved.kind !== 'polled') throw new TypeError(`${sidecar.name} is not polled`)
  const timeout = timeoutOf(sidecar, container)
  // An attempt ends with the wait anyway.
  const attemptTimeout = Math.min(resolved.attemptTimeout * 1000, Math.max(timeout, 1000))
  return {
    container: sidecar.name,
    check: formatCheck(resolved.check),
    timeout: formatDuration(timeout),
    onTimeout: sidecar.onTimeout,
    ...(resolved.headers.length === 0 ? {} : { headers: resolved.headers }),
    ...(resolved.path === undefined ? {} : { path: resolved.path }),
    ...(attemptTimeout === 1000 ? {} : { attemptTimeout: formatDuration(attemptTimeout) }),
    ...(resolved.successes === 1 ? {} : { successes: resolved.successes }),
  }
}

/** Milliseconds: what was asked for, else the default or the time that the startupProbe allows, whichever is longer. */
export function timeoutOf({ timeout, defaultTimeout }: Sidecar, { startupProbe }: Container): number {
  if (timeout !== undefined) return timeout
  if (startupProbe === undefined) return defaultTimeout
  return Math.min(Math.max(defaultTimeout, secondsOf(startupProbe) * 1000), waitRange.most)
}
