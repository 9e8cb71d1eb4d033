import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, type KubeConfig, PatchStrategy, setHeaderOptions, type V1Pod, Watch } from '@kubernetes/client-node'
import { call } from '../../src/kubernetes/call.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { missingObject } from '../../src/kubernetes/failure.ts'

/** How long a container's hook takes, in ms. */
const HOOK = 300

export interface FakeKubelet {
  /** How often each container was started, by `namespace/pod/container`. */
  readonly starts: ReadonlyMap<string, number>
  /** How many pods of a namespace had a container that was being restarted, at most at once. */
  mostDown(namespace: string): number
  stop(): Promise<void>
}

/** What is known of a pod while it's there. */
interface Known {
  latest: V1Pod
  /** Whether something is being done for it. */
  busy: boolean
  /** The generation that its status was last about. */
  said: number
  readonly containers: Map<string, Container>
}

interface Container {
  readonly image: string
  /** As the API has it. */
  readonly status: ContainerStatus
}

/**
 * A fake of all kubelets at once, on nodes that needn't exist: a new pod's containers run, and where an image changes that one container
 * is restarted. As with the real one, the status is the old container's until the new one's hook has returned, though it's about the new
 * generation. The hook of an image that has `broken` in its name fails. A pod whose containers all end by themselves (restartPolicy Never)
 * succeeds; a deleted one is gone. An image whose tag ends in `-again` is the one without that, by another name.
 * @param clocks of nodes, as far as they are before the API server's, in ms
 */
export function startFakeKubelet(kubeconfig: KubeConfig, clocks: Readonly<Record<string, number>> = {}): FakeKubelet {
  const core = new CoreV1Api(connection(kubeconfig))
  const known = new Map<string, Known>()
  const starts = new Map<string, number>()
  const down = new Map<string, { now: number; most: number }>()
  const working = new Set<Promise<void>>()
  const stop = new AbortController()

  function heard(type: string, latest: V1Pod) {
    const uid = latest.metadata?.uid ?? ''
    if (type === 'DELETED') return void known.delete(uid)
    if (!latest.spec?.nodeName || latest.status?.phase === 'Succeeded') return
    const pod = known.get(uid) ?? { latest, busy: false, said: 0, containers: new Map() }
    known.set(uid, Object.assign(pod, { latest }))
    if (pod.busy) return
    pod.busy = true
    const work = serve(pod).finally(() => {
      pod.busy = false
      working.delete(work)
    })
    working.add(work)
  }

  /** Until nothing of the pod differs from what was done. */
  async function serve(pod: Known) {
    while (!stop.signal.aborted) {
      const { metadata, spec } = pod.latest
      const generation = metadata?.generation ?? 1
      if (metadata?.deletionTimestamp) return await remove(pod)
      const listed = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
      const changed = listed.filter(({ name, image }) => pod.containers.get(name)?.image !== image)
      if (changed.length > 0) await restart(pod, changed, generation)
      else if (pod.said === generation) return
      await report(pod, generation)
    }
  }

  async function restart(pod: Known, changed: readonly { name: string; image?: string }[], generation: number) {
    const { name: podName, namespace = '' } = pod.latest.metadata ?? {}
    for (const { name } of changed) {
      const key = `${namespace}/${podName}/${name}`
      starts.set(key, (starts.get(key) ?? 0) + 1)
    }
    const count = down.get(namespace) ?? { now: 0, most: 0 }
    down.set(namespace, count)
    const again = pod.containers.size > 0
    if (again) {
      count.now += 1
      count.most = Math.max(count.most, count.now)
      await report(pod, generation)
    }
    await sleep(HOOK)
    for (const { name, image = '' } of changed) {
      pod.containers.set(name, { image, status: started(name, image, clockOf(pod), pod.containers.get(name)?.status) })
    }
    if (again) count.now -= 1
  }

  const clockOf = ({ latest: { spec } }: Known) =>
    new Date(Date.now() + (clocks[spec?.nodeName ?? ''] ?? 0)).toISOString()
  /** As a kubelet does it: until it succeeds, or the pod is gone. */
  async function insist(request: () => Promise<unknown>) {
    while (!stop.signal.aborted) {
      try {
        return void (await call(request))
      } catch (error) {
        if (missingObject(error)) return
        await sleep(100)
      }
    }
  }
  async function remove({ latest: { metadata } }: Known) {
    const { name = '', namespace = '' } = metadata ?? {}
    await insist(() => core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 }))
  }
  async function report(pod: Known, generation: number) {
    const { name = '', namespace = '' } = pod.latest.metadata ?? {}
    const body = { status: { ...statusOf(pod, clockOf(pod)), observedGeneration: generation } }
    const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
    await insist(() => core.patchNamespacedPodStatus({ name, namespace, body }, merge))
    pod.said = generation
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
    mostDown: (namespace) => down.get(namespace)?.most ?? 0,
    async stop() {
      stop.abort()
      await watching
      await Promise.all(working)
    },
  }
}

interface ContainerStatus {
  readonly containerID: string
  readonly restartCount: number
  readonly ready: boolean
  readonly [field: string]: unknown
}

/** The status of a container once its hook has returned. */
function started(name: string, image: string, now: string, before: ContainerStatus | undefined): ContainerStatus {
  const containerID = `containerd://${randomUUID().replaceAll('-', '')}`
  const base = {
    name,
    image: `docker.io/${image.includes('/') ? image : `library/${image}`}`,
    imageID: `sha256:${image.replace(/-again$/, '')}`,
    containerID,
    restartCount: before ? before.restartCount + 1 : 0,
  }
  if (image.includes('broken')) {
    // The waiter's words are the termination message of the container that the kubelet has killed.
    const ended = { containerID, exitCode: 137, reason: 'Error', message: `${name} was not ready after 60s` }
    const message = `back-off 10s restarting failed container=${name}`
    const state = { waiting: { reason: 'CrashLoopBackOff', message } }
    const lastState = { terminated: { ...ended, startedAt: now, finishedAt: now } }
    return { ...base, ready: false, started: false, state, lastState }
  }
  const ended = { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now }
  const lastState = before ? { terminated: { ...ended, containerID: before.containerID } } : {}
  return { ...base, ready: true, started: true, state: { running: { startedAt: now } }, lastState }
}

function statusOf({ latest: { spec, status = {} }, containers }: Known, now: string): Record<string, unknown> {
  if (spec?.restartPolicy === 'Never') return { phase: 'Succeeded' }
  const native = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const statusesOf = (listed: readonly { name: string }[] = []) =>
    listed.flatMap(({ name }) => containers.get(name)?.status ?? [])
  const containerStatuses = statusesOf(spec?.containers)
  const initContainerStatuses = statusesOf(native)
  const ready = [...containerStatuses, ...initContainerStatuses].every((one) => one.ready) ? 'True' : 'False'
  const former = status.conditions?.find(({ type }) => type === 'Ready')
  const lastTransitionTime = former?.status === ready ? former.lastTransitionTime : now
  return {
    phase: 'Running',
    startTime: status.startTime ?? now,
    conditions: [{ type: 'Ready', status: ready, lastTransitionTime }],
    containerStatuses,
    ...(initContainerStatuses.length > 0 ? { initContainerStatuses } : {}),
  }
}
