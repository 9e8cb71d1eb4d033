import type { V1Container, V1ContainerStatus, V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { isLockKey } from '../src/admission/hook/lock-names.ts'
import { kindOf } from '../src/admission/pod/kind.ts'
import { mirrorKey } from '../src/admission/words/keys.ts'
import type { WireObject } from '../src/kubernetes/follow.ts'
import type { Wire } from '../src/kubernetes/wire.ts'
import { endedBy } from '../src/seen/reasons.ts'
import { type Note, readNotes, writeNote } from './pod-note.ts'

/**
 * What a rollout looks at of a pod; the rest isn't kept. Times are in ms since 1970. Those called "seen" are by this process's own sight
 * and the API server's clock: nodes' clocks are wrong, and the API doesn't record most of them.
 */
export interface SeenPod {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly version: string
  readonly labels: ReadonlyMap<string, string>
  readonly annotated: boolean
  readonly notes: ReadonlyMap<string, Note>
  readonly generation: number
  /** The generation that the kubelet has seen, though perhaps not acted on; undefined for kubelets before 1.34. */
  readonly observed: number | undefined
  /** undefined until it's scheduled. */
  readonly node: string | undefined
  /** The kubelet has taken it on. */
  readonly taken: boolean
  readonly pullSecrets: readonly string[]
  /** Its controlling owner; undefined for a bare pod. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined
  /** Regular containers and init containers that restart always; none of a static pod, which nobody can change here. */
  readonly containers: readonly SeenContainer[]
  /** It is being deleted, or has ended. */
  readonly ending: boolean
  readonly ready: boolean
  /** When `ready` last changed, by the node's clock. */
  readonly readyChanged: number
  /** When that was first seen. */
  readonly readySeen: number
  /** When it was last seen to lose `ready`, or to be without it from the first sight on; otherwise 0. */
  readonly lostSeen: number
  /** Which sandbox it has, and when that one was first seen; 0 if it was there from the first sight on. */
  readonly sandbox: string
  readonly sandboxSeen: number
}

/** A pod, and the one of its containers that matters. */
export interface PodWith {
  readonly pod: SeenPod
  readonly container: SeenContainer
}

export interface SeenContainer {
  readonly name: string
  readonly list: 'containers' | 'initContainers'
  readonly index: number
  readonly image: string
  readonly pullPolicy: string
  /** It can't be created before the tiers ahead of it are ready. */
  readonly locked: boolean
  readonly status: SeenStatus | undefined
}

export interface SeenStatus {
  /** The runtime's id of the container that runs or ran last; empty if none did. */
  readonly id: string
  /** Any of the names that the image has on the node, often not the one that was asked for. */
  readonly image: string
  readonly imageId: string
  readonly ready: boolean
  /** When it was first seen ready; otherwise 0. */
  readonly readySince: number
  /** This container has been seen ready. */
  readonly wasReady: boolean
  readonly state: 'waiting' | 'running' | 'terminated'
  /** Why it waits or has ended. */
  readonly reason: string
  readonly message: string
  /** The container before this one. */
  readonly last: SeenEnd | undefined
  /** The latest of its containers that has run out of its memory, and when that was first seen. */
  readonly outOfMemory: { readonly id: string; readonly seen: number } | undefined
  /** When the kubelet was first known to have seen the note's generation; 0 if it hasn't, or without a note. */
  readonly acted: number
  /** It came after that: the kubelet has made it by what the note asks for. */
  readonly isNew: boolean
  /** The ends of containers since then that may be the image's fault, the latest three. */
  readonly ends: readonly End[]
}

interface End {
  readonly id: string
  readonly seen: number
  readonly outOfMemory: boolean
  /** It had been ready. */
  readonly wasReady: boolean
}

interface SeenEnd {
  readonly id: string
  readonly reason: string
  readonly message: string
  readonly exitCode: number
  /** By the node's clock. */
  readonly ended: number
}

/** A pod as it comes over the wire. What the API server always sets isn't optional here. */
export type WirePod = Wire<V1Pod> & {
  readonly metadata: WireObject['metadata'] & { readonly namespace: string; readonly uid: string }
  readonly spec: Wire<V1PodSpec>
}

/** Two containers of a pod that end within this time have ended for one reason, in ms. Both times are by one clock, the node's. */
const SAME_WINDOW = 10_000
/** How many ends of a container are remembered. */
const ENDS = 3

/** @param former what was seen of this pod before: what the API has no time for is from `now` on */
export function seenPod(pod: WirePod, former: SeenPod | undefined, now: number): SeenPod {
  const { metadata, spec, status = {} } = pod
  const before = former?.uid === metadata.uid ? former : undefined
  const condition = (name: string) => status.conditions?.find(({ type }) => type === name)
  const ready = condition('Ready')
  const isReady = ready?.status === 'True'
  const started = condition('PodReadyToStartContainers')
  const sandbox = started?.status === 'True' ? (started.lastTransitionTime ?? '') : (before?.sandbox ?? '')
  const sandboxSeen = before === undefined || before.sandbox === sandbox ? (before?.sandboxSeen ?? 0) : now
  const generation = metadata.generation ?? 0
  const notes = keptNotes(readNotes(metadata.annotations ?? {}), before, generation)
  const observed = status.observedGeneration
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  const look: Look = { before, now, observed, notes, statuses, fresh: sandboxSeen === now }
  const seen =
    (list: SeenContainer['list']) =>
    (container: Wire<V1Container>, index: number): SeenContainer[] => {
      const { name, image = '', imagePullPolicy: pullPolicy = 'IfNotPresent', env = [], restartPolicy } = container
      if (kindOf({ list, restartPolicy }) === 'init') return []
      const found = statuses.find((one) => one.name === name)
      const locked = env.some((one) => isLockKey(one.name))
      return [{ name, list, index, image, pullPolicy, locked, status: found && seenStatus(found, look) }]
    }
  return {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    version: metadata.resourceVersion,
    labels: new Map(Object.entries(metadata.labels ?? {})),
    annotated: metadata.annotations !== undefined,
    notes,
    generation,
    observed,
    node: spec.nodeName || undefined,
    taken: status.startTime !== undefined,
    pullSecrets: (spec.imagePullSecrets ?? []).flatMap(({ name }) => name ?? []),
    owner: ownerOf(metadata.ownerReferences),
    containers: metadata.annotations?.[mirrorKey]
      ? []
      : [
          ...(spec.initContainers ?? []).flatMap(seen('initContainers')),
          ...spec.containers.flatMap(seen('containers')),
        ],
    ending: metadata.deletionTimestamp !== undefined || status.phase === 'Succeeded' || status.phase === 'Failed',
    ready: isReady,
    readyChanged: time(ready?.lastTransitionTime),
    readySeen: before?.ready === isReady ? before.readySeen : now,
    lostSeen: !isReady && before?.ready !== false ? now : (before?.lostSeen ?? 0),
    sandbox,
    sandboxSeen,
  }
}

/**
 * The notes of a pod. Each touch makes a generation, so as long as that one lasts nobody but a forger takes its note away or changes more of it
 * than what admission has made of the image.
 */
function keptNotes(
  notes: ReadonlyMap<string, Note>,
  before: SeenPod | undefined,
  generation: number,
): ReadonlyMap<string, Note> {
  if (before?.generation !== generation) return notes
  const known = [...before.notes].filter(([, { gen }]) => gen === generation)
  if (known.length === 0) return notes
  const kept = known.map(([container, note]): [string, Note] => {
    const found = notes.get(container)
    const joined = found && { ...note, effective: found.effective }
    return [container, joined && writeNote(joined) === writeNote(found) ? found : note]
  })
  return new Map([...notes, ...kept])
}

function ownerOf(references: WirePod['metadata']['ownerReferences'] = []): SeenPod['owner'] {
  const found = references.find(({ controller }) => controller)
  return found && { kind: found.kind, name: found.name }
}

interface Look {
  readonly before: SeenPod | undefined
  readonly now: number
  readonly observed: number | undefined
  readonly notes: ReadonlyMap<string, Note>
  readonly statuses: readonly Wire<V1ContainerStatus>[]
  /** The sandbox is new: what has ended with the old one says nothing. */
  readonly fresh: boolean
}

function seenStatus(
  found: Wire<V1ContainerStatus>,
  { before, now, observed, notes, statuses, fresh }: Look,
): SeenStatus {
  const { name, image, imageID: imageId = '', containerID: id = '', ready, state = {}, lastState } = found
  const was = before?.containers.find((one) => one.name === name)?.status
  const detail = state.waiting ?? state.terminated
  const last = lastState?.terminated && endOf(lastState.terminated)
  const note = notes.get(name)
  const seen = note !== undefined && (observed ?? 0) >= note.gen
  const same = note !== undefined && before?.notes.get(name)?.gen === note.gen
  const acted = seen ? (same && was?.acted ? was.acted : now) : 0
  const isNew = seen && same && was !== undefined && was.acted > 0 && id !== '' && (was.id !== id || was.isNew)
  const ended = state.terminated ? endOf(state.terminated, id) : last
  const isNews = ended && endedBy(ended.reason) === 'memory' && ended.id !== was?.outOfMemory?.id
  const neighbours = statuses.filter((one) => one.name !== name)
  const ends = seen && same && !fresh ? [...(was?.ends ?? [])] : []
  const isUntold = ended && ended.id !== '' && !ends.some((one) => one.id === ended.id)
  if (seen && isUntold && !fresh && !note.ids.includes(ended.id) && !isEnvironment(ended, neighbours)) {
    const wasReady = was?.id === ended.id && was.wasReady
    ends.push({ id: ended.id, seen: now, outOfMemory: endedBy(ended.reason) === 'memory', wasReady })
  }
  return {
    id,
    image,
    imageId,
    ready,
    readySince: ready ? (was?.ready && was.id === id ? was.readySince : now) : 0,
    wasReady: ready || (was?.id === id && was.wasReady),
    state: state.running ? 'running' : state.terminated ? 'terminated' : 'waiting',
    reason: detail?.reason ?? '',
    message: detail?.message ?? '',
    last,
    outOfMemory: isNews ? { id: ended.id, seen: now } : was?.outOfMemory,
    acted,
    isNew,
    ends: ends.slice(-ENDS),
  }
}

type Termination = NonNullable<NonNullable<Wire<V1ContainerStatus>['state']>['terminated']>

const endOf = (
  { containerID = '', reason = '', message = '', exitCode, finishedAt }: Termination,
  id = containerID,
): SeenEnd => ({ id, reason, message, exitCode, ended: time(finishedAt) })

/** The node was rebooted, the container's end is unknown, or another container of the pod ended in the same window. */
function isEnvironment({ reason, exitCode, ended }: SeenEnd, neighbours: readonly Wire<V1ContainerStatus>[]): boolean {
  if (endedBy(reason) === 'lost' || (exitCode === 255 && reason === 'Unknown')) return true
  // A container's own trouble with memory, and the waiter's verdict, stay its own.
  if (endedBy(reason) === 'memory') return false
  return neighbours.some(({ state, lastState }) => {
    const other = state?.terminated ?? lastState?.terminated
    return other !== undefined && ended > 0 && Math.abs(time(other.finishedAt) - ended) <= SAME_WINDOW
  })
}

const time = (text: string | undefined) => (text === undefined ? 0 : Date.parse(text) || 0)
