import type { CoreV1Event, V1Container, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import type { Seen } from './seen.ts'

/** A container and what became of it. Times in s after the pod was given to its node. */
export interface Lived {
  readonly name: string
  readonly image?: string
  readonly native?: true
  /** Whom its hook waits for, and whether it writes a lock; or a hook that isn't ours. */
  readonly hook?: Ours | readonly string[]
  readonly locked?: true
  readonly probed?: true
  /** It runs, and its readinessProbe hasn't passed. */
  readonly unready?: boolean
  /** When the kubelet turned to it, if that was not just before its first run. */
  readonly begun?: number
  /** Each run: its start, its end if it has ended, and its exit code. */
  readonly runs: readonly (readonly [from: number, to?: number, exitCode?: number])[]
  /** Of one that doesn't run. */
  readonly waiting?: { readonly reason: string; readonly message?: string }
  /** When its hook failed for the first time. */
  readonly hookFailed?: number
  /** When its readinessProbe failed for the first and the last time. */
  readonly failed?: readonly [number, number]
}

interface Ours {
  readonly for: readonly string[]
  readonly locks?: true
  /** How long later starts wait, where the hook leases the lock's file; `refused`: where the node can't. */
  readonly lease?: number | 'always' | 'refused' | undefined
  readonly timeout?: string
  readonly onTimeout?: 'fail' | 'continue'
}

interface World {
  readonly restartPolicy?: string
  readonly now: number
  /** When the node's kubelet has restarted. */
  readonly kubelet?: readonly number[]
  readonly named?: string
  /** Since when not all of its containers are ready. */
  readonly unready?: number | undefined
}

/** When the pod was given to its node, in ms. */
export const began = Date.parse('2026-01-01T10:00:00Z')
const wire = (seconds: number) =>
  new Date(began + seconds * 1000).toISOString().replace(/\.\d+Z$/, 'Z') as unknown as Date
const key = 'SIDECAR_FIRST_READY_1'

/** What a cluster shows of such a pod: a status of the last two runs, and events as the kubelet counts them. Containers in the order of their start. */
export function lived(
  containers: readonly Lived[],
  { restartPolicy = 'Always', now, kubelet = [], named, unready }: World,
): Seen {
  const of = (native: boolean) => containers.filter((each) => (each.native ?? false) === native)
  const pod = {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: 'u',
      creationTimestamp: wire(0),
      annotations: { 'sidecar-first.dev/sidecars': named ?? 'sidecar' },
    },
    spec: { nodeName: 'node', restartPolicy, initContainers: of(true).map(specOf), containers: of(false).map(specOf) },
    status: {
      phase: 'Running',
      startTime: wire(0),
      conditions:
        unready === undefined ? [] : [{ type: 'ContainersReady', status: 'False', lastTransitionTime: wire(unready) }],
      initContainerStatuses: of(true).map(statusOf),
      containerStatuses: of(false).map(statusOf),
    },
  } as unknown as V1Pod
  return {
    pod,
    events: containers.flatMap(eventsOf),
    node: kubelet.map((at) => event('Starting', at, { involvedObject: { kind: 'Node' } })),
    now: began + now * 1000,
  }
}

function specOf({ name, image = name, native, hook, locked, probed }: Lived): V1Container {
  return {
    name,
    image,
    ...(native && { restartPolicy: 'Always' }),
    ...(probed && { readinessProbe: { httpGet: { port: 15_021, path: '/ready' } } }),
    ...(locked && {
      env: [{ name: key, valueFrom: { fileKeyRef: { volumeName: 'sidecar-first-lock', path: 'ready-1', key } } }],
    }),
    ...(hook && { lifecycle: { postStart: { exec: { command: 'for' in hook ? ours(hook) : [...hook] } } } }),
  } as V1Container
}

function ours(hook: Ours): string[] {
  const checks = hook.for.map((container) => ({
    container,
    check: 'http://:15021/ready',
    timeout: hook.timeout ?? '10m',
    onTimeout: hook.onTimeout ?? 'fail',
  }))
  const { lease } = hook
  const restarts = lease === 'always' ? lease : typeof lease === 'number' ? `${lease / 1000}s` : undefined
  const leased = lease === undefined ? { lease: 'off' } : restarts === undefined ? {} : { restarts }
  const lock = hook.locks && { file: '/.sidecar-first-lock/ready-1', key, handOver: '30s', ...leased }
  return ['/.sidecar-first/wait', '--spec', JSON.stringify({ v: 1, checks, ...(lock && { lock }) })]
}

function statusOf({ name, runs, waiting, unready = false }: Lived): V1ContainerStatus {
  const [last, before] = runs.slice(-2).toReversed()
  const ended = ([from, to = from, exitCode = 0]: Lived['runs'][number]) => ({
    terminated: {
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      startedAt: wire(from),
      finishedAt: wire(to),
    },
  })
  const runsNow = last !== undefined && last[1] === undefined
  const state = waiting ? { waiting } : runsNow ? { running: { startedAt: wire(last[0]) } } : last ? ended(last) : {}
  const previous = waiting ? last : before
  return {
    name,
    ready: runsNow && !unready,
    started: runsNow,
    restartCount: Math.max(0, runs.length - 1),
    state,
    lastState: previous ? ended(previous) : {},
  } as unknown as V1ContainerStatus
}

/** Of a container that has started, and of probes that failed. */
function eventsOf({ name, runs, begun, failed, hookFailed }: Lived): CoreV1Event[] {
  const about = { involvedObject: { kind: 'Pod', fieldPath: `spec.containers{${name}}` } }
  const [first] = runs
  const last = runs.at(-1)
  const from = begun ?? (first && first[0] - 0.1)
  return [
    ...(from === undefined ? [] : [event('Pulled', from, about, last?.[0], runs.length)]),
    ...(first && last ? [event('Started', first[0], about, last[0], runs.length)] : []),
    ...(hookFailed === undefined ? [] : [event('FailedPostStartHook', hookFailed, about)]),
    ...(failed
      ? [event('Unhealthy', failed[0], { ...about, message: 'Readiness probe failed: 503' }, failed[1], 2)]
      : []),
  ]
}

/** As the kubelet writes it: to the second, with its first time in its name. */
export function event(reason: string, at: number, more: object, last = at, count = 1): CoreV1Event {
  const name = `web.${(BigInt(Math.round(began + at * 1000)) * 1_000_000n).toString(16)}`
  return {
    metadata: { name },
    source: { component: 'kubelet', host: 'node' },
    reason,
    count,
    firstTimestamp: wire(at),
    lastTimestamp: wire(last),
    ...more,
  } as unknown as CoreV1Event
}
