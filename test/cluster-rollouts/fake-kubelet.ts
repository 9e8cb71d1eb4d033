import { setTimeout as sleep } from 'node:timers/promises'
import { PatchStrategy } from '@kubernetes/client-node'
import { FETCH_LABEL } from '../../rollouts/fetch.ts'
import type { WirePod } from '../../rollouts/pod.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import type { ApiServer } from '../apiserver/apiserver.ts'

/** How long a container's hook takes, in ms. */
const HOOK = 400

interface Running {
  image: string
  starts: number
  /** When its hook is over. */
  ready: number
  said: string
}

/**
 * A fake kubelet for every pod of a namespace: it reports as the real one does, which is nothing at all while a hook runs; and it knows
 * what is really down.
 */
export function startFakeKubelet(api: ApiServer, namespace: string) {
  const calls = rawCalls(connection(api.kubeconfig('admin')))
  const running = new Map<string, Running>()
  const stop = new AbortController()
  let mostDown = 0

  async function turn() {
    const { items } = await calls.get<{ items: WirePod[] }>(`/api/v1/namespaces/${namespace}/pods`)
    const now = performance.now()
    for (const pod of items) {
      if (pod.metadata.labels?.[FETCH_LABEL] === undefined) await run(pod, now)
      else await report(calls, pod, 'Succeeded', [{ name: pod.spec.containers[0]?.name, ...succeeded }])
    }
    mostDown = Math.max(mostDown, [...running.values()].filter(({ ready, starts }) => starts > 1 && ready > now).length)
  }

  async function run(pod: WirePod, now: number) {
    const { uid, generation = 1 } = pod.metadata
    const image = pod.spec.containers[0]?.image ?? ''
    const found = running.get(uid) ?? { image: '', starts: 0, ready: 0, said: '' }
    running.set(uid, found)
    if (found.ready > now) return
    if (found.image !== image) {
      // The kubelet has seen the spec, and the status still speaks of the old container.
      if (found.starts > 0) await say(pod, found, generation)
      Object.assign(found, { image, starts: found.starts + 1, ready: now + HOOK })
    } else await say(pod, found, generation)
  }

  async function say(pod: WirePod, found: Running, observedGeneration: number) {
    const what = `${found.starts} ${observedGeneration}`
    if (found.said === what) return
    const startedAt = new Date().toISOString().replace(/\.\d+Z/, 'Z')
    const status = {
      name: 'envoy',
      image: `docker.io/library/${found.image}`,
      imageID: `sha256:${found.image}`,
      containerID: `fake://${pod.metadata.uid}-${found.starts}`,
      restartCount: found.starts - 1,
      ready: true,
      started: true,
      state: { running: { startedAt } },
    }
    await report(calls, pod, 'Running', [status], observedGeneration)
    found.said = what
  }

  const ended = (async () => {
    while (!stop.signal.aborted) {
      await turn().catch(() => {})
      await sleep(30)
    }
  })()
  return {
    /** How many sidecars were down at once, at most, after their first start. */
    mostDown: () => mostDown,
    /** How often each pod's sidecar was restarted. */
    restarts: () => [...running.values()].map(({ starts }) => starts - 1),
    async stop() {
      stop.abort()
      await ended
    },
  }
}

const succeeded = { image: '', imageID: '', ready: false, restartCount: 0, state: { terminated: { exitCode: 0 } } }

function report(
  calls: RawCalls,
  { metadata }: WirePod,
  phase: string,
  statuses: object[],
  observedGeneration?: number,
) {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0).toISOString() }]
  const status = { phase, conditions, containerStatuses: statuses, ...(observedGeneration && { observedGeneration }) }
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/status`
  return calls.patch(path, { status }, PatchStrategy.MergePatch)
}
