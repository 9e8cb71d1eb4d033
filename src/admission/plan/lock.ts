import { isLockKey, lockDirectory, lockKey, lockOf, lockVolume, readsLock } from '../hook/lock-names.ts'
import { shellPolls } from '../hook/shell.ts'
import { openedBy } from '../hook/unwrap.ts'
import { installs, isInstaller, waiterName } from '../hook/waiter.ts'
import type { Configuration } from '../intent/configuration.ts'
import type { Container, Variable } from '../pod/pod.ts'
import type { Surroundings } from '../pod/surroundings.ts'
import type { LockRestarts } from '../words/choices.ts'
import { keys } from '../words/keys.ts'
import type { Problem } from '../words/messages.ts'
import { isDirectory } from './directories.ts'
import type { Gate, Opening } from './gate.ts'
import { type LineUp, type Member, waits } from './line-up.ts'
import type { Order } from './order.ts'

/**
 * The kubelet's own lock for what starts behind a gate (feature EnvFiles): a container whose variable comes from a file that doesn't hold it yet
 * isn't created, whatever became of the hook.
 */
export interface Lock {
  /** What each gate's hook opens. Empty: nothing is locked. */
  readonly openings: ReadonlyMap<Gate, Opening>
  /** What the pod still lacks, or has too much. */
  readonly missing: LockParts
  readonly problems: readonly Problem[]
}

export interface LockParts {
  /** `on-disk`: it is ours, but a node that reboots would remember what was open. */
  readonly volume: 'absent' | { readonly kind: 'on-disk'; readonly index: number } | undefined
  /** The carriers and the waiter's init container, as far as they lack the mount. */
  readonly mounts: readonly Container[]
  /** Containers that carried a hook before an injector added another sidecar, each with the index of the mount that it no longer needs. */
  readonly unmounts: ReadonlyMap<Container, number>
  readonly variables: ReadonlyMap<Container, VariableChanges>
  /** The waiter's init container, where it doesn't empty the files. */
  readonly installer: Container | undefined
}

/** What has to change in a container's `env`. */
export interface VariableChanges {
  /** Indices, from the last to the first. */
  readonly remove: readonly number[]
  /** Keys. */
  readonly add: readonly string[]
  /** How many there are. */
  readonly length: number
}

const nothingMissing: LockParts = {
  volume: undefined,
  mounts: [],
  unmounts: new Map(),
  variables: new Map(),
  installer: undefined,
}

/** Nothing is locked; variables of an earlier pass that did lock have to go, since nobody writes their files any more. */
export function noLock(order: Order, { pod: { spec } }: LineUp): Lock {
  const there = spec.volumes.some(({ name }) => name === lockVolume)
  const variables = there ? changedVariables(order, new Map(), false).variables : nothingMissing.variables
  return { openings: new Map(), missing: { ...nothingMissing, variables }, problems: [] }
}

/**
 * An answer has at most 1 MiB, and an operation that adds one variable up to 300 bytes: they take at most half of it. Only tiers without number
 * need more: 20 of them leave room for 90 containers behind each.
 */
const mostVariables = 2048

