import type { CoreV1Event, V1Container, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { unwrap } from '../admission/hook/unwrap.ts'
import { waiterName } from '../admission/hook/waiter.ts'
import { readSpec } from '../admission/pod/read.ts'
import { coarse, type Happening, happenings, type Moment, since } from './moment.ts'

/** The first start of a container. Unknown times are absent. */
export interface Start {
  readonly name: string
  /** `init` runs to its end; `native` is an init container that stays. */
  readonly kind: 'init' | 'native' | 'regular'
  /** When the kubelet turned to it and looked for its image. */
  readonly begun: Moment | undefined
  readonly started: Moment | undefined
  /** Its PostStart hook, which runs from its start. */
  readonly hook: Hook | undefined
  /** At the latest: a hook of ours that waited for it has ended. */
  readonly ready: Moment | undefined
  /** Of an init container. */
  readonly finished: Moment | undefined
  readonly restarts: number
  /** Whether it is ready by now. */
  readonly readyNow: boolean
  /** Why it hasn't started, or isn't restarted yet. */
  readonly waiting: string | undefined
}

export interface Hook {
  /** The containers that it waits for; empty for a hook that isn't ours. */
  readonly waitsFor: readonly string[]
  /** When the kubelet went on to the next container; absent if nothing shows it. */
  readonly ended: Moment | undefined
  readonly outcome: 'running' | 'ended' | 'failed'
}

export interface Timeline {
  readonly namespace: string
  readonly name: string
  /** Where the axis begins. */
  readonly from: Moment
  /** Where it ends. */
  readonly until: number
  /** In the order of their start. */
  readonly starts: readonly Start[]
  /** What can't be known about this start, one sentence each. */
  readonly unknown: readonly string[]
}

/** A pod's start, from its status and its events. @param now ms */
export function timelineOf(pod: V1Pod, events: readonly CoreV1Event[], now: number): Timeline {
  const seen = happenings(events)
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  const hooks = waitedFor(pod)
  const order = [...initContainers, ...containers]
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  const raw = order.map((container) => {
    const status = statuses.find(({ name }) => name === container.name)
    const regular = containers.includes(container)
    return firstStart(
      container,
      regular,
      status,
      seen.filter((each) => each.container === container.name),
    )
  })
  const starts = raw.map((start, index): Start => {
    const next = raw.slice(index + 1).find(({ begun }) => begun !== undefined)
    const { failure, hasHook, shownRunning, ...rest } = start
    if (!hasHook) return rest
    const ended = start.started && (failure ?? next?.begun)
    // Its status is only written once the hook has ended.
    const outcome = failure ? 'failed' : ended || shownRunning ? 'ended' : 'running'
    return { ...rest, hook: { waitsFor: hooks.get(start.name) ?? [], ended, outcome } }
  })
  const settled = ready(starts, pod)
  const scheduled = seen.find(({ reason }) => reason === 'Scheduled')?.moment
  const from = earliest([
    scheduled ?? coarse(pod.status?.startTime ?? pod.metadata?.creationTimestamp),
    ...settled.flatMap(({ begun, started }) => [begun, started]),
  ])
  const moments = settled.flatMap(({ begun, started, hook, ready, finished }) => [
    begun,
    started,
    hook?.ended,
    ready,
    finished,
  ])
  const over = settled.every(({ started, hook }) => started !== undefined && hook?.outcome !== 'running')
  const last = Math.max(from?.at ?? now, ...moments.flatMap((moment) => moment?.at ?? []))
  return {
    namespace: pod.metadata?.namespace ?? '',
    name: pod.metadata?.name ?? '',
    from: from ?? { at: now, exact: false },
    until: over ? last : Math.max(now, last),
    starts: settled,
    unknown: unknowns(settled, seen),
  }
}

interface Raw extends Omit<Start, 'hook'> {
  readonly hook: undefined
  readonly hasHook: boolean
  readonly shownRunning: boolean
  /** Of its hook. */
  readonly failure: Moment | undefined
}

function firstStart(
  { name, lifecycle, restartPolicy }: V1Container,
  regular: boolean,
  status: V1ContainerStatus | undefined,
  seen: readonly Happening[],
): Raw {
  const first = (...reasons: readonly string[]) => seen.find(({ reason }) => reasons.includes(reason))?.moment
  const { running, waiting } = status?.state ?? {}
  const run = firstRun(status)
  const began = coarse(run?.startedAt)
  const kind = regular ? 'regular' : restartPolicy === 'Always' ? 'native' : 'init'
  const started = first('Started') ?? began
  const pull = seen.findLast(({ reason }) => /^(Failed|BackOff|InspectFailed)$/.test(reason))?.message
  return {
    name,
    kind,
    begun: first('Pulling', 'Pulled', 'Created') ?? began,
    started,
    hook: undefined,
    hasHook: lifecycle?.postStart !== undefined,
    shownRunning: running !== undefined,
    failure: first('FailedPostStartHook'),
    ready: undefined,
    finished: kind === 'init' ? coarse(run && 'finishedAt' in run ? run.finishedAt : undefined) : undefined,
    restarts: status?.restartCount ?? 0,
    readyNow: status?.ready ?? false,
    waiting: started ? undefined : (pull ?? waiting?.message ?? waiting?.reason),
  }
}

/** A status has the last run and the one before. */
function firstRun({ state, lastState, restartCount = 0 }: Partial<V1ContainerStatus> = {}) {
  const runs = [state?.running ?? state?.terminated, lastState?.terminated].filter((run) => run !== undefined)
  return runs.length > restartCount ? runs[restartCount] : undefined
}

/** From the hooks themselves, whatever the annotations say. */
function waitedFor(pod: V1Pod): ReadonlyMap<string, readonly string[]> {
  const spec = readSpec(JSON.parse(JSON.stringify(pod)))
  if (!spec.ok) return new Map()
  const all = [...spec.value.initContainers, ...spec.value.containers]
  return new Map(
    all.flatMap(({ name, postStart }) => {
      const hook = unwrap(postStart)
      return hook?.ours ? [[name, hook.waitsFor] as const] : []
    }),
  )
}

/** A condition has only its last change: one that comes so long after the last start, in ms, is hardly the first. */
const plausible = 600_000

/** A hook that succeeded proves that those it waited for were ready; for the last one, the pod's condition does. */
function ready(starts: readonly Start[], pod: V1Pod): Start[] {
  const last = Math.max(...starts.map(({ started }) => started?.at ?? 0))
  const condition = since(pod, 'ContainersReady')
  const first = starts.every(({ restarts }) => restarts === 0) && condition && condition.at < last + plausible
  const all = first ? condition : undefined
  return starts.map((start, index) => {
    if (start.kind === 'init') {
      const next = starts.slice(index + 1).find(({ begun }) => begun !== undefined)?.begun
      return { ...start, finished: within(start.finished, start.started, next) }
    }
    const gate = starts.find(({ hook }) => hook?.waitsFor.includes(start.name))?.hook
    if (gate) return { ...start, ready: gate.outcome === 'failed' ? undefined : gate.ended }
    return { ...start, ready: within(all, start.started, undefined) }
  })
}

/** A time cut to the second can't be before what came before it. */
function within(moment: Moment | undefined, after: Moment | undefined, before: Moment | undefined): Moment | undefined {
  if (moment === undefined || moment.exact) return moment
  const at = Math.min(Math.max(moment.at, after?.at ?? moment.at), before?.at ?? Number.POSITIVE_INFINITY)
  return { ...moment, at }
}

function earliest(moments: readonly (Moment | undefined)[]): Moment | undefined {
  return moments.reduce((least, moment) => (moment && (!least || moment.at < least.at) ? moment : least), undefined)
}

function unknowns(starts: readonly Start[], seen: readonly Happening[]): string[] {
  const restarted = starts.filter(({ restarts }) => restarts > 0).map(({ name }) => name)
  const gated = starts.some(({ hook }) => (hook?.waitsFor.length ?? 0) > 1)
  const lacking = starts.some(({ started, begun }) => (started ?? begun)?.exact === false)
  const silent = starts
    .filter(({ kind, ready, readyNow }) => kind !== 'init' && readyNow && !ready)
    .map(({ name }) => name)
  const open = starts.filter(({ hook }) => hook?.outcome === 'ended' && !hook.ended)
  return [
    ...(lacking && !seen.some(({ container }) => container)
      ? [
          'there are no events (a cluster keeps them for an hour, and you must be allowed to list them): times are to the second',
        ]
      : lacking
        ? ['some events are gone: what the status alone tells is to the second']
        : []),
    ...(gated ? ['which of the sidecars that a hook waits for was the last is not recorded'] : []),
    ...(starts.some(({ kind, name }) => kind === 'init' && name !== waiterName)
      ? ['the end of an init container is known to the second']
      : []),
    ...open.map(({ name }) => `the end of the hook of ${name} leaves no trace: nothing starts after it`),
    ...(silent.length > 0 ? [`when ${silent.join(', ')} was first ready; it is drawn as if at once`] : []),
    ...(restarted.length > 0
      ? [`${restarted.join(', ')} restarted since: this is the first start, as far as events tell`]
      : []),
  ]
}
