import { formatCheck } from '../check/grammar.ts'
import { sameHook } from '../hook/hook.ts'
import { unwrap } from '../hook/unwrap.ts'
import type { Intent, Sidecar } from '../intent/intent.ts'
import { runsOwnHook } from '../intent/own-hook.ts'
import { kindOf } from '../pod/kind.ts'
import type { Container, Hook, Pod, Spec } from '../pod/pod.ts'
import { keys } from '../words/keys.ts'
import { mostAnswer } from '../words/limits.ts'
import type { Problem, Warning } from '../words/messages.ts'
import { rightCheck, withoutQuery } from './known-deadlocks.ts'
import { type Resolution, type Resolved, resolve } from './resolve.ts'
import { type Handling, type Locked, probedBy, withoutProbe, writtenIn } from './startup-probe.ts'

/** The sidecars that are in a pod, in the order in which they have to start: what the rest of the plan is made from. */
export interface LineUp {
  readonly pod: Pod
  readonly intent: Intent
  /** No tier is empty. */
  readonly tiers: readonly (readonly Member[])[]
  readonly originals: Originals
}

/** A sidecar that is there: what is asked of it, together with its container. */
export interface Member {
  readonly sidecar: Sidecar
  readonly container: Container
  readonly resolved: Resolved
  /** The hook that was there before ours. */
  readonly original: Hook | undefined
  /** `existing-hook: keep` leaves its own hook, so nothing of ours runs in it. */
  readonly kept: boolean
  /** What becomes of its startupProbe, where that holds something back. */
  readonly handling: Handling | undefined
}

/** For each container the hook it had before ours. */
type Originals = ReadonlyMap<Container, Hook>

/** Finds the containers of the sidecars that are asked for, and what each has to be waited for. */
export function lineUp(pod: Pod, intent: Intent, locked: Locked) {
  const { spec } = pod
  const { originals, problems } = readOriginals(spec)
  const warnings: Warning[] = []
  const containers = new Map(
    [...spec.initContainers, ...spec.containers].map((container) => [container.name, container]),
  )
  let read: ReturnType<typeof writtenIn> | undefined
  const written = () => {
    read ??= writtenIn(spec)
    return read
  }
  const tiers: Member[][] = []
  // Each check stands in the answer, or is kept to be shown. Variables expand: 500 probes of a pod of 100 kB could stand for 50 MB.
  let characters = 0
  for (const sidecars of intent.tiers) {
    const tier: Member[] = []
    for (const sidecar of characters > mostAnswer ? [] : sidecars) {
      const container = containers.get(sidecar.name)
      if (container === undefined) continue
      const original = originals.get(container)
      const found = findMember(sidecar, container, { gate: intent.gate, locked, original, written })
      if (found.member !== undefined) {
        tier.push(found.member)
        characters += charactersOf(found.member.resolved)
      }
      if (characters > mostAnswer) {
        problems.push({ kind: 'answer-too-large', has: characters, most: mostAnswer })
        break
      }
      problems.push(...found.problems)
      warnings.push(...found.warnings)
    }
    if (tier.length > 0) tiers.push(tier)
  }
  const moving = tiers.flat().filter(({ container }) => container.list === 'containers')
  if (intent.gate === 'native' && moving.length === spec.containers.length) {
    problems.push({ kind: 'no-app-left', path: keys.gate })
  }
  const arranged = tiers.map(arrange)
  problems.push(...arranged.flatMap(({ problem }) => problem ?? []))
  const lined: LineUp = { pod, intent, tiers: arranged.map(({ tier }) => tier), originals }
  return { lined, problems, warnings }
}

/** At least so many stand in a hook that polls it. */
export function charactersOf(resolved: Resolved): number {
  if (resolved.kind === 'none') return 0
  const check = resolved.kind === 'hook' ? resolved : resolved.check
  const sum = (texts: readonly string[]) => texts.reduce((all, { length }) => all + length, 0)
  const headers = resolved.kind === 'polled' ? resolved.headers : []
  const rest = headers.reduce((all, { name, value }) => all + name.length + value.length, 0)
  if (check === undefined) return rest
  if ('command' in check) return rest + sum(check.command)
  return rest + ('path' in check ? check.path.length : 0) + ('host' in check ? check.host.length : 0)
}

/** Reads back what our hooks wrap. A hook of ours that can't be read is a problem: replacing it might lose somebody's hook. */
function readOriginals({ containers, initContainers }: Spec) {
  const originals = new Map<Container, Hook>()
  const problems: Problem[] = []
  for (const container of [...containers, ...initContainers]) {
    if (container.postStart === undefined) continue
    const unwrapped = unwrap(container.postStart)
    if (unwrapped === undefined) problems.push({ kind: 'hook-unreadable', name: container.name, hook: 'postStart' })
    else if (unwrapped.original !== undefined) originals.set(container, unwrapped.original)
  }
  return { originals, problems }
}

