import { formatDuration } from '../check/duration.ts'
import { canRun, endFile, endHook, endsDirectory, endsVolume, type UnwrappedEnd, unwrapEnd } from '../hook/end.ts'
import { sameHook } from '../hook/hook.ts'
import { mostArgument } from '../hook/waiter.ts'
import type { Context } from '../intent/context.ts'
import type { Container, Hook, MountDetail, Spec } from '../pod/pod.ts'
import { isOfAnother } from '../pod/status.ts'
import { isWithin } from '../words/json.ts'
import { keys } from '../words/keys.ts'
import { mostAnswer } from '../words/limits.ts'
import type { Problem, Warning } from '../words/messages.ts'
import { isAtOrBelow, isDirectory } from './directories.ts'
import { charactersIn, resolveHttpGet } from './gate.ts'
import { type LineUp, type Member, startsNative } from './line-up.ts'
import { knowsEnds } from './older.ts'
import type { Order } from './order.ts'

/** How the pod ends, where a sidecar is to end last. */
interface Ends {
  /** The containers whose preStop hook is ours. */
  readonly carriers: readonly Container[]
  readonly missing: EndParts
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

export interface EndParts {
  /** The preStop hooks that have to change; undefined: there has to be none. */
  readonly hooks: ReadonlyMap<Container, Hook | undefined>
  /** The carriers that lack the mount. */
  readonly mounts: readonly Container[]
  readonly volume: boolean
}

const nothing: Ends = {
  carriers: [],
  missing: { hooks: new Map(), mounts: [], volume: false },
  problems: [],
  warnings: [],
}

/** A sidecar whose preStop waits, and what it waits for. */
interface Waiting {
  readonly member: Member
  /** A tier's native sidecars, or its regular ones: they share what is left of the grace period. */
  readonly group: string
  readonly behind: readonly Container[]
}

/**
 * A sidecar that ends last waits in its preStop until everything behind it has ended, since SIGTERM follows the preStop; what is behind it leaves a
 * witness. The kubelet lets a native sidecar's SIGTERM wait by itself, so that has nothing of ours unless it has a preStop, which would run at once.
 */
export function planEnds(lined: LineUp, order: Order, context: Context): Ends {
  const { pod, intent } = lined
  const { spec } = pod
  // A replica with another configuration, or of another version, may have patched it; a pod that ends in another way isn't worth a refusal.
  const mayDiffer =
    !intent.endCertain || (!intent.enforced && isOfAnother(context.configuration.version, pod.metadata.annotations))
  if (context.surroundings.asker === 'final' && mayDiffer) return nothing

  const isAsked = lined.tiers.flat().some(({ sidecar }) => sidecar.end === 'last')
  const found = isAsked || spec.volumes.some(({ name }) => name === endsVolume) ? preStopsIn(spec) : noPreStops
  const grace = Math.min(spec.gracePeriod(), mostGrace)
  const all = isAsked ? waitingIn(lined, order, found.preStops) : []
  const [first] = all
  if (first !== undefined && intent.delivery === 'shell') {
    return { ...nothing, problems: [{ kind: 'end-by-shell', name: first.member.sidecar.name, path: keys.end }] }
  }
  const count = all.reduce((sum, { behind }) => sum + behind.length, 0)
  if (count > mostEnds)
    return { ...nothing, problems: [{ kind: 'end-too-large', count, most: mostEnds, path: keys.end }] }
  const isTold = [...found.preStops.values()].some(({ ours }) => ours !== undefined)
  const isOlder = !isTold && !knowsEnds(pod, intent, context.configuration)
  const notes: readonly Warning[] =
    all.length === 0 ? [] : isOlder ? [{ kind: 'end-of-older' }] : notesOn(all, grace, found.preStops)
  const waiting = isOlder || limitOf(grace, 1) <= 0 ? [] : all
  const made = hooksFor(waiting, grace, found.preStops)

  const hooks = new Map<Container, Hook | undefined>()
  for (const [container, { ours, original }] of found.preStops) if (ours !== undefined) hooks.set(container, original)
  for (const [container, hook] of made.hooks) hooks.set(container, hook)
  for (const [container, hook] of hooks) if (sameHook(readable(container), hook)) hooks.delete(container)
  const carriers = [...made.hooks.keys()]
  const room = roomFor(carriers, spec)
  return {
    carriers,
    missing: { hooks, mounts: room.mounts, volume: room.volume },
    problems: [...(isAsked ? found.problems : []), ...made.problems, ...room.problems],
    warnings: [...notes, ...made.warnings],
  }
}

/** Names of containers in all hooks: an answer to a small pod with hundreds of both would be a hundred times its size. */
const mostEnds = 2048

/** A preStop hook as it was before us, and as the waiter runs it. */
type PreStop = UnwrappedEnd & ReturnType<typeof runnable>
type PreStops = ReadonlyMap<Container, PreStop>
const noPreStops = { preStops: new Map<Container, PreStop>(), problems: [] as readonly Problem[] }

function preStopsIn({ containers, initContainers }: Spec): typeof noPreStops {
  const preStops = new Map<Container, PreStop>()
  const problems: Problem[] = []
  for (const container of [...containers, ...initContainers]) {
    if (!container.hasPreStop) continue
    const { list, index, name } = container
    const hook = container.preStop()
    if (hook === 'unreadable') {
      const path = `spec.${list}[${index}].lifecycle.preStop`
      problems.push({ kind: 'unexpected-value', expected: 'hook', path })
      continue
    }
    const unwrapped = unwrapEnd(hook)
    if (unwrapped === undefined) problems.push({ kind: 'hook-unreadable', name, hook: 'preStop' })
    else preStops.set(container, { ...unwrapped, ...runnable(unwrapped.original, container) })
  }
  return { preStops, problems }
}

function readable(container: Container): Hook | undefined {
  const hook = container.preStop()
  return hook === 'unreadable' ? undefined : hook
}

/** From the last to start, which ends first. */
function waitingIn(
  { tiers, intent }: LineUp,
  { initContainers, containers }: Order,
  preStops: PreStops,
): readonly Waiting[] {
  const places = new Map(
    tiers.flatMap((members, tier) => members.map((member) => [member.container, { member, tier }] as const)),
  )
  const waiting: Waiting[] = []
  const later: Container[] = []
  for (const container of [...initContainers, ...containers].toReversed()) {
    const place = places.get(container)
    const native = place === undefined ? container.list === 'initContainers' : startsNative(place.member, intent)
    const behind =
      place?.member.sidecar.end === 'last' ? later.filter((each) => places.get(each)?.tier !== place.tier) : []
    const waits = place !== undefined && behind.length > 0 && (!native || preStops.get(container)?.hook !== undefined)
    if (waits) waiting.push({ member: place.member, group: `${place.tier} ${native}`, behind })
    // One that the kubelet ends in its turn has nothing by which its end could be seen.
    if (!native || waits) later.push(container)
  }
  return waiting.reverse()
}

/** Seconds. Nobody has a pod end for longer, and the waiter counts in nanoseconds. */
const mostGrace = 30 * 24 * 3600

/**
 * Milliseconds that a sidecar waits at most: a third of the grace period, at least 3 s, is left for preStop hooks and SIGTERM, since nothing runs after it.
 * @param share of that third: the later a sidecar starts, the more time those before it need after its own end
 */
const limitOf = (grace: number, share: number): number =>
  Math.floor(grace * 1000 - Math.max((grace * 1000) / 3, 3000) * share)

function hooksFor(waiting: readonly Waiting[], grace: number, preStops: PreStops) {
  const hooks = new Map<Container, Hook>()
  const problems: Problem[] = []
  const warnings: Warning[] = []
  const behind = new Set(waiting.flatMap((each) => each.behind))
  const groups = [...new Set(waiting.map(({ group }) => group))]
  const others = new Map(waiting.map((each) => [each.member.container, each]))
  let characters = 0
  const own = (container: Container): Hook | undefined => {
    const { hook, why } = preStops.get(container) ?? {}
    if (why !== undefined) warnings.push({ kind: 'prestop-cannot-run', name: container.name, why })
    return hook
  }
  for (const container of new Set([...others.keys(), ...behind])) {
    const { name } = container
    const before = own(container)
    const file = endFile(name)
    const waits = others.get(container)
    const hook = endHook(
      waits === undefined
        ? { kind: 'witness', file, before }
        : {
            kind: 'others',
            ...(behind.has(container) ? { file } : {}),
            // Wherever another webhook puts a container, the hook stays the same.
            files: waits.behind.map((each) => endFile(each.name)).sort(),
            appear: formatDuration(Math.floor(Math.min(waits.member.sidecar.endAppear, (grace * 1000) / 3))),
            limit: formatDuration(limitOf(grace, (groups.indexOf(waits.group) + 1) / groups.length)),
            before,
          },
    )
    // Whatever becomes of it: one that is too large costs the most.
    if (!sameHook(readable(container), hook)) characters += charactersIn(hook)
    if (characters > mostAnswer) {
      problems.push({ kind: 'answer-too-large', has: characters, most: mostAnswer })
      break
    }
    if (hook.kind === 'exec' && !hook.command.every((word) => isWithin(mostArgument, word))) {
      problems.push({
        kind: 'hook-too-large',
        name,
        cause: 'the preStop hook that it already has, or of the containers behind it',
        path: keys.end,
      })
      continue
    }
    hooks.set(container, hook)
  }
  return { hooks, problems, warnings }
}

type CannotRun = Extract<Warning, { kind: 'prestop-cannot-run' }>['why']

/** A container's own preStop as the waiter runs it. One that the kubelet always fails has no effect today, and is left out. */
function runnable(hook: Hook | undefined, container: Container): { readonly hook?: Hook; readonly why?: CannotRun } {
  if (hook === undefined) return {}
  if (!canRun(hook)) return { why: hook.kind === 'tcpSocket' ? 'tcpSocket' : 'command' }
  if (hook.kind !== 'httpGet') return { hook }
  const { problems, ...resolved } = resolveHttpGet(hook, container)
  return problems.length === 0 ? resolved : { why: 'httpGet' }
}

/** What of the volume and its mounts is missing, or taken. */
function roomFor(carriers: readonly Container[], { volumes }: Spec) {
  const problems: Problem[] = []
  const volume = volumes.find(({ name }) => name === endsVolume)
  if (carriers.length > 0 && volume !== undefined && !volume.emptyDir) {
    problems.push({ kind: 'name-taken', what: 'volume', name: endsVolume })
  }
  const mounts = carriers.filter(({ name, mountDetails, terminationMessagePath }) => {
    const there = mountDetails().filter(({ mountPath }) => isAtOrBelow(mountPath, endsDirectory))
    const isOurs = (mount: MountDetail) =>
      mount.name === endsVolume && isDirectory(mount.mountPath, endsDirectory) && !mount.readOnly && !mount.partial
    // What lies over a file in it is what a hook would find there.
    const isTaken = !there.every(isOurs) || isAtOrBelow(terminationMessagePath, endsDirectory)
    if (isTaken) problems.push({ kind: 'mount-taken', name, directory: endsDirectory })
    return there.length === 0
  })
  return { mounts, volume: carriers.length > 0 && volume === undefined, problems }
}

function notesOn(waiting: readonly Waiting[], grace: number, preStops: PreStops): readonly Warning[] {
  const names = waiting.map(({ member }) => member.sidecar.name)
  const sleeping = waiting.flatMap(({ member: { container } }): Warning[] => {
    const { name } = container
    const own = preStops.get(container)?.hook
    return own !== undefined && isSleep(own) ? [{ kind: 'sleeps-for-nothing', name }] : []
  })
  return [...sleeping, ...(grace < 5 ? [{ kind: 'grace-short', names, seconds: grace } as const] : [])]
}

/** A fixed time, by which a sidecar lingers until its app may have ended. */
function isSleep(hook: Hook): boolean {
  if (hook.kind !== 'exec') return hook.kind === 'sleep' && hook.seconds > 0
  const text = hook.command.length > 3 ? '' : hook.command.map((word) => word.slice(0, 64)).join(' ')
  return /^(?:(?:\/bin\/)?(?:ba)?sh -c )?(?:\/bin\/)?sleep \d+s?$/.test(text)
}
