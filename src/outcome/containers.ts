import type { V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { lockVolume } from '../admission/hook/lock.ts'
import { type Polls, pollsOf } from '../admission/hook/polls.ts'
import { readSpec } from '../admission/pod/read.ts'
import { waitsFor } from '../kubernetes/waiting.ts'
import { coarse, type Happening, type Moment } from './moment.ts'

/** What a cluster shows of one container: its first start, and how it is now. Unknown times are absent. */
export interface Container {
  readonly name: string
  /** `init` runs to its end; `native` is an init container that stays. */
  readonly kind: 'init' | 'native' | 'regular'
  /** What has to end before the kubelet goes on. `foreign`: a PostStart hook that isn't ours. */
  readonly hook: Polls | 'foreign' | undefined
  readonly hasReadinessProbe: boolean
  readonly hasStartupProbe: boolean
  /** When the kubelet turned to it and looked for its image. */
  readonly begun: Moment | undefined
  readonly started: Moment | undefined
  /** When its last run began. */
  readonly lastStarted: Moment | undefined
  /** When its first run ended, if the status still has that run. */
  readonly ended: Moment | undefined
  /** When its hook failed for the first time. */
  readonly hookFailed: Moment | undefined
  readonly restarts: number
  readonly running: boolean
  /** What the kubelet calls ready: with a readinessProbe it has passed; otherwise the container runs. */
  readonly ready: boolean
  /** Its startupProbe has passed, or it has none; and its hook has ended. */
  readonly up: boolean
  /** Why it doesn't run now and won't without help. */
  readonly trouble: Trouble | undefined
  /** It once could not be started at all, for this reason. */
  readonly hadTrouble: { readonly why: 'image' | 'start-failed'; readonly moment: Moment } | undefined
  /** The keys of our lock's files without which it isn't created. */
  readonly locks: readonly string[]
  /** Why it waits, in the kubelet's words. */
  readonly waiting: string | undefined
}

/** `locked`: it waits for a sidecar, by a lock of ours. `ended`: it isn't started again. */
export interface Trouble {
  readonly why: 'crashed' | 'image' | 'start-failed' | 'locked' | 'ended'
  /** In the words of the kubelet or of the container itself. */
  readonly message: string
}

/** In the order in which the kubelet starts them. */
export function containersOf(pod: V1Pod, seen: readonly Happening[]): readonly Container[] {
  const { initContainers = [], containers = [], restartPolicy = 'Always' } = pod.spec ?? {}
  const all = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])]
  // A pod may have 15,000 containers: looking through all of them for each takes seconds.
  const statuses = Map.groupBy(all, ({ name }) => name)
  const happened = Map.groupBy(seen, ({ container }) => container)
  const hooks = hooksOf(pod)
  return [...initContainers, ...containers].map((container, index) => {
    const { name, lifecycle, readinessProbe, startupProbe } = container
    const isInit = index < initContainers.length
    const kind = !isInit ? 'regular' : container.restartPolicy === 'Always' ? 'native' : 'init'
    const [status] = statuses.get(name) ?? []
    const own = happened.get(name) ?? []
    const first = (...reasons: readonly string[]) => own.find(({ reason }) => reasons.includes(reason))?.moment
    const { running, terminated } = status?.state ?? {}
    const run = firstRun(status)
    const began = coarse(run?.startedAt)
    const last = running ?? terminated ?? status?.lastState?.terminated
    const started = first('Started') ?? (hasRun(run) ? began : undefined)
    const pull = own.findLast(({ reason }) => /^(Failed|BackOff|InspectFailed|ErrImageNeverPull)$/.test(reason))
    const { waiting } = status?.state ?? {}
    const trouble = status && troubleOf(container, kind, status, kind === 'native' ? 'Always' : restartPolicy)
    return {
      name,
      kind,
      hook: lifecycle?.postStart ? (hooks.get(name) ?? 'foreign') : undefined,
      hasReadinessProbe: readinessProbe !== undefined,
      hasStartupProbe: startupProbe !== undefined,
      begun: first('Pulling', 'Pulled', 'Created') ?? began,
      started,
      lastStarted: hasRun(last) ? coarse(last?.startedAt) : undefined,
      ended: hasRun(run) && run && 'finishedAt' in run ? coarse(run.finishedAt) : undefined,
      hookFailed: first('FailedPostStartHook'),
      restarts: status?.restartCount ?? 0,
      running: running !== undefined,
      ready: status?.ready ?? false,
      up: status?.started ?? false,
      trouble,
      hadTrouble: hadTrouble(own),
      locks: locksOf(container),
      waiting: started
        ? undefined
        : trouble?.why === 'locked'
          ? 'locked'
          : (pull?.message ?? waiting?.message ?? waiting?.reason),
    }
  })
}

/** One that couldn't be started has a "run" as well, which began in 1970 or never. */
const neverRan = ['StartError', 'ContainerCannotRun', 'ContainerStatusUnknown']
const hasRun = (run: V1ContainerState['running'] | V1ContainerState['terminated']): boolean =>
  run !== undefined && coarse(run.startedAt) !== undefined && !('reason' in run && neverRan.includes(run.reason ?? ''))

