import { lockDirectory, lockVolume } from '../hook/lock-names.ts'
import { installs, isInstaller, waiterDirectory, waiterName, waiterProgram } from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import { imageTexts, matchesGlob, matchesImage, repositoryOf } from '../intent/glob.ts'
import type { Rule } from '../intent/rule.ts'
import { isComparable } from '../intent/rule-index.ts'
import { isNative, kindOf } from '../pod/kind.ts'
import type { Container } from '../pod/pod.ts'
import { mostProblems } from '../words/limits.ts'
import type { Problem } from '../words/messages.ts'
import { covers, isAtOrBelow, isDirectory } from './directories.ts'
import type { LineUp } from './line-up.ts'
import { isEnforced, type Lock } from './lock.ts'
import type { Order } from './order.ts'

/** A pod as it will be: what `/mutate` makes of it, and what `/validate` wants to find. */
interface Planned {
  readonly lined: LineUp
  readonly order: Order
  readonly lock: Lock
  /** The containers whose hook runs the waiter. */
  readonly carriers: readonly Container[]
}

/**
 * What `enforce: true` promises, as one predicate: no container that an author wrote runs before the sidecars of enforced rules are ready, but
 * those that the configuration names. Asked of the patched pod by `/mutate` and of the final one by `/validate`; each problem found is a way around.
 * Elsewhere what is there stays as it is. Which pods are asked about, and what counts as an app, `examine` decides before. docs/rules.md has the same
 * list in words.
 */
export function loopholes(planned: Planned, configuration: Configuration): readonly Problem[] {
  if (!planned.lined.intent.enforced) return []
  return [
    ...startedInFront(planned, configuration),
    ...notLocked(planned, configuration),
    ...lockInReach(planned),
    ...processesInReach(planned),
    ...notTheWaiter(planned, configuration),
    ...waiterInReach(planned),
  ].slice(0, mostProblems)
}

/** The containers of enforced rules' sidecars, with the rule of each. */
function bindingIn({ lined }: Planned): ReadonlyMap<Container, Rule> {
  const rules = lined.tiers.flat().map(({ container, sidecar: { rule } }) => [container, rule] as const)
  return new Map(rules.flatMap(([container, rule]) => (rule?.enforce ? [[container, rule]] : [])))
}

/** The order in which the kubelet starts them. */
const sequenceOf = ({ order }: Planned): readonly Container[] => [...order.initContainers, ...order.containers]

/** Ends before anything that it stands in front of starts, so it holds nothing open. */
const isOrdinaryInit = (container: Container): boolean => kindOf(container) === 'init'

/**
 * 1. Order. In front of an enforced sidecar stand only others of enforced rules, ordinary init containers, and what the rule or the configuration
 * names. What else is there is refused and not moved: a mesh's proxy behind another sidecar could leave that without a network.
 */
function startedInFront(planned: Planned, { enforced: { inFront } }: Configuration): readonly Problem[] {
  const binding = bindingIn(planned)
  const problems: Problem[] = []
  const behind = new Map<Rule, Container>()
  for (const container of sequenceOf(planned).toReversed()) {
    const own = binding.get(container)
    if (own !== undefined) behind.set(own, container)
    if (own !== undefined || behind.size === 0 || isOrdinaryInit(container)) continue
    const { name, image } = container
    const native = isNative(container)
    const barring = [...behind].find(([{ allowNatives }]) => !(native && allowNatives.includes(name)))
    if (barring === undefined || isNamedIn(inFront, { name, image })) continue
    const [rule, sidecar] = barring
    problems.push({ kind: 'starts-in-front', name, native, sidecar: sidecar.name, rule: rule.name })
    if (problems.length === mostInFront) break
  }
  return problems
}

/** Nobody reads of more, and comparing each with all that is let by takes time. */
const mostInFront = 8