function findMember(
  asked: Sidecar,
  container: Container,
  {
    gate,
    locked,
    original,
    written,
  }: {
    gate: Intent['gate']
    locked: Locked
    original: Hook | undefined
    written: () => ReturnType<typeof writtenIn>
  },
): { member?: Member; problems: readonly Problem[]; warnings: readonly Warning[] } {
  const { name } = asked
  if (kindOf(container) === 'init') {
    return { problems: [{ kind: 'ends-before-app', name, path: keys.sidecars }], warnings: [] }
  }
  const problems: Problem[] = []
  if (gate === 'native' && container.list === 'containers' && container.restartPolicy !== '') {
    problems.push({ kind: 'restart-policy-set', name, path: keys.gate })
  }
  const keeps = original !== undefined && asked.existingHook === 'keep'
  const probed = probedBy(asked, container, { gate, locked, hookable: !keeps })
  const { sidecar, resolution } = startsNative({ container }, { gate })
    ? withoutProbe(asked, container, written)
    : { sidecar: asked }
  const answer =
    ownWait(sidecar, original, locked) ??
    (probed?.held && { resolved: probed.held, problems: [], warnings: [] }) ??
    resolution ??
    resolve(sidecar, container)
  const { resolved, ...found } = sidecar.check.kind === 'probe' ? corrected(answer, container) : answer
  problems.push(...found.problems)
  // The hook that a `hook:` check asks for may be there already.
  const foreign =
    original !== undefined &&
    !(resolved.kind === 'hook' && sameHook(original, { kind: 'exec', command: resolved.command }))
  if (foreign && resolved.kind === 'hook') {
    problems.push({ kind: 'check-beside-hook', name, path: sidecar.checkSource })
  } else if (foreign && sidecar.existingHook === 'refuse') {
    problems.push({ kind: 'hook-refused', name, path: keys.existingHook })
  }
  const kept = foreign && sidecar.existingHook === 'keep'
  const waiting = kept && !isHeld(resolved) ? ({ kind: 'none' } as const) : resolved
  const member: Member = { sidecar, container, original, kept, resolved: waiting, handling: probed?.handling }
  if (waiting === resolved) return { member, problems, warnings: found.warnings }
  return { member, problems, warnings: resolved.kind === 'none' ? [] : [{ kind: 'keeps-own-hook', name }] }
}

/** Where a well-known sidecar's own probe would wait for the app, or for databases, what it should be asked instead. */
function corrected(resolution: Resolution, container: Container): Resolution {
  const { resolved } = resolution
  const check = resolved.kind === 'polled' ? rightCheck(container, resolved.check) : undefined
  if (check === undefined || resolved.kind !== 'polled' || !('path' in resolved.check)) return resolution
  const { path: _, ...rest } = resolved
  const endpoint = withoutQuery(resolved.check.path)
  const warning = { kind: 'check-replaced', name: container.name, endpoint, instead: formatCheck(check) } as const
  return { ...resolution, resolved: { ...rest, check }, warnings: [...resolution.warnings, warning] }
}

/** A well-known sidecar whose own hook already waits is left as it is; under an enforced lock it runs before ours, which alone can open that. */
function ownWait({ rule }: Sidecar, original: Hook | undefined, locked: Locked): Resolution | undefined {
  const own = rule?.preset?.ownHook
  if (own === undefined || original?.kind !== 'exec') return undefined
  if (rule?.enforce && locked === 'asked') return undefined
  if (!runsOwnHook(own, original.command, rule?.enforce === true)) return undefined
  return { resolved: { kind: 'hook', command: original.command, known: true }, problems: [], warnings: [] }
}

/** Whether the tier needs a hook because of this one. */
export function waits({ resolved }: Member): boolean {
  return resolved.kind !== 'none' && !isHeld(resolved)
}

/** Whether the kubelet itself waits for it, so that it needs no hook. */
const isHeld = ({ kind }: Resolved): boolean => kind === 'startupProbe'

/** Whether the hook of its tier can go into this one. */
export function canCarry({ kept, resolved }: Member): boolean {
  return !kept && !isHeld(resolved)
}

/** Puts last the one that has to carry the tier's hook: its check, or a hook it already has, must run in its own container. */
function arrange(members: readonly Member[]): { tier: readonly Member[]; problem?: Problem } {
  if (!members.some(waits)) return { tier: members }
  const inside = members.filter(
    (member) => runsInside(member.resolved) || (member.original !== undefined && canCarry(member)),
  )
  const last = inside[0] ?? members.findLast(canCarry)
  const tier = last === undefined ? members : [...members.filter((member) => member !== last), last]
  if (inside.length < 2) return { tier }
  const names = inside.map(({ sidecar }) => sidecar.name)
  return { tier, problem: { kind: 'tier-of-two-hooks', names, path: keys.sidecars } }
}

function runsInside(resolved: Resolved): boolean {
  if (resolved.kind === 'hook') return true
  return resolved.kind === 'polled' && ['exec', 'file', 'unix'].includes(resolved.check.kind)
}

/** Whether it starts among the init containers: it is there already, or the gate moves it there. */
export function startsNative({ container }: Pick<Member, 'container'>, { gate }: Pick<Intent, 'gate'>): boolean {
  return container.list === 'initContainers' || gate === 'native'
}