/** When a container began for the first time, by its status; undefined where that has lost it, or it never did. */
export function firstStart(status: V1ContainerStatus): Moment | undefined {
  const run = firstRun(status)
  return hasRun(run) ? coarse(run?.startedAt) : undefined
}

/** An app that fails so soon after its start may have missed its sidecar, in ms. */
const soon = 60_000

export interface FirstFailure {
  readonly exitCode: number
  /** How long it ran. */
  readonly ms: number
}

/** How a container's first run ended, if it was soon and with an error. Undefined too where the status has lost that run. */
export function firstFailure(status: V1ContainerStatus): FirstFailure | undefined {
  const run = firstRun(status)
  // Not killed for its memory, and not failed to start at all: those have causes of their own.
  if (!run || !('exitCode' in run) || run.exitCode === 0 || run.reason !== 'Error') return undefined
  const [began, ended] = [coarse(run.startedAt), coarse(run.finishedAt)]
  if (!began || !ended || ended.at - began.at > soon) return undefined
  return { exitCode: run.exitCode, ms: ended.at - began.at }
}

/** A status has the last run and the one before. */
function firstRun({ state, lastState, restartCount = 0 }: Partial<V1ContainerStatus> = {}) {
  const runs = [state?.running ?? state?.terminated, lastState?.terminated].filter((run) => run !== undefined)
  return runs.length > restartCount ? runs[restartCount] : undefined
}

function troubleOf(
  container: V1Container,
  kind: Container['kind'],
  { state, lastState, restartCount }: V1ContainerStatus,
  restartPolicy: string,
): Trouble | undefined {
  const { waiting, terminated } = state ?? {}
  const { reason = '', message = '' } = waiting ?? {}
  const waits = waitsFor(reason)
  if (waits === 'configuration' && isLocked(container, message)) return { why: 'locked', message }
  if (waits) return { why: waits === 'image' ? 'image' : 'start-failed', message: message || reason }
  const run = terminated ?? lastState?.terminated
  const words = run?.message?.trim() || (run && `exit code ${run.exitCode}`) || message
  const why = neverRan.includes(run?.reason ?? '') ? 'start-failed' : 'crashed'
  if (reason === 'CrashLoopBackOff') return { why, message: words }
  if (!terminated) return undefined
  const failed = terminated.exitCode !== 0
  if (kind === 'init') return failed ? { why, message: words } : undefined
  const again = restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && failed)
  if (!again) return { why: why === 'start-failed' ? why : 'ended', message: words }
  // The first time it's started again at once; then there is a back-off, in which a native sidecar stays `terminated`.
  return restartCount > 0 ? { why, message: words } : undefined
}

/** The API's type of this client may not know the field yet. */
type FileKey = {
  readonly fileKeyRef?: { readonly volumeName?: string; readonly key?: string; readonly optional?: boolean }
}

function locksOf({ env = [] }: V1Container): readonly string[] {
  return fileKeys(env).flatMap(({ volumeName, key, optional }) =>
    volumeName === lockVolume && key && optional !== true ? [key] : [],
  )
}
const fileKeys = (env: NonNullable<V1Container['env']>) =>
  env.flatMap(({ valueFrom }) => (valueFrom as FileKey | undefined)?.fileKeyRef ?? [])

/**
 * Whether a container that can't be configured only waits for its lock. The kubelet says `couldn't parse env file` (of any file) where the
 * file is missing, and names key and path where it's empty (kubelet_pods.go, makeEnvironmentVariables); all else is the user's own error.
 */
function isLocked(container: V1Container, message: string): boolean {
  const locks = locksOf(container)
  if (locks.length === 0) return false
  const only = fileKeys(container.env ?? []).every(({ volumeName }) => volumeName === lockVolume)
  return message === '' || (only && message.includes('env file')) || locks.some((key) => message.includes(`"${key}"`))
}

/** An image that is there is `Pulled`; what fails after that is the start. */
function hadTrouble(own: readonly Happening[]): Container['hadTrouble'] {
  const failed = own.find(({ reason }) => ['Failed', 'ErrImageNeverPull', 'InspectFailed'].includes(reason))
  if (!failed) return undefined
  const pulled = own.some(({ reason, moment }) => reason === 'Pulled' && moment.at <= failed.moment.at)
  return { why: pulled ? 'start-failed' : 'image', moment: failed.moment }
}

/** From the hooks themselves, whatever the annotations say. */
function hooksOf(pod: V1Pod): ReadonlyMap<string, Polls> {
  const { initContainers = [], containers = [] } = pod.spec ?? {}
  // Most pods have none, and a scan looks at thousands.
  if (![...initContainers, ...containers].some(({ lifecycle }) => lifecycle?.postStart)) return new Map()
  const spec = readSpec(JSON.parse(JSON.stringify({ spec: { initContainers, containers } })))
  if (!spec.ok) return new Map()
  const all = [...spec.value.initContainers, ...spec.value.containers]
  return new Map(
    all.flatMap(({ name, postStart }) => {
      const polls = pollsOf(postStart)
      return polls ? [[name, polls] as const] : []
    }),
  )
}
