import { randomUUID } from 'node:crypto'
import { CoreV1Api, type KubeConfig, PatchStrategy, setHeaderOptions, type V1Pod, Watch } from '@kubernetes/client-node'
import { call } from '../../src/kubernetes/call.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { failureKind } from '../../src/kubernetes/failure.ts'

/** What becomes of a container with an image. */
export type Fate = 'ready' | 'hook-fails' | 'not-pulled'

export interface FakeKubelet {
  /** How often each container was started, by `namespace/pod/container`. */
  readonly starts: ReadonlyMap<string, number>
  stop(): Promise<void>
}

/** What is left of a pod while it's known. */
interface Known {
  /** The image that each container was started with. */
  readonly images: Map<string, string>
  latest: V1Pod
  busy: boolean
}

/**
 * A fake of all kubelets at once, on nodes that needn't exist: a new pod's containers run, and where an image changes that one container
 * is another one a moment later. As with the real one, the status says nothing until the new container's hook has returned, and tells
 * the generation it's about. A pod whose containers all end by themselves (restartPolicy Never) succeeds; a deleted one is gone.
 * @param delay from a change to the status of it, in ms
 */
export function startFakeKubelet(
  kubeconfig: KubeConfig,
  { delay = 100, fate = () => 'ready' }: { delay?: number; fate?: (image: string) => Fate } = {},
): FakeKubelet {
  const core = new CoreV1Api(connection(kubeconfig))
  const known = new Map<string, Known>()
  const starts = new Map<string, number>()
  const working = new Set<Promise<void>>()
  const stop = new AbortController()

  function heard(type: string, pod: V1Pod) {
    const uid = pod.metadata?.uid ?? ''
    if (type === 'DELETED') return void known.delete(uid)
    if (!pod.spec?.nodeName || pod.status?.phase === 'Succeeded') return
    const one = known.get(uid) ?? { images: new Map(), latest: pod, busy: false }
    known.set(uid, Object.assign(one, { latest: pod }))
    if (one.busy) return
    one.busy = true
    const work = serve(one).finally(() => {
      one.busy = false
      working.delete(work)
    })
    working.add(work)
  }

  /** Until nothing of the pod differs from what was done. */
  async function serve(one: Known) {
    while (!stop.signal.aborted) {
      const { metadata, spec } = one.latest
      const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
      const changed = all.some(({ name, image = '' }) => one.images.get(name) !== image)
      if (metadata?.deletionTimestamp) return await remove(one.latest)
      if (!changed) return
      await new Promise((resolve) => setTimeout(resolve, delay))
      for (const { name, image = '' } of all) {
        if (one.images.get(name) === image) continue
        one.images.set(name, image)
        const key = `${metadata?.namespace}/${metadata?.name}/${name}`
        starts.set(key, (starts.get(key) ?? 0) + 1)
      }
      await report(one.latest)
    }
  }

  const ignore = (error: unknown) => {
    if (failureKind(error) !== 'missing' && !stop.signal.aborted) throw error
  }
  async function remove({ metadata }: V1Pod) {
    const { name = '', namespace = '' } = metadata ?? {}
    await call(() => core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 })).catch(ignore)
  }
  async function report(pod: V1Pod) {
    const { name = '', namespace = '' } = pod.metadata ?? {}
    const body = { status: statusOf(pod, fate, new Date().toISOString()) }
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
    await call(() => core.patchNamespacedPodStatus({ name, namespace, body }, merge)).catch(ignore)
  }

  async function watch() {
    while (!stop.signal.aborted) {
      await new Promise<void>((resolve) => {
        new Watch(kubeconfig)
          .watch('/api/v1/pods', {}, heard, () => resolve())
          .then(
            (request) => stop.signal.addEventListener('abort', () => request.abort()),
            () => resolve(),
          )
      })
    }
  }
  const watching = watch()
  return {
    starts,
    async stop() {
      stop.abort()
      await watching
      await Promise.all(working)
    },
  }
}

type WireStatus = Record<string, unknown>

/** The status that the kubelet would report once every container's hook has returned. */
function statusOf({ metadata, spec, status = {} }: V1Pod, fate: (image: string) => Fate, now: string): WireStatus {
  const { generation = 1 } = metadata ?? {}
  if (spec?.restartPolicy === 'Never') return { phase: 'Succeeded', observedGeneration: generation }
  const before = new Map(
    [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map((one) => [one.name, one]),
  )
  const reported = ({ name, image = '' }: { name: string; image?: string }) => {
    const was = before.get(name)
    if (was?.image === image) return was
    const what = fate(image)
    const id = `containerd://${randomUUID().replaceAll('-', '')}`
    const gone = was?.containerID && {
      terminated: { containerID: was.containerID, exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now },
    }
    const base = { name, image, imageID: `sha256:${image}`, restartCount: (was?.restartCount ?? -1) + 1 }
    switch (what) {
      case 'ready':
        return {
          ...base,
          containerID: id,
          ready: true,
          started: true,
          state: { running: { startedAt: now } },
          lastState: gone || {},
        }
      case 'hook-fails': {
        // The waiter's words are the termination message of the container that the kubelet has killed.
        const ended = { containerID: id, exitCode: 137, reason: 'Error', message: `${name} was not ready after 60s` }
        const state = {
          waiting: { reason: 'CrashLoopBackOff', message: `back-off 10s restarting failed container=${name}` },
        }
        const lastState = { terminated: { ...ended, startedAt: now, finishedAt: now } }
        return { ...base, containerID: id, ready: false, started: false, state, lastState }
      }
      case 'not-pulled': {
        const state = { waiting: { reason: 'ErrImagePull', message: `failed to pull "${image}": not found` } }
        return { ...base, containerID: was?.containerID, ready: false, started: false, state, lastState: gone || {} }
      }
      default:
        return what satisfies never
    }
  }
  const native = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const containerStatuses = (spec?.containers ?? []).map(reported)
  const initContainerStatuses = native.map(reported)
  const ready = [...containerStatuses, ...initContainerStatuses].every((one) => one.ready)
  const former = status.conditions?.find(({ type }) => type === 'Ready')
  const same = former?.status === (ready ? 'True' : 'False')
  const lastTransitionTime = same ? former?.lastTransitionTime : now
  return {
    phase: 'Running',
    observedGeneration: generation,
    startTime: status.startTime ?? now,
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }],
    containerStatuses,
    ...(initContainerStatuses.length > 0 ? { initContainerStatuses } : {}),
  }
}
