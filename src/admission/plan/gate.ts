import { formatDuration, waitRange } from '../check/duration.ts'
import { formatCheck, isCommand } from '../check/grammar.ts'
import { beforeJson, sameHook, waiterHook } from '../hook/hook.ts'
import { lockFile } from '../hook/lock-names.ts'
import { type ShellBefore, type ShellCheck, shellHook, shellPolls } from '../hook/shell.ts'
import { type Asked, leaseOf, mostArgument, type SpecCheck, type SpecLock, type WaiterSpec } from '../hook/waiter.ts'
import type { Sidecar } from '../intent/intent.ts'
import type { Container, Hook } from '../pod/pod.ts'
import type { LockRestarts } from '../words/choices.ts'
import { isWithin } from '../words/json.ts'
import { keys } from '../words/keys.ts'
import { mostAnswer } from '../words/limits.ts'
import type { Problem } from '../words/messages.ts'
import { canCarry, charactersOf, type LineUp, type Member, startsNative, waits } from './line-up.ts'
import { asciiHost, portNumber, unsendableHeader } from './resolve.ts'
import { secondsOf } from './startup-probe.ts'

/** What holds the app back at a place: the hook of the last container of a tier's native sidecars, or of its regular ones. */
export interface Gate {
  readonly members: readonly Member[]
  readonly carrier: Member
  readonly native: boolean
}

/** What a gate's hook does for the lock that is behind it. */
export interface Opening {
  /** Counted from 1 in the order in which gates open. */
  readonly number: number
  /** What its file has to hold. */
  readonly key: string
  /** Of the gates before: they may have passed before a crash, so their checks are asked once more. */
  readonly earlier: readonly Member[]
  /** Milliseconds after which the hook returns and leaves the waiting to a process behind it; undefined: it blocks. */
  readonly handOver: number | undefined
  /** How long a later start waits, where the process behind the hook leases the file; undefined: it doesn't. */
  readonly restarts: LockRestarts | undefined
}

/** The sidecars of a tier that one hook waits for. */
export interface HookGroup {
  readonly members: readonly Member[]
  /** The last that can have it. */
  readonly carrier: Member | undefined
  readonly native: boolean
}

/** Native sidecars have started before any regular container exists, so a tier's native sidecars are waited for among themselves. */
export function hookGroups({ tiers, intent }: LineUp): readonly HookGroup[] {
  return tiers.flatMap((tier) =>
    [true, false].map((native) => {
      const members = tier.filter((member) => startsNative(member, intent) === native)
      return { members, carrier: members.findLast(canCarry), native }
    }),
  )
}

/** In the order of the tiers, those that have to be waited for. */
export function gatesOf(lined: LineUp): readonly Gate[] {
  return hookGroups(lined).flatMap(({ carrier, ...group }) =>
    carrier === undefined || !group.members.some(waits) ? [] : [{ ...group, carrier }],
  )
}

/** A hook that was to be made, or what is wrong with what it is made from. */
interface Made {
  readonly hook?: Hook
  readonly problems: readonly Problem[]
}

/** The hooks of the gates. `openings`: of those that open a lock. */
export function planGates(
  gates: readonly Gate[],
  { intent }: LineUp,
  openings: ReadonlyMap<Gate, Opening>,
): {
  readonly hooks: ReadonlyMap<Container, Hook>
  readonly problems: readonly Problem[]
} {
  const hooks = new Map<Container, Hook>()
  const problems: Problem[] = []
  // Each hook that is new stands in the answer, with the one that was there and the checks of all earlier gates.
  let characters = 0
  for (const gate of gates) {
    const { container } = gate.carrier
    const made = gateHook(gate, intent.delivery, openings.get(gate))
    if (made.hook !== undefined) {
      hooks.set(container, made.hook)
      if (!sameHook(container.postStart, made.hook)) characters += charactersIn(made.hook)
    }
    problems.push(...made.problems)
    if (characters <= mostAnswer) continue
    problems.push({ kind: 'answer-too-large', has: characters, most: mostAnswer })
    break
  }
  return { hooks, problems }
}

/** With the quotes and the comma of each word. */
export const charactersIn = (hook: Hook): number =>
  hook.kind === 'exec' ? hook.command.reduce((sum, { length }) => sum + length + 3, 0) : 0

function gateHook(
  { members, carrier }: Gate,
  delivery: LineUp['intent']['delivery'],
  opening: Opening | undefined,
): Made {
  const polled = members.filter(({ resolved }) => resolved.kind === 'polled')
  const own = carrier.resolved.kind === 'hook' ? carrier.resolved.command : undefined
  // Behind a lock, it runs inside ours, which opens the lock.
  if (own !== undefined && polled.length === 0 && opening === undefined) {
    return { hook: { kind: 'exec', command: own }, problems: [] }
  }
  const before: Hook | undefined = own === undefined ? carrier.original : { kind: 'exec', command: own }
  const wrong = (kind: 'tcp-hook' | 'hook-cannot-run'): Made => {
    return { problems: [{ kind, name: carrier.sidecar.name, path: keys.existingHook }] }
  }
  if (before?.kind === 'tcpSocket') return wrong('tcp-hook')
  if (before?.kind === 'exec' && !isCommand(before.command)) return wrong('hook-cannot-run')
  const parts = { polled, carrier, opening }
  const tooLarge = (): Problem => ({ kind: 'hook-too-large', name: carrier.sidecar.name, ...largest(parts, before) })
  // The waiter gets all of it in one argument. With a lock a gate has the checks of all before it, so building what can't fit adds up.
  if (delivery !== 'shell' && leastOf(parts) > mostArgument) return { problems: [tooLarge()] }
  const made = delivery === 'shell' ? shellGateHook(parts, before) : waiterGateHook(parts, before)
  if (made.hook?.kind !== 'exec' || made.hook.command.every((word) => isWithin(mostArgument, word))) return made
  return { problems: [...made.problems, tooLarge()] }
}

