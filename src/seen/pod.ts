import type {
  V1Container,
  V1ContainerStateRunning,
  V1ContainerStateTerminated,
  V1ContainerStatus,
  V1Pod,
} from '@kubernetes/client-node'
import { lockVolume } from '../admission/hook/lock-names.ts'
import { type Polls, pollsOf } from '../admission/hook/polls.ts'
import { runsOwnHook } from '../admission/intent/own-hook.ts'
import { parseSidecars } from '../admission/intent/tiers.ts'
import { type Kind, kindOf } from '../admission/pod/kind.ts'
import type { Container } from '../admission/pod/pod.ts'
import { readMetadata, readSpec } from '../admission/pod/read.ts'
import { readStatus } from '../admission/pod/status.ts'
import { recognise } from '../admission/suggest/known.ts'
import { keys } from '../admission/words/keys.ts'
import { type ByPreset, byPresets } from './app.ts'
import { isKnown } from './known.ts'
import { msOf } from './moment.ts'
import { endedBy, isCrashLoop, waitsFor } from './reasons.ts'

/**
 * What of a pod says how it started, read once: a tenth of what the API server sends, or far less. It's plain JSON, so that thousands can be kept as
 * texts. Times are in ms and known to the second; those that nobody knows are absent.
 */
export interface LivePod {
  readonly name: string
  readonly namespace: string
  readonly node: string | undefined
  readonly created: number | undefined
  /** When it was given to its node, and when its kubelet took it on. */
  readonly given: number | undefined
  readonly taken: number | undefined
  /** Since when all its containers are ready; absent while they aren't. */
  readonly ready: number | undefined
  /** Since when not all of them have been ready; absent while they are. */
  readonly unready: number | undefined
  readonly phase: string | undefined
  /** Why it has failed as a whole: it was evicted, say. Then its status may have what its containers did before that. */
  readonly failure: string | undefined
  /** The sidecars that its annotations name. */
  readonly named: readonly string[]
  /** In the order in which the kubelet starts them. */
  readonly containers: readonly LiveContainer[]
}

export interface LiveContainer {
  readonly name: string
  readonly image: string
  readonly kind: Kind
  readonly byPreset: ByPreset
  /** What has to end before the kubelet goes on. `known`: one that isn't ours, of which a preset knows that it waits for its container; `foreign`: any other. */
  readonly hook: Polls | 'known' | 'foreign' | undefined
  readonly hasReadinessProbe: boolean
  readonly hasStartupProbe: boolean
  /** The keys of our lock's files without which it isn't created. */
  readonly locks: readonly string[]
  readonly restarts: number
  readonly state: 'waiting' | 'running' | 'ended'
  /** What the kubelet calls ready: with a readinessProbe it has passed; otherwise the container runs. */
  readonly ready: boolean
  /** Its startupProbe has passed, or it has none; and its hook has ended. */
  readonly up: boolean
  /** Why it doesn't run now and won't without help. */
  readonly trouble: Trouble | undefined
  /** Why it waits, in the kubelet's words. */
  readonly waiting: string | undefined
  /** A status has the last run and the one before, in this order. */
  readonly runs: readonly Run[]
}

/**
 * `locked`: it waits for a sidecar, by a lock of ours. `ended`: nothing starts it again. `not-restarted`: it has run, and should have been started again
 * by now.
 */
export interface Trouble {
  readonly why: 'crashed' | 'image' | 'start-failed' | 'locked' | 'ended' | 'not-restarted'
  /** Until this moment all is well, in ms. */
  readonly from?: number
  /** In the words of the kubelet or of the container itself. */
  readonly message: string
}

export interface Run {
  readonly began: number | undefined
  readonly ended: number | undefined
  /** Absent while it runs. */
  readonly exitCode: number | undefined
  /** `failed`: with an error of its own. `never-ran`: it couldn't be started. */
  readonly how: 'runs' | 'ended' | 'failed' | 'never-ran'
}