function isNamedIn(inFront: Configuration['enforced']['inFront'], { name, image }: { name: string; image: string }) {
  if (!isComparable(image)) return false
  const texts = imageTexts(image)
  return inFront.some((each) => matchesGlob(each.container, name) && matchesImage(each.image, texts))
}

/** 2. Where an enforced rule says `lock: on`, what is behind its sidecar is locked, and a hook of ours opens it: what a pod brings never stands in. */
function notLocked(planned: Planned, { defaults }: Configuration): readonly Problem[] {
  const members = [...planned.lock.openings.keys()].flatMap((gate) => gate.members)
  const kinds = new Map(members.map(({ container, resolved: { kind } }) => [container, kind]))
  return [...bindingIn(planned)].flatMap(([container, { name: rule, lock = defaults.lock }]): Problem[] => {
    const kind = kinds.get(container)
    const locks = lock !== 'on' || kind === 'polled' || kind === 'hook'
    return locks ? [] : [{ kind: 'not-locked', name: container.name, rule }]
  })
}

/** The places of the gates' carriers that open a lock, and of the last of an enforced rule. */
function lockedPlaces(planned: Planned) {
  const sequence = sequenceOf(planned)
  const gates = new Map([...planned.lock.openings.keys()].map((gate) => [gate.carrier.container, gate]))
  const last = sequence.findLastIndex((container) => {
    const gate = gates.get(container)
    return gate !== undefined && isEnforced(gate)
  })
  return { sequence, gates, last }
}

/**
 * 3. The lock. Whoever mounts its volume can write that a sidecar is ready. A sidecar is its own gate; one behind all enforced locks has waited
 * for them.
 */
function lockInReach(planned: Planned): readonly Problem[] {
  const { sequence, gates, last } = lockedPlaces(planned)
  if (last < 0) return []
  return sequence.flatMap((container, at): Problem[] => {
    const { name, mountDetails, terminationMessagePath } = container
    const gate = gates.get(container)
    const mayMount = isInstaller(container) || (gate !== undefined && (isEnforced(gate) || at > last))
    const leftOver = planned.lock.missing.unmounts.get(container)
    const mounts = mountDetails().filter((_, index) => index !== leftOver)
    if (!mayMount) {
      return mounts.some((mount) => mount.name === lockVolume) ? [{ kind: 'lock-mounted', name }] : []
    }
    const others = mounts.filter(({ mountPath, name: volume, readOnly, partial }) => {
      const isOurs = volume === lockVolume && isDirectory(mountPath, lockDirectory) && !readOnly && !partial
      return !isOurs && (volume === lockVolume || covers(mountPath, lockDirectory))
    })
    const isTaken = others.length > 0 || isAtOrBelow(terminationMessagePath, lockDirectory)
    return isTaken ? [{ kind: 'mount-taken', name, directory: lockDirectory }] : []
  })
}

/**
 * 4. Processes. One that sees those of a sidecar writes into its mounts by way of /proc. So beside an enforced lock, nothing that no enforced rule
 * names runs before it has opened; an ordinary init container may, as long as none of them runs yet.
 */
function processesInReach(planned: Planned): readonly Problem[] {
  const by = planned.lined.pod.spec.sharesProcesses
  if (by === undefined) return []
  const { sequence, gates, last } = lockedPlaces(planned)
  const enforced = bindingIn(planned)
  const first = sequence.findIndex((container) => gates.has(container))
  const found = sequence.slice(0, Math.max(last, 0)).find((container, at) => {
    if (enforced.has(container) || isInstaller(container)) return false
    return !isOrdinaryInit(container) || at > first
  })
  return found === undefined ? [] : [{ kind: 'processes-shared', name: found.name, by }]
}

/**
 * 5. The waiter is the one that we write, or a mirror of it. By its name alone our init container comes first and has the lock's volume, so then, too,
 * where no hook runs it.
 */
