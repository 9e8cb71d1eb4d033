import { unwrap } from '../admission/hook/unwrap.ts'
import { meshProxies } from '../admission/plan/order.ts'
import type { PlannedSidecar, Tiers } from '../admission/plan/shown-tiers.ts'
import { kindOf } from '../admission/pod/kind.ts'
import type { Container, Spec } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
import type { Json } from '../admission/words/json.ts'
import { appNames } from '../seen/app.ts'

/**
 * How a pod's containers would start, as given and as patched, if all goes well. Times are steps, in the order that the kubelet keeps
 * (pkg/kubelet/kuberuntime, SyncPod): nothing was measured, and the length of a step means nothing.
 */
export interface Starts {
  readonly without: readonly Start[]
  readonly with: readonly Start[]
}

/** A container, in the order in which they start. */
export interface Start {
  readonly name: string
  /** `init` runs to its end; `sidecar` is listed, a native one, or known by a preset. */
  readonly role: 'init' | 'sidecar' | 'app'
  /** Of a listed sidecar, as in the tiers: `none` is ordered, not waited for. */
  readonly check?: string
  readonly start: number
  /** For `init`: its end. */
  readonly ready: number
  /** Its PostStart hook: until it returns, nothing else is started. */
  readonly hook?: { readonly from: number; readonly until: number; readonly waitsFor: readonly string[] }
  /** What it waited for: init containers that ended, sidecars that became ready. */
  readonly after: readonly string[]
  /** Those of them that became ready while its image was pulled: their hook had returned with a lease. */
  readonly meanwhile?: readonly string[]
  /** The sidecars that should be ready before it but aren't when it starts. */
  readonly notReady: readonly string[]
  /**
   * It waits for what starts behind it, `needs`: in vain as long as its hook runs (`stuck`), or perhaps (`doubtful`); what is behind it may `never` start.
   * In a Job a regular sidecar is `endless`: the Job never completes.
   */
  readonly outlook?: 'doubtful' | 'stuck' | 'never' | 'endless'
  readonly needs?: string
}

/** In steps. That a sidecar takes longest is the point of it all. */
const takes = { creation: 1, initRun: 2, ownHook: 2, appStart: 2, sidecarStart: 4, givingUp: 8 } as const

/** Containers. Nobody reads a longer chart, and the work grows with the square. */
const most = 100

/** Predicts both starts of a pod (or pod template) with a plan; undefined if it has more than a hundred containers. `job`: one makes it. */
export function predictStart(given: Json, patched: Json, tiers: Tiers, job: boolean): Starts | undefined {
  const before = readSpec(given)
  const after = readSpec(patched)
  if (!before.ok || !after.ok) return undefined
  const { initContainers, containers } = after.value
  if (initContainers.length + containers.length > most) return undefined
  const metadata = readMetadata(patched)
  if (!metadata.ok) return undefined
  // A mesh's proxy that holds what follows by a hook of its own stays in front, even where presets know all containers.
  const held = after.value.containers.filter(({ name, postStart }) => meshProxies.has(name) && postStart !== undefined)
  const named = new Set([...tiers.flat(), ...held].map(({ name }) => name))
  const apps = appNames({ metadata: metadata.value, spec: after.value }, named)
  const owed = owedTo(after.value, tiers, apps)
  const starts = (spec: Spec) => simulate(spec, tiers, { owed, apps, job })
  return { without: starts(before.value), with: starts(after.value) }
}