/** @param most characters that are kept of the kubelet's words about a container, and of the last words of one that has ended */
export function livePod({ metadata, spec, status }: V1Pod, most: number): LivePod {
  const { initContainers = [], containers = [], restartPolicy = 'Always', nodeName } = spec ?? {}
  const since = (type: string, is = 'True') =>
    msOf(status?.conditions?.find((each) => each.type === type && each.status === is)?.lastTransitionTime)
  // A pod may have 15,000 containers: looking through all of them for each takes seconds.
  const statuses = new Map(
    [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].map((each) => [each.name, each]),
  )
  const { hooks, byPreset } = parsed([...initContainers, ...containers], { metadata, spec })
  const seen = (container: V1Container, kind: Kind): LiveContainer => ({
    ...declared(container, kind, hooks.get(container.name)),
    byPreset: byPreset(container.name),
    ...shown(container, kind, { restartPolicy, down }, statuses.get(container.name), most),
  })
  const created = msOf(metadata?.creationTimestamp)
  const taken = msOf(status?.startTime)
  const unready = since('ContainersReady', 'False')
  // In a pod that is being deleted, nothing is started again.
  const down = metadata?.deletionTimestamp ? undefined : (unready ?? taken ?? created)
  return {
    name: metadata?.name ?? '',
    namespace: metadata?.namespace ?? '',
    node: nodeName,
    created,
    given: since('PodScheduled'),
    taken,
    ready: since('ContainersReady'),
    unready,
    phase: status?.phase,
    failure: status?.phase === 'Failed' ? failureOf(status)?.slice(0, most) : undefined,
    named: namedBy(metadata?.annotations ?? {}),
    containers: [
      ...initContainers.map((each) =>
        seen(each, kindOf({ list: 'initContainers', restartPolicy: each.restartPolicy })),
      ),
      ...containers.map((each) => seen(each, 'regular')),
    ],
  }
}

const failureOf = ({ reason, message }: NonNullable<V1Pod['status']>): string | undefined =>
  reason && message ? `${reason}: ${message}` : reason

/** What it asks for, and how it was patched. Anybody may have written either. */
function namedBy(annotations: Readonly<Record<string, string>>): readonly string[] {
  const asked = parseSidecars(annotations[keys.sidecars] ?? '')
  const { tiers } = readStatus(annotations[keys.status])
  return [
    ...(asked.ok ? asked.value.flatMap((tier) => (tier === '*' ? [] : tier)) : []),
    ...(Array.isArray(tiers) ? tiers.flat().filter((name) => typeof name === 'string') : []),
  ]
}

/** From the hooks themselves, whatever the annotations say; and what presets know. Most pods have neither, and a scan looks at thousands. */
function parsed(all: readonly V1Container[], pod: object) {
  const nothing = { hooks: new Map<string, Polls | 'known'>(), byPreset: (): ByPreset => undefined }
  const known = all.some(isKnown)
  if (!known && all.every(({ lifecycle }) => !lifecycle?.postStart)) return nothing
  const plain: unknown = JSON.parse(JSON.stringify(pod))
  const [spec, metadata] = [readSpec(plain), readMetadata(plain)]
  if (!spec.ok) return nothing
  const { containers, initContainers } = spec.value
  const hooks = [...initContainers, ...containers].flatMap((container) => {
    const polls = pollsOf(container.postStart) ?? knownHook(container)
    return polls ? [[container.name, polls] as const] : []
  })
  const pairs = new Map(hooks)
  if (!known || !metadata.ok) return { ...nothing, hooks: pairs }
  return { hooks: pairs, byPreset: byPresets({ metadata: metadata.value, spec: spec.value }) }
}

/** The hook that an injector writes, and that is known to wait for its own container. */
function knownHook(container: Container): 'known' | undefined {
  const { postStart: hook } = container
  const own = recognise(container)?.preset.ownHook
  return own && hook?.kind === 'exec' && runsOwnHook(own, hook.command, false) ? 'known' : undefined
}

/** What a container's spec says of it. */
function declared(container: V1Container, kind: Kind, polls: Polls | 'known' | undefined) {
  const { name, image = '', lifecycle, readinessProbe, startupProbe } = container
  return {
    name,
    image,
    kind,
    hook: lifecycle?.postStart ? (polls ?? 'foreign') : undefined,
    hasReadinessProbe: readinessProbe !== undefined,
    hasStartupProbe: startupProbe !== undefined,
    locks: locksOf(container),
  } as const
}

/** What of a pod says whether a container is started again. */
interface Again {
  readonly restartPolicy: string
  /** Since when one doesn't run that doesn't say so; undefined where nothing is started again. */
  readonly down: number | undefined
}