/** Locks what is behind the gates. */
export function planLock(gates: readonly Gate[], order: Order, lined: LineUp, asker: Surroundings['asker']): Lock {
  const { spec } = lined.pod
  const natives = gates.filter(({ native }) => native)
  const opening = ofEnforcedFirst([...natives, ...gates.filter(({ native }) => !native)].filter(opens), lined)
  const named = new Map(opening.map((gate, index) => [gate, keyOf(gate, index + 1, asker)]))
  const keysOf = new Map([...named].map(([gate, key]) => [gate.carrier.container, key]))
  const { variables, count, taken } = changedVariables(order, keysOf, asker === 'final')
  const problems: Problem[] = [...taken]
  if (count > mostVariables) problems.push({ kind: 'lock-too-large', count, most: mostVariables, path: keys.lock })

  const carriers = opening.map(({ carrier }) => carrier.container)
  const at = spec.volumes.findIndex(({ name }) => name === lockVolume)
  const volume = spec.volumes[at]
  if (volume !== undefined && !volume.emptyDir) problems.push({ kind: 'name-taken', what: 'volume', name: lockVolume })
  const installer = spec.initContainers.find(({ name }) => name === waiterName)
  const writers = installer === undefined ? carriers : [...carriers, installer]
  const mounts = writers.filter(({ name, mountDetails }) => {
    const there = mountDetails().filter(({ mountPath }) => isDirectory(mountPath, lockDirectory))
    const wrong = there.some((mount) => mount.name !== lockVolume || mount.readOnly || mount.partial)
    // Beside an enforced rule, `loopholes` says it.
    if (wrong && !lined.intent.enforced) problems.push({ kind: 'mount-taken', name, directory: lockDirectory })
    return there.length === 0
  })
  return {
    openings: new Map(
      [...named].map(([gate, key], index) => [gate, openingOf(gate, key, opening.slice(0, index), lined)]),
    ),
    missing: {
      volume: volume === undefined ? 'absent' : volume.memory ? undefined : { kind: 'on-disk', index: at },
      mounts,
      unmounts: leftOver([...spec.initContainers, ...spec.containers], carriers),
      variables: count > mostVariables ? new Map() : variables,
      installer: installer !== undefined && installs(installer.command) === 'without-reset' ? installer : undefined,
    },
    problems,
  }
}

function leftOver(all: readonly Container[], carriers: readonly Container[]): ReadonlyMap<Container, number> {
  const carried = all.filter((each) => openedBy(each.postStart) !== undefined && !carriers.includes(each))
  return new Map(
    carried.flatMap((container) => {
      const isOurs = ({ name, mountPath }: Container['mounts'][number]) =>
        name === lockVolume && isDirectory(mountPath, lockDirectory)
      const index = container.mounts.findIndex(isOurs)
      return index < 0 ? [] : [[container, index] as const]
    }),
  )
}

/**
 * Replicas of before take a key only without a name, so where one may be asked, none has one. Elsewhere both are right: what is there stays, such
 * as that of a template.
 */
function keyOf({ members, carrier }: Gate, number: number, asker: Surroundings['asker']): string {
  const unnamed = lockKey(number)
  if (asker === 'unlocked' || asker === 'unnamed' || openedBy(carrier.container.postStart) === unnamed) return unnamed
  const { container } = members.find(({ resolved }) => resolved.kind === 'polled') ?? carrier
  return lockKey(number, container.name)
}

/** Without the gates in front of an enforced one: whoever mounts the lock's volume before that has opened could open it. */
function ofEnforcedFirst(gates: readonly Gate[], { intent }: LineUp): readonly Gate[] {
  const last = intent.enforced ? gates.findLastIndex(isEnforced) : -1
  return gates.filter((gate, at) => at > last || isEnforced(gate))
}

/** A tier is either enforced or not. */
export const isEnforced = ({ members }: Gate): boolean => members.some(({ sidecar }) => sidecar.rule?.enforce)

/** Whether a gate has a hook of ours, which can open a lock: a well-known sidecar's own is left as it is. */
export function opens({ members, carrier: { resolved } }: Gate): boolean {
  if (members.some((member) => member.resolved.kind === 'polled')) return true
  return resolved.kind === 'hook' && resolved.known !== true
}

/** How long a hook blocks before it leaves the waiting to what the lock holds. Up to then nothing is held up that anybody would notice. */
const blocks = 30_000

function openingOf({ members }: Gate, key: string, before: readonly Gate[], { intent }: LineUp): Opening {
  const byShell = intent.delivery === 'shell'
  // Its readiness change is what has the kubelet look at the pod again at once.
  const handOver = members.filter(waits).every(isHeldByProbe) ? 0 : members.every(isProbed) ? blocks : undefined
  // What is opened is answered by the checks: a sidecar's own hook isn't run again.
  const canAsk = members.some(({ resolved }) => resolved.kind === 'polled')
  const leases = handOver !== undefined && canAsk && !byShell && intent.lock.lease === 'on'
  return {
    number: before.length + 1,
    key,
    earlier: before.flatMap((gate) => gate.members).filter((member) => canBeAskedAgain(member, byShell)),
    handOver,
    restarts: leases ? longest(members.map(({ sidecar }) => sidecar.lockRestarts)) : undefined,
  }
}

