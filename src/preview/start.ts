import type { Tiers } from '../admission/decision.ts'
import { unwrap } from '../admission/hook.ts'
import type { Json } from '../admission/operation.ts'
import { meshProxies } from '../admission/order.ts'
import { type Container, readSpec, type Spec } from '../admission/pod.ts'

/**
 * How a pod's containers would start, as given and as patched, if all goes well. Times are steps, an order of events that the kubelet keeps to
 * (pkg/kubelet/kuberuntime, SyncPod): nothing was measured, and nothing follows from how long a step is.
 */
export interface Start {
  readonly without: readonly Bar[]
  readonly with: readonly Bar[]
}

/** A container, in the order in which they start. */
export interface Bar {
  readonly name: string
  /** `init` runs to its end; `sidecar` is listed, a native one, or a mesh proxy in front. */
  readonly role: 'init' | 'sidecar' | 'app'
  /** Of a listed sidecar, as in the tiers: `none` is ordered, not waited for. */
  readonly check?: string
  readonly start: number
  /** For `init`: its end. */
  readonly ready: number
  /** Its PostStart hook: until it returns, nothing else is started. */
  readonly hook?: { readonly from: number; readonly until: number; readonly waitsFor: readonly string[] }
  /** Whom it waited for: init containers that ended, sidecars that got ready. */
  readonly after: readonly string[]
  /** The sidecars that are to be there before it and aren't ready when it starts. */
  readonly notReady: readonly string[]
}

/** Steps. That a sidecar takes longest is what all of this is about. */
const takes = { creation: 1, initRun: 2, ownHook: 2, appStart: 2, sidecarStart: 4, givingUp: 8 } as const

/** Containers. Nobody reads a longer chart, and who waits for whom takes the square of it. */
const most = 100

/** Predicts both starts of a pod (or pod template) with a plan; undefined where it has more than a hundred containers. */
export function predictStart(given: Json, patched: Json, tiers: Tiers): Start | undefined {
  const before = readSpec(given)
  const after = readSpec(patched)
  if (!before.ok || !after.ok) return undefined
  const { initContainers, containers } = after.value
  if (initContainers.length + containers.length > most) return undefined
  const owed = owedTo(after.value, tiers)
  return { without: simulate(before.value, tiers, owed), with: simulate(after.value, tiers, owed) }
}

/** For each container the listed sidecars that are to be ready before it: an init container's are those that the plan puts before it. */
function owedTo({ initContainers, containers }: Spec, tiers: Tiers): ReadonlyMap<string, readonly string[]> {
  const owed = new Map<string, readonly string[]>()
  const listed = tiers.map((tier) => tier.map(({ name }) => name))
  for (const container of containers) {
    if (roleOf(container, undefined) === 'app') owed.set(container.name, listed.flat())
  }
  const natives: string[] = []
  for (const { name } of initContainers) {
    owed.set(name, [...natives])
    if (listed.flat().includes(name)) natives.push(name)
  }
  for (const [turn, tier] of listed.entries()) {
    for (const name of tier) owed.set(name, listed.slice(0, turn).flat())
  }
  return owed
}

interface Started {
  readonly container: Container
  readonly role: Bar['role']
  readonly check: string | undefined
  readonly start: number
  /** Known once somebody waits for it. */
  ready: number | undefined
  hook: Bar['hook']
  readonly after: readonly string[]
}

/** Creates the containers one by one, as the kubelet does. */
function simulate(spec: Spec, tiers: Tiers, owed: ReadonlyMap<string, readonly string[]>): readonly Bar[] {
  const checks = new Map(tiers.flat().map(({ name, check }) => [name, check]))
  const all: Started[] = []
  const after: string[] = []
  let now = 0
  for (const container of [...spec.initContainers, ...spec.containers]) {
    const check = checks.get(container.name)
    const role = roleOf(container, check)
    const started: Started = {
      container,
      role,
      check,
      start: now,
      ready: undefined,
      hook: undefined,
      after: [...after],
    }
    all.push(started)
    const hook = hookOf(container, check)
    if (hook !== undefined) {
      const there = all.filter((other) => hook.waitsFor.includes(other.container.name))
      const own = now + (hook.own ? takes.ownHook : 1)
      // one that starts behind the hook never gets ready: the hook gives up
      const late = there.length < hook.waitsFor.length ? now + takes.givingUp : own
      const until = Math.max(own, late, ...there.map((other) => waitFor(other, now, after)))
      started.hook = { from: now, until, waitsFor: hook.waitsFor }
      now = until
    }
    if (role === 'init') {
      now += takes.initRun
      started.ready = now
      after.push(container.name)
    } else if (container.list === 'initContainers' && container.startupProbe !== undefined) {
      // seen at the probe's next tick
      now = Math.max(now, waitFor(started, now, after)) + 1
    }
    now += takes.creation
  }
  return all.map((started) => barOf(started, now, owed.get(started.container.name) ?? []))
}

/** A sidecar gets ready after a while, but not before somebody waits for it: what starts meanwhile can't count on it. */
function waitFor(started: Started, now: number, after: string[]): number {
  started.ready ??= Math.max(started.start + takes.sidecarStart, now + 1)
  if (!after.includes(started.container.name)) after.push(started.container.name)
  return started.ready
}

function barOf(
  { container, role, check, start, ready, hook, after }: Started,
  end: number,
  owed: readonly string[],
): Bar {
  const unwaited = role === 'app' ? (hook?.until ?? start) + takes.appStart : Math.max(start + takes.sidecarStart, end)
  return {
    name: container.name,
    role,
    ...(check === undefined ? {} : { check }),
    start,
    ready: ready ?? unwaited,
    ...(hook === undefined ? {} : { hook }),
    after,
    notReady: owed.filter((name) => !after.includes(name)),
  }
}

function roleOf({ list, name, restartPolicy, postStart }: Container, check: string | undefined): Bar['role'] {
  if (check !== undefined) return 'sidecar'
  if (list === 'initContainers') return restartPolicy === 'Always' ? 'sidecar' : 'init'
  return meshProxies.has(name) && postStart !== undefined ? 'sidecar' : 'app'
}

/** What a container's PostStart hook waits for; `own`: it runs one of the container's own, which nobody knows more of. */
function hookOf(
  { name, postStart }: Container,
  check: string | undefined,
): { own: boolean; waitsFor: readonly string[] } | undefined {
  const unwrapped = unwrap(postStart)
  if (postStart === undefined || !unwrapped.ok) return undefined
  const { original, waitsFor } = unwrapped.value
  const waitsItself =
    original !== undefined && (check === undefined ? meshProxies.has(name) : check.startsWith('hook:'))
  return { own: original !== undefined, waitsFor: waitsItself ? [name, ...waitsFor] : waitsFor }
}