/** What its status says of it. */
function shown(
  container: V1Container,
  kind: Kind,
  { restartPolicy, down }: Again,
  status: V1ContainerStatus | undefined,
  most: number,
) {
  const { waiting, running, terminated } = status?.state ?? {}
  const again = { restartPolicy: container.restartPolicy ?? restartPolicy, down }
  const trouble = status && troubleOf(container, kind, status, again)
  return {
    restarts: status?.restartCount ?? 0,
    state: running ? 'running' : terminated ? 'ended' : 'waiting',
    ready: status?.ready ?? false,
    up: status?.started ?? false,
    trouble: trouble && { ...trouble, message: trouble.message.slice(0, most) },
    waiting: trouble?.why === 'locked' ? 'locked' : (waiting?.message ?? waiting?.reason)?.slice(0, most),
    runs: runsOf(running ?? terminated, status?.lastState?.terminated),
  } as const
}

/** Between two runs a kubelet writes the same one as both: then nobody knows the one before. */
function runsOf(
  ...[last, before]: readonly (V1ContainerStateRunning | V1ContainerStateTerminated | undefined)[]
): readonly Run[] {
  const [one, other] = [last && runOf(last), before && runOf(before)]
  const isSame = one && other && one.began === other.began && one.ended === other.ended
  return [...(one ? [one] : []), ...(other && !isSame ? [other] : [])]
}

function runOf(run: V1ContainerStateRunning | V1ContainerStateTerminated): Run {
  const began = msOf(run.startedAt)
  if (!('exitCode' in run)) return { began, ended: undefined, exitCode: undefined, how: 'runs' }
  const { exitCode, reason, finishedAt } = run
  const how = isNever(reason) ? 'never-ran' : exitCode !== 0 && endedBy(reason) === 'error' ? 'failed' : 'ended'
  return { began, ended: msOf(finishedAt), exitCode, how }
}

const isNever = (reason: string | undefined): boolean => ['never-ran', 'lost'].includes(endedBy(reason) ?? '')

function troubleOf(
  container: V1Container,
  kind: Kind,
  { state, lastState, restartCount }: V1ContainerStatus,
  { restartPolicy, down }: Again,
): Trouble | undefined {
  const { waiting, terminated } = state ?? {}
  const { reason = '', message = '' } = waiting ?? {}
  const waits = waitsFor(reason)
  if (waits === 'configuration' && isLocked(container, message)) return { why: 'locked', message }
  if (waits) return { why: waits === 'image' ? 'image' : 'start-failed', message: message || reason }
  const run = terminated ?? lastState?.terminated
  const words = run?.message?.trim() || (run && `exit code ${run.exitCode}`) || message
  const why = isNever(run?.reason) ? 'start-failed' : 'crashed'
  if (isCrashLoop(reason)) return { why, message: words }
  if (!run || state?.running) return undefined
  const failed = run.exitCode !== 0
  if (kind === 'init') return terminated && failed ? { why, message: words } : undefined
  const again =
    waiting !== undefined ||
    restartPolicy === 'Always' ||
    (restartPolicy === 'OnFailure' && failed) ||
    isRuled(container, run.exitCode)
  if (!again) return { why: why === 'start-failed' ? why : 'ended', message: words }
  // There is a back-off from the second time on, in which a native sidecar stays `terminated`.
  if (terminated && restartCount > 0 && (failed || kind === 'native')) return { why, message: words }
  const since = msOf(run.finishedAt) ?? down
  if (down === undefined || since === undefined || endedBy(run.reason) === 'never-ran') return undefined
  return {
    why: 'not-restarted',
    from: since + atOnce,
    message: waiting ? `${words}, then ${message || reason || 'nothing'}` : words,
  }
}

/** The first time it's started again at once; with an image to pull or a node that was away, it may take so long, in ms. */
const atOnce = 60_000

/** Whether a rule of its own starts it again, whatever its policy. */
const isRuled = ({ restartPolicyRules = [] }: V1Container, exitCode: number): boolean =>
  restartPolicyRules.some(({ exitCodes: { operator, values = [] } = { operator: '' } }) =>
    operator === 'In' ? values.includes(exitCode) : operator === 'NotIn' && !values.includes(exitCode),
  )

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