const leastOf = ({ polled, opening }: Parts): number =>
  [...polled, ...(opening?.earlier ?? [])].reduce((sum, { resolved }) => sum + charactersOf(resolved), 0)

/** What a hook of ours is made from. */
interface Parts {
  readonly polled: readonly Member[]
  readonly carrier: Member
  readonly opening: Opening | undefined
}

/** What makes a hook so large. */
function largest({ polled, opening }: Parts, before: Hook | undefined): { cause: string; path: string } {
  const parts = polled.map(({ sidecar, resolved }) => {
    return { cause: `the check of ${sidecar.name}`, path: sidecar.checkSource, size: charactersOf(resolved) }
  })
  if (before !== undefined) {
    const size = JSON.stringify(beforeJson(before)).length
    parts.push({ cause: 'the PostStart hook that it already has', path: keys.existingHook, size })
  }
  if (opening !== undefined) {
    const size = opening.earlier.reduce((sum, { resolved }) => sum + charactersOf(resolved), 0)
    parts.push({ cause: 'the checks of the tiers before it', path: keys.lock, size })
  }
  const { cause, path } = parts.reduce((most, part) => (part.size > most.size ? part : most))
  return { cause, path }
}

function waiterGateHook({ polled, carrier, opening }: Parts, before: Hook | undefined): Made {
  const resolved =
    before?.kind === 'httpGet' ? resolveHttpGet(before, carrier.container) : { hook: before, problems: [] }
  const spec: WaiterSpec = {
    v: 1,
    checks: polled.map(specCheck),
    ...(resolved.hook === undefined ? {} : { before: beforeJson(resolved.hook) }),
    message: carrier.container.terminationMessagePath,
    ...(opening === undefined ? {} : { lock: specLock(opening) }),
  }
  return { hook: waiterHook(spec), problems: resolved.problems }
}

function shellGateHook(
  { polled, carrier, opening }: Parts,
  before: Exclude<Hook, { kind: 'tcpSocket' }> | undefined,
): Made {
  const { name } = carrier.sidecar
  const problems: Problem[] = []
  const chained: ShellBefore | undefined = before?.kind === 'httpGet' ? undefined : before
  if (before !== chained) problems.push({ kind: 'shell-http-hook', name, path: keys.waiter })
  const checks = polled.flatMap((member) => {
    const { sidecar, resolved } = member
    const check = shellCheck(member, sidecar.onTimeout)
    if (check === undefined && resolved.kind === 'polled') {
      const written = formatCheck(resolved.check)
      problems.push({ kind: 'shell-check', name: sidecar.name, check: written, path: keys.waiter })
    }
    return check ?? []
  })
  const earlier = opening?.earlier.flatMap((member) => shellCheck(member, 'earlier') ?? []) ?? []
  const { terminationMessagePath } = carrier.container
  return { hook: shellHook([...checks, ...earlier], chained, terminationMessagePath, opening), problems }
}

function shellCheck(
  { resolved, sidecar, container }: Member,
  onTimeout: ShellCheck['onTimeout'],
): ShellCheck | undefined {
  if (resolved.kind !== 'polled' || !shellPolls(resolved.check)) return undefined
  const { check, headers, attemptTimeout, successes } = resolved
  const timeout = timeoutOf(sidecar, container)
  return { container: sidecar.name, check, headers, attemptTimeout, successes, onTimeout, timeout }
}

function specLock({ number, key, earlier, handOver, restarts }: Opening): SpecLock {
  return {
    file: lockFile(number),
    key,
    ...(earlier.length === 0 ? {} : { earlier: earlier.map(asked) }),
    ...(handOver === undefined ? {} : { handOver: formatDuration(handOver), ...leaseOf(restarts) }),
  }
}

/** Hooks may name ports, and the waiter only knows numbers. */
export function resolveHttpGet(hook: Extract<Hook, { kind: 'httpGet' }>, container: Container): Made {
  const { name } = container
  const port = portNumber(hook.port, container)
  const header = unsendableHeader(hook.httpHeaders)
  const problems: Problem[] = []
  if (port === undefined) problems.push({ kind: 'hook-port-missing', name, port: String(hook.port) })
  if (header !== undefined) problems.push({ kind: 'hook-header-unsendable', name, header: header.name })
  return { hook: { ...hook, host: asciiHost(hook.host), port: port ?? hook.port }, problems }
}

function specCheck(member: Member): SpecCheck {
  const { container, check, ...more } = asked(member)
  const { sidecar } = member
  const timeout = formatDuration(timeoutOf(sidecar, member.container))
  return { container, check, timeout, onTimeout: sidecar.onTimeout, ...more }
}

/** A check as the waiter asks it. */
function asked({ sidecar, container, resolved }: Member): Asked {
  if (resolved.kind !== 'polled') throw new TypeError(`${sidecar.name} is not polled`)
  // An attempt ends with the wait anyway.
  const attemptTimeout = Math.min(resolved.attemptTimeout * 1000, Math.max(timeoutOf(sidecar, container), 1000))
  return {
    container: sidecar.name,
    check: formatCheck(resolved.check),
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