/** For each container, the listed sidecars that should be ready before it; for an init container, those that the plan puts before it. */
function owedTo(
  { initContainers }: Spec,
  tiers: Tiers,
  apps: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const owed = new Map<string, readonly string[]>()
  const listed = tiers.map((tier) => tier.map(({ name }) => name))
  for (const name of apps) owed.set(name, listed.flat())
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

/** A start while it is worked out. */
interface Started extends Pick<Start, 'name' | 'role' | 'check' | 'start' | 'after'> {
  meanwhile?: readonly string[]
  /** Known once something waits for it. */
  ready?: number
  hook?: NonNullable<Start['hook']>
  /** What is known that would keep it from starting or becoming ready. */
  fate: Fate | undefined
}

type Fate = Pick<Start, 'outlook' | 'needs'>

/** Creates the containers one by one, as the kubelet does. */
function simulate(
  spec: Spec,
  tiers: Tiers,
  {
    owed,
    apps,
    job,
  }: {
    readonly owed: ReadonlyMap<string, readonly string[]>
    readonly apps: ReadonlySet<string>
    readonly job: boolean
  },
): readonly Start[] {
  const sidecars = new Map(tiers.flat().map((sidecar) => [sidecar.name, sidecar]))
  const all: Started[] = []
  const after: string[] = []
  /** Behind them the kubelet goes on, up to the moment in which it creates the next container. */
  const leased: Started[] = []
  /** Of what comes now. */
  let fate: Fate | undefined
  let now = 0
  for (const container of [...spec.initContainers, ...spec.containers]) {
    const { name } = container
    const listed = sidecars.get(name)
    now = Math.max(now, ...leased.map((each) => waitFor(each, now, after) + takes.creation))
    const role = kindOf(container) === 'init' ? 'init' : apps.has(name) ? 'app' : 'sidecar'
    const started: Started = { name, role, ...(listed && { check: listed.check }), start: now, after: [...after], fate }
    if (leased.length > 0) started.meanwhile = leased.splice(0).map((each) => each.name)
    all.push(started)
    const hook = fate?.outlook === 'never' ? undefined : hookOf(container, listed)
    const probed = container.list === 'initContainers' && container.startupProbe !== undefined
    const waitsFor = [...(hook?.waitsFor ?? []), ...(probed ? [name] : [])]
    const hampered = all.flatMap((each) => {
      const { obstacle, gate } = sidecars.get(each.name) ?? {}
      return obstacle && waitsFor.includes(each.name) ? [{ each, obstacle, gate }] : []
    })
    const stuck = hampered.find(({ obstacle }) => obstacle.certain)
    for (const { each, obstacle } of hampered) {
      each.fate ??= { outlook: obstacle.certain ? 'stuck' : 'doubtful', needs: obstacle.needs }
    }
    if (hook !== undefined) {
      const there = all.filter(
        (other) => hook.waitsFor.includes(other.name) && !sidecars.get(other.name)?.obstacle?.certain,
      )
      const own = now + (hook.own ? takes.ownHook : 1)
      const returns = hook.waitsFor.some((waited) => sidecars.get(waited)?.gate?.restarts !== undefined)
      // a container that starts after the hook never becomes ready: the hook gives up
      const late = there.length < hook.waitsFor.length && !returns ? now + takes.givingUp : own
      const until = Math.max(own, late, ...(returns ? [] : there).map((other) => waitFor(other, now, after)))
      if (returns) leased.push(...there)
      started.hook = { from: now, until, waitsFor: returns ? [] : hook.waitsFor }
      now = until
    }
    if (role === 'init') {
      now += takes.initRun
      started.ready = now
      after.push(name)
    } else if (probed && stuck === undefined && fate?.outlook !== 'never') {
      // seen at the probe's next tick
      now = Math.max(now, waitFor(started, now, after)) + 1
    }
    const cause = stuck ?? hampered[0]
    // a hook that waits in vain gives up; any other gate stays closed
    if (cause !== undefined && fate?.outlook !== 'never' && stuck?.gate?.form !== 'hook') {
      fate = { outlook: stuck === undefined ? 'doubtful' : 'never', needs: cause.obstacle.needs }
    }
    now += takes.creation
  }
  return all.map(({ fate: known, ...each }, index) => {
    // a Job completes when all its regular containers have ended, which a sidecar never does by itself
    const isEndless = job && each.role === 'sidecar' && index >= spec.initContainers.length
    const fate: Fate = known ?? (isEndless ? { outlook: 'endless' } : {})
    const missing = (owed.get(each.name) ?? []).filter((name) => !each.after.includes(name))
    return {
      ...each,
      ready: each.ready ?? readyUnwaited(each, now),
      notReady: fate.outlook === 'never' ? [] : missing,
      ...fate,
    }
  })
}

const readyUnwaited = ({ role, start, hook }: Omit<Started, 'fate'>, end: number): number =>
  role === 'app' ? (hook?.until ?? start) + takes.appStart : Math.max(start + takes.sidecarStart, end)

/** A sidecar becomes ready after a while, but not before something waits for it: what starts meanwhile can't count on it. */
function waitFor(started: Started, now: number, after: string[]): number {
  started.ready ??= Math.max(started.start + takes.sidecarStart, now + 1)
  if (!after.includes(started.name)) after.push(started.name)
  return started.ready
}

/** What a container's PostStart hook waits for; `own`: it runs one of the container's own, about which nothing is known. */
function hookOf(
  { name, postStart }: Container,
  listed: PlannedSidecar | undefined,
): { own: boolean; waitsFor: readonly string[] } | undefined {
  const unwrapped = unwrap(postStart)
  if (postStart === undefined || unwrapped === undefined) return undefined
  const { original, waitsFor } = unwrapped
  const waitsItself = original !== undefined && (listed === undefined ? meshProxies.has(name) : listed.kind === 'hook')
  return { own: original !== undefined, waitsFor: waitsItself ? [name, ...waitsFor] : waitsFor }
}
