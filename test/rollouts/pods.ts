import { type Note, noteKey, writeNote } from '../../rollouts/pod-note.ts'
import type { WirePod } from '../../rollouts/seen-pod.ts'
import { type SeenPod, seenPod } from '../../rollouts/seen-pod.ts'
import type { RolloutStrategy, SidecarRollout } from '../../rollouts/types.ts'

export const NOW = Date.parse('2026-11-21T12:00:00Z')
/** The worlds of the properties write the same few thousand times over and over: a fifth of their CPU. */
const written = new Map<number, string>()
export function iso(ms: number): string {
  const text = written.get(ms) ?? new Date(ms).toISOString()
  written.set(ms, text)
  return text
}
export const UID = 'rollout-uid'

/** As the schema has it where nothing is said (manifests/rollouts/crd.yaml). */
export const defaultStrategy: RolloutStrategy = {
  partition: 0,
  maxUnavailable: 1,
  minReadySeconds: 10,
  bakeSeconds: 60,
  progressDeadlineSeconds: 300,
  onFailure: 'pause',
  judge: 'Pod',
  paused: false,
  maxFailures: 0,
  rest: 'base',
}

/** A rollout of envoy to v2. */
export function rollout(
  strategy: Partial<RolloutStrategy> = {},
  more: { image?: string; generation?: number; status?: SidecarRollout['status'] } = {},
): SidecarRollout {
  const { image = 'envoy:v2', generation = 1, status } = more
  return {
    apiVersion: 'sidecar-first.dev/v1alpha1',
    kind: 'SidecarRollout',
    metadata: {
      name: 'envoy',
      namespace: 'shop',
      uid: UID,
      generation,
      resourceVersion: '1',
      creationTimestamp: iso(NOW - 60_000),
    },
    spec: {
      selector: { matchLabels: { app: 'shop' } },
      container: 'envoy',
      image,
      strategy: { ...defaultStrategy, ...strategy },
    },
    ...(status && { status }),
  }
}

type Status = NonNullable<NonNullable<WirePod['status']>['containerStatuses']>[number]

/** A pod whose app and sidecar run; `status` is the sidecar's, null: it has none yet. */
export function wirePod(
  name: string,
  {
    image = 'envoy:v1',
    node = 'node-1',
    ready = true,
    readyFor = 3_600_000,
    status = {},
    touch,
    generation = touch ? 2 : 1,
    observed = generation,
    native = false,
    env = [],
    annotations = {},
    ending = false,
  }: {
    image?: string
    node?: string
    ready?: boolean
    readyFor?: number
    status?: Partial<Status> | null
    touch?: Partial<Note>
    generation?: number
    observed?: number
    native?: boolean
    env?: { name: string }[]
    annotations?: Record<string, string>
    ending?: boolean
  } = {},
): WirePod {
  const noted: Note = {
    rollout: UID,
    revision: 1,
    from: 'envoy:v1',
    wanted: image,
    effective: undefined,
    base: touch?.from ?? 'envoy:v1',
    back: false,
    gen: generation,
    ids: [`${name}-1`],
    keep: [],
    between: false,
    images: ['id of envoy:v1'],
    ready: false,
    at: NOW - 3_600_000,
    ...touch,
  }
  const envoy = { name: 'envoy', image, env, ...(native && { restartPolicy: 'Always' }) }
  const app = { name: 'app', image: 'app' }
  const statuses: Status[] = status
    ? [
        {
          name: 'envoy',
          image: `docker.io/library/${image}`,
          imageID: `id of ${image}`,
          restartCount: 0,
          containerID: touch ? `${name}-2` : `${name}-1`,
          ready,
          state: { running: { startedAt: iso(NOW - readyFor) } },
          ...(touch && { lastState: { terminated: { exitCode: 1, containerID: `${name}-1` } } }),
          ...status,
        },
      ]
    : []
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid: `${name}-uid`,
      resourceVersion: '1',
      generation,
      labels: { app: 'shop' },
      annotations: { ...annotations, ...(touch && { [noteKey('envoy')]: writeNote(noted) }) },
      ...(ending && { deletionTimestamp: iso(NOW) }),
    },
    spec: {
      ...(node && { nodeName: node }),
      containers: native ? [app] : [envoy, app],
      ...(native && { initContainers: [{ name: 'waiter', image: 'waiter' }, envoy] }),
    },
    status: {
      phase: status ? 'Running' : 'Pending',
      observedGeneration: observed,
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: iso(NOW - readyFor) }],
      [native ? 'initContainerStatuses' : 'containerStatuses']: statuses,
    },
  }
}

/** A pod that was seen long ago as it is now. */
export function pod(...args: Parameters<typeof wirePod>): SeenPod {
  const wire = wirePod(...args)
  return seenPod(wire, seenPod(wire, undefined, NOW - (args[1]?.readyFor ?? 3_600_000)), NOW)
}