function notTheWaiter({ lined, lock, carriers }: Planned, { waiter }: Configuration): readonly Problem[] {
  const { pod, intent } = lined
  const isFirst = intent.gate === 'native' && intent.nativePosition === 'first'
  if (carriers.length === 0 && lock.openings.size === 0 && !isFirst) return []
  const { initContainers, volumes } = pod.spec
  const allowed = [repositoryOf(waiter.image), ...waiter.mirrors]
  const isWaiter = (image: string) => {
    if (image === waiter.image) return true
    const texts = imageTexts(image)
    return allowed.some((glob) => matchesImage(glob, texts))
  }
  const installer = initContainers.find(({ name }) => name === waiterName)
  const volume = volumes.find(({ name }) => name === waiterName)
  const problems: Problem[] = []
  if (volume?.image && !isWaiter(volume.imageReference)) {
    problems.push({ kind: 'not-the-waiter', what: 'volume', image: volume.imageReference })
  }
  if (installer === undefined) return problems
  if (!isWaiter(installer.image)) {
    problems.push({ kind: 'not-the-waiter', what: 'init container', image: installer.image })
  }
  return [...problems, ...changedInstaller(installer).map((part) => ({ kind: 'installer-changed', part }) as const)]
}

/** What of the init container would keep it from installing the waiter's own program. */
function changedInstaller({
  command,
  args,
  restartPolicy,
  terminationMessagePath,
  mountDetails,
}: Container): readonly string[] {
  const mounts = mountDetails()
  const message = [waiterDirectory, waiterProgram].some((ours) => isAtOrBelow(terminationMessagePath, ours))
  const over = mounts.filter(({ mountPath }) => covers(mountPath, waiterProgram))
  const inside = mounts.filter(({ mountPath }) => isAtOrBelow(mountPath, waiterDirectory))
  const [target, ...others] = inside
  const isWhole = target?.name === waiterName && !target.partial && !target.readOnly
  const isThere = isWhole && isDirectory(target.mountPath, waiterDirectory)
  return [
    ...(installs(command) === undefined ? ['another command'] : []),
    ...(args.length > 0 ? ['args'] : []),
    ...(restartPolicy !== '' ? ['a restartPolicy'] : []),
    ...(message ? [`the terminationMessagePath ${terminationMessagePath}`] : []),
    ...over.map(({ mountPath }) => `the mount ${mountPath}`),
    ...others.map(({ mountPath }) => `the mount ${mountPath}`),
    ...(isThere ? [] : [`no mount of the whole volume at ${waiterDirectory}`]),
  ]
}

/** 6. Nobody but our init container writes the waiter, and nothing lies over it. */
function waiterInReach({ lined, carriers }: Planned): readonly Problem[] {
  if (carriers.length === 0) return []
  const { containers, initContainers } = lined.pod.spec
  const carrying = new Set(carriers)
  return [...containers, ...initContainers].flatMap((container): Problem[] => {
    if (isInstaller(container)) return []
    const { name, mountDetails, terminationMessagePath } = container
    const mounts = mountDetails()
    const writable = mounts.filter((mount) => mount.name === waiterName && !mount.readOnly)
    const isOurs = (mount: (typeof mounts)[number]) =>
      mount.name === waiterName && !mount.partial && isDirectory(mount.mountPath, waiterDirectory)
    const inside = mounts.filter(({ mountPath }) => covers(mountPath, waiterDirectory))
    const covering = carrying.has(container) ? inside.filter((mount, at) => at > 0 || !isOurs(mount)) : []
    const message =
      carrying.has(container) && isAtOrBelow(terminationMessagePath, waiterDirectory) ? [terminationMessagePath] : []
    return [
      ...writable.map(({ mountPath }) => ({ kind: 'waiter-writable', name, at: mountPath }) as const),
      ...[...covering.map(({ mountPath }) => mountPath), ...message].map(
        (at) => ({ kind: 'waiter-covered', name, at }) as const,
      ),
    ]
  })
}
