import { sameHook, unwrap } from './hook.ts'
import type { Intent, Sidecar } from './intent.ts'
import { keys } from './keys.ts'
import type { Container, Hook, Spec } from './pod.ts'
import { type Resolution, type Resolved, resolve } from './resolve.ts'
import type { Warning } from './warning.ts'

/** A sidecar that is there: what it asks for together with its container. */
export interface Member {
  readonly sidecar: Sidecar
  readonly container: Container
  readonly resolved: Resolved
  /** The hook that was there before ours. */
  readonly original: Hook | undefined
  /** `existing-hook: keep` leaves its own hook, so nothing of ours runs in it. */
  readonly kept: boolean
}

/** For each container the hook it had before ours. */
export type Originals = ReadonlyMap<Container, Hook>

/** Reads back what our hooks wrap. A hook of ours that can't be read is a problem: replacing it might lose somebody's hook. */
export function readOriginals(spec: Spec, problems: string[]): Originals {
  const originals = new Map<Container, Hook>()
  for (const container of [...spec.containers, ...spec.initContainers]) {
    if (container.postStart === undefined) continue
    const unwrapped = unwrap(container.postStart)
    if (!unwrapped.ok) problems.push(`container ${container.name} ${unwrapped.problem}`)
    else if (unwrapped.value.original !== undefined) originals.set(container, unwrapped.value.original)
  }
  return originals
}

/** The tiers with their containers, each in the order in which it has to stand. */
export function findMembers(
  intent: Intent,
  spec: Spec,
  originals: Originals,
  problems: string[],
  warnings: Warning[],
): readonly (readonly Member[])[] {
  const containers = new Map(
    [...spec.initContainers, ...spec.containers].map((container) => [container.name, container]),
  )
  const tiers = intent.tiers.map((tier) =>
    tier.flatMap((sidecar) => {
      const container = containers.get(sidecar.name)
      return container === undefined ? [] : findMember(sidecar, container, intent, originals, problems, warnings)
    }),
  )
  const moving = tiers.flat().filter(({ container }) => container.list === 'containers')
  if (intent.gate === 'native' && moving.length === spec.containers.length) {
    problems.push(
      `${keys.gate}: native would leave no app container: ${keys.sidecars} names them all; leave the app out`,
    )
  }
  return tiers.filter((members) => members.length > 0).map((members) => arrange(members, problems))
}

function findMember(
  sidecar: Sidecar,
  container: Container,
  { gate }: Intent,
  originals: Originals,
  problems: string[],
  warnings: Warning[],
): readonly Member[] {
  const { name } = sidecar
  if (container.list === 'initContainers' && container.restartPolicy !== 'Always') {
    problems.push(
      `${keys.sidecars}: ${name} is an init container that ends before the app starts; nothing has to wait for it`,
    )
    return []
  }
  if (gate === 'native' && container.list === 'containers' && container.restartPolicy !== '') {
    problems.push(`${keys.gate}: native sets a restartPolicy, and ${name} has one of its own; remove it or use hook`)
  }
  const original = originals.get(container)
  const resolution = original === undefined ? undefined : ownWait(sidecar, original)
  const { resolved, ...found } = resolution ?? resolve(sidecar, container)
  problems.push(...found.problems)
  // The hook that a `hook:` check asks for may be there already.
  const foreign =
    original !== undefined &&
    !(resolved.kind === 'hook' && sameHook(original, { kind: 'exec', command: resolved.command }))
  const policy = sidecar.existingHook
  if (foreign && resolved.kind === 'hook') {
    problems.push(`${sidecar.checkSource}: ${name} already has a different PostStart hook; remove one of the two`)
  } else if (foreign && policy === 'refuse') {
    problems.push(
      `${keys.existingHook}: ${name} has a PostStart hook, which "refuse" rules out; remove it or say chain`,
    )
  }
  const kept = foreign && policy === 'keep'
  if (!kept) warnings.push(...found.warnings)
  else if (resolved.kind !== 'none') {
    const text = `${name} keeps its own PostStart hook (${keys.existingHook}: keep), so it is not waited for`
    warnings.push({ severity: 'app-may-start-too-early', text })
  }
  return [{ sidecar, container, original, kept, resolved: kept ? { kind: 'none' } : resolved }]
}

/** A well-known sidecar whose own hook already waits is left as it is. */
function ownWait({ rule }: Sidecar, original: Hook): Resolution | undefined {
  const own = rule?.preset?.ownHook
  if (own === undefined || original.kind !== 'exec') return undefined
  // The command may be a shell's, so it is taken apart into words, each without its folder.
  const words = original.command
    .flatMap((argument) => argument.split(/[\s;&|]+/))
    .map((word) => word.replace(/^.*\//, ''))
  const runs = words.some((_, at) => own.every((word, offset) => words[at + offset] === word))
  if (!runs) return undefined
  return { resolved: { kind: 'hook', command: original.command }, problems: [], warnings: [] }
}

/** Whether a tier has to be waited for because of this one. */
export function waits({ resolved }: Member): boolean {
  return resolved.kind !== 'none'
}

/** Puts last the one that has to carry the tier's hook: its check, or a hook of its own, must run inside it. */
function arrange(members: readonly Member[], problems: string[]): readonly Member[] {
  if (!members.some(waits)) return members
  const inside = members.filter(
    ({ resolved, original, kept }) => runsInside(resolved) || (original !== undefined && !kept),
  )
  if (inside.length > 1) {
    const names = inside.map(({ sidecar }) => sidecar.name)
    const why = 'each needs the hook inside itself (an exec, file, unix or hook check, or a PostStart hook of its own)'
    problems.push(`${keys.sidecars}: ${names.join(' and ')} can't share a tier: ${why}; write "${names.join(', ')}"`)
  }
  const last = inside[0] ?? members.findLast(({ kept }) => !kept)
  return last === undefined ? members : [...members.filter((member) => member !== last), last]
}

function runsInside(resolved: Resolved): boolean {
  if (resolved.kind === 'hook') return true
  return resolved.kind === 'polled' && ['exec', 'file', 'unix'].includes(resolved.check.kind)
}

/** Whether it starts among the init containers: it stands there already, or the gate moves it there. */
export function startsNative({ container }: Pick<Member, 'container'>, { gate }: Pick<Intent, 'gate'>): boolean {
  return container.list === 'initContainers' || gate === 'native'
}
