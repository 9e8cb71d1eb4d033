import { mirrorKey } from '../src/admission/keys.ts'
import { readTouches, type Touch } from './record.ts'

/** What a rollout looks at of a pod; the rest of it isn't kept. Times are in ms since 1970. */
export interface SeenPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly version: string
  readonly labels: ReadonlyMap<string, string>
  readonly annotated: boolean
  readonly touches: ReadonlyMap<string, Touch>
  readonly generation: number
  /** The generation that the kubelet has acted on; undefined for kubelets before 1.33. */
  readonly observed: number | undefined
  /** undefined until it's scheduled. */
  readonly node: string | undefined
  readonly pullSecrets: readonly string[]
  /** Regular containers and init containers that restart always; none of a static pod, which nobody can change here. */
  readonly containers: readonly SeenContainer[]
  /** It is being deleted, or has ended. */
  readonly ending: boolean
  readonly ready: boolean
  /** When `ready` last changed. */
  readonly readyChanged: number
}

export interface SeenContainer {
  readonly name: string
  readonly list: 'containers' | 'initContainers'
  readonly index: number
  readonly image: string
  readonly pullPolicy: string
  readonly status: SeenStatus | undefined
}

export interface SeenStatus {
  /** The runtime's id of the container that runs or ran last; empty if none did. */
  readonly id: string
  /** Any of the names that the image has on the node, often not the one that was asked for. */
  readonly image: string
  readonly imageId: string
  /** When the running one was started, by the node's clock and cut to the second; otherwise 0. */
  readonly started: number
  readonly ready: boolean
  /** Since when it's known to be ready, at the latest; 0 when it isn't ready. */
  readonly readySince: number
  readonly state: 'waiting' | 'running' | 'terminated'
  readonly reason: string
  readonly message: string
  /** The container before this one. */
  readonly last:
    | { readonly id: string; readonly reason: string; readonly message: string; readonly ended: number }
    | undefined
}

/** The parts of the API's Pod that are read, as they come over the wire. */
export interface WirePod {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly imagePullSecrets?: readonly { readonly name?: string }[]
    readonly containers: readonly WireContainer[]
    readonly initContainers?: readonly WireContainer[]
  }
  readonly status?: {
    readonly phase?: string
    readonly observedGeneration?: number
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly lastTransitionTime?: string
    }[]
    readonly containerStatuses?: readonly WireStatus[]
    readonly initContainerStatuses?: readonly WireStatus[]
  }
}

interface WireContainer {
  readonly name: string
  readonly image?: string
  readonly imagePullPolicy?: string
  readonly restartPolicy?: string
}

interface WireState {
  readonly running?: { readonly startedAt?: string }
  readonly waiting?: { readonly reason?: string; readonly message?: string }
  readonly terminated?: WireTermination
}

interface WireTermination {
  readonly containerID?: string
  readonly reason?: string
  readonly message?: string
  readonly finishedAt?: string
  readonly exitCode?: number
}

interface WireStatus {
  readonly name: string
  readonly image: string
  readonly imageID?: string
  readonly containerID?: string
  readonly ready: boolean
  readonly state?: WireState
  readonly lastState?: WireState
}

/**
 * @param former what was seen of this pod before: a container that has become ready since is ready from `now` on. The API has no time for
 *   that, and the start of a container is no substitute: its hook may take minutes.
 */
export function seenPod(pod: WirePod, former: SeenPod | undefined, now: number): SeenPod {
  const { metadata, spec, status = {} } = pod
  const before = former?.uid === metadata.uid ? former : undefined
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  const container =
    (list: SeenContainer['list'], statuses: readonly WireStatus[] = []) =>
    (one: WireContainer, index: number): SeenContainer[] => {
      if (list === 'initContainers' && one.restartPolicy !== 'Always') return []
      const found = statuses.find(({ name }) => name === one.name)
      const was = before?.containers.find(({ name }) => name === one.name)?.status
      return [
        {
          name: one.name,
          list,
          index,
          image: one.image ?? '',
          pullPolicy: one.imagePullPolicy ?? 'IfNotPresent',
          status: found && seenStatus(found, { was, known: before !== undefined, now }),
        },
      ]
    }
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    version: metadata.resourceVersion,
    labels: new Map(Object.entries(metadata.labels ?? {})),
    annotated: metadata.annotations !== undefined,
    touches: readTouches(metadata.annotations ?? {}),
    generation: metadata.generation ?? 0,
    observed: status.observedGeneration,
    node: spec.nodeName || undefined,
    pullSecrets: (spec.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []),
    containers: metadata.annotations?.[mirrorKey]
      ? []
      : [
          ...(spec.initContainers ?? []).flatMap(container('initContainers', status.initContainerStatuses)),
          ...spec.containers.flatMap(container('containers', status.containerStatuses)),
        ],
    ending: metadata.deletionTimestamp !== undefined || status.phase === 'Succeeded' || status.phase === 'Failed',
    ready: ready?.status === 'True',
    readyChanged: time(ready?.lastTransitionTime),
  }
}

function seenStatus(
  { image, imageID: imageId = '', containerID: id = '', ready, state = {}, lastState }: WireStatus,
  { was, known, now }: { was: SeenStatus | undefined; known: boolean; now: number },
): SeenStatus {
  const detail = state.waiting ?? state.terminated
  const last = lastState?.terminated
  const started = time(state.running?.startedAt)
  const since = () => {
    if (!ready) return 0
    if (was?.ready && was.id === id) return was.readySince
    return known ? now : started
  }
  return {
    id,
    image,
    imageId,
    started,
    ready,
    readySince: since(),
    state: state.running ? 'running' : state.terminated ? 'terminated' : 'waiting',
    reason: detail?.reason ?? '',
    message: detail?.message ?? '',
    last: last && {
      id: last.containerID ?? '',
      reason: last.reason ?? '',
      message: last.message ?? '',
      ended: time(last.finishedAt),
    },
  }
}

const time = (text: string | undefined) => (text === undefined ? 0 : Date.parse(text) || 0)