const longest = (all: readonly LockRestarts[]): LockRestarts =>
  all.reduce((most, each) => (most === 'always' || each === 'always' ? 'always' : Math.max(most, each)))

const isHeldByProbe = ({ handling }: Member): boolean => handling?.hook === 'hands-over'

const isProbed = ({ container, handling }: Member): boolean =>
  container.readinessProbe !== undefined || (container.startupProbe !== undefined && handling?.probe !== 'removed')

/** Whether a later gate can ask an earlier one's check. What may run out without a failure must not hold it up. */
function canBeAskedAgain({ sidecar, resolved }: Member, byShell: boolean): boolean {
  if (resolved.kind !== 'polled' || sidecar.onTimeout === 'continue') return false
  const { kind } = resolved.check
  return byShell ? shellPolls(resolved.check) : kind !== 'exec' && kind !== 'file' && kind !== 'unix'
}

/**
 * Whatever starts behind a gate gets its variable.
 * @param keysOf of the gates, by the containers that carry them
 */
function changedVariables(
  { initContainers, containers }: Order,
  keysOf: ReadonlyMap<Container, string>,
  anyOrder: boolean,
) {
  const variables = new Map<Container, VariableChanges>()
  const taken: Problem[] = []
  /** The latest first. */
  const passed: string[] = []
  let count = 0
  for (const container of [...initContainers, ...containers]) {
    const there = container.variables()
    // Ours comes before all gates: what it has of them somebody else wrote, and it would never start.
    const changes = changesOf(there, isInstaller(container) ? [] : passed, anyOrder)
    if (changes !== undefined) variables.set(container, changes)
    if (keysOf.size > 0) {
      const other = there.find((each) => !readsLock(each) && isLockKey(each.name))
      if (other !== undefined) taken.push({ kind: 'variable-taken', name: container.name, variable: other.name })
    }
    count += passed.length
    if (count > mostVariables) break
    const key = keysOf.get(container)
    if (key !== undefined) passed.unshift(key)
  }
  return { variables, taken, count }
}

/**
 * Undefined if the variables are as they have to be, wherever in the list they stand. The kubelet reads them one after another, and may sleep at each:
 * the latest gate's comes first, so that the earlier ones are asked after that.
 * @param anyOrder replicas of before, and templates that they wrote, have the earliest first
 */
function changesOf(
  there: readonly Variable[],
  wanted: readonly string[],
  anyOrder: boolean,
): VariableChanges | undefined {
  const keys = there.filter(readsLock).map(lockOf)
  if (anyOrder && keys.toSorted().join() === wanted.toSorted().join()) return undefined
  const remove: number[] = []
  let kept = 0
  for (const [index, variable] of there.entries()) {
    if (!readsLock(variable)) continue
    const key = lockOf(variable)
    if (key !== undefined && key === wanted[kept]) kept++
    else remove.push(index)
  }
  const add = wanted.slice(kept)
  if (remove.length === 0 && add.length === 0) return undefined
  return { remove: remove.reverse(), add, length: there.length }
}

/** Kubelets read a variable from a file from this version on; one of before sets it empty and starts the container. */
export const lockSince = { major: 1, minor: 35 } as const

/** Whether the configuration says that the nodes know the lock; undefined if it says nothing. */
export function knowsLock({ kubernetesVersion }: Pick<Configuration, 'kubernetesVersion'>): boolean | undefined {
  if (kubernetesVersion === undefined) return undefined
  const { major, minor } = kubernetesVersion
  return major > lockSince.major || (major === lockSince.major && minor >= lockSince.minor)
}
