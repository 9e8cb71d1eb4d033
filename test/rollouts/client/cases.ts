import { noteKey, writeNote } from '../../../rollouts/pod-note.ts'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import type {
  ConditionType,
  RolloutFailure,
  RolloutPhase,
  RolloutStatus,
  SidecarRollout,
} from '../../../rollouts/types.ts'
import { defaultStrategy } from '../pods.ts'

export const now = Date.parse('2026-11-21T10:00:00Z')
const ago = (seconds: number) => new Date(now - seconds * 1000).toISOString()

const base = { observedGeneration: 3, since: ago(120), matched: 8, desired: 8, updated: 0, ready: 8, updatedReady: 0 }
const none = { inProgress: 0, silent: 0, refused: 0, superseded: 0, previousImages: [] }

export function rollout(
  phase: RolloutPhase | undefined,
  message = '',
  {
    failure,
    generation = 3,
    conditions,
    ...counts
  }: Partial<RolloutStatus> & { failure?: RolloutFailure; generation?: number } = {},
): SidecarRollout {
  const condition = { type: 'Progressing', status: 'True', reason: 'Updating', message } as const
  const at = { observedGeneration: 3, lastTransitionTime: ago(60) }
  const status = phase && {
    ...base,
    ...none,
    ...counts,
    phase,
    conditions: conditions ?? [{ ...condition, ...at }],
    ...(failure && { failure }),
  }
  return {
    apiVersion: 'sidecar-first.dev/v1alpha1',
    kind: 'SidecarRollout',
    metadata: {
      name: 'shop-envoy',
      namespace: 'prod',
      uid: 'u',
      generation,
      resourceVersion: '1',
      creationTimestamp: ago(200),
    },
    spec: {
      selector: { matchLabels: { app: 'shop' } },
      container: 'envoy',
      image: 'example/envoy:2.1',
      strategy: defaultStrategy,
    },
    ...(status && { status }),
  }
}

export const failure: RolloutFailure = {
  reason: 'HookFailed',
  pod: 'shop-1',
  node: 'node-1',
  message: 'envoy was not ready after 60s (12000 attempts), the last: connection refused',
  generation: 3,
  time: ago(5),
}

const said = (type: ConditionType, reason: string, message: string) =>
  ({ type, status: 'True', reason, message, observedGeneration: 3, lastTransitionTime: ago(60) }) as const

interface Sidecar {
  /** When it was touched and when the new one was ready, in seconds ago. */
  readonly touched?: number
  readonly ready?: number
  readonly back?: boolean
  readonly failed?: boolean
}

/** A pod with the sidecar on the old image, or touched. */
export function pod(index: number, { touched, ready, back = false, failed = false }: Sidecar = {}): WirePod {
  const [before, after] = back ? ['example/envoy:2.1', 'example/envoy:2.0'] : ['example/envoy:2.0', 'example/envoy:2.1']
  const image = touched === undefined ? 'example/envoy:2.0' : after
  const moved = ready !== undefined || failed
  const generation = touched === undefined ? 1 : back ? 3 : 2
  const note = {
    rollout: 'u',
    revision: 3,
    from: before,
    wanted: after,
    effective: undefined,
    base: 'example/envoy:2.0',
    back,
    gen: generation,
    ids: ['c1'],
    keep: [],
    between: false,
    images: ['sha256:1'],
    ready: true,
    at: now - (touched ?? 0) * 1000,
  }
  const state = failed
    ? { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container' } }
    : { running: { startedAt: ago(ready ?? 500) } }
  return {
    metadata: {
      name: `shop-${index}`,
      namespace: 'prod',
      uid: `${index}`,
      resourceVersion: '1',
      generation,
      labels: { app: 'shop' },
      annotations: touched === undefined ? {} : { [noteKey('envoy')]: writeNote(note) },
    },
    spec: { nodeName: `node-${index % 3}`, containers: [{ name: 'envoy', image }] },
    status: {
      phase: 'Running',
      observedGeneration: generation,
      conditions: [{ type: 'Ready', status: failed ? 'False' : 'True', lastTransitionTime: ago(ready ?? 500) }],
      containerStatuses: [
        {
          name: 'envoy',
          image: moved ? image : before,
          restartCount: 0,
          containerID: moved ? 'c2' : 'c1',
          imageID: moved ? 'sha256:2' : 'sha256:1',
          ready: !failed,
          state,
          ...(failed && {
            lastState: { terminated: { exitCode: 1, containerID: 'c2', reason: 'Error', message: failure.message } },
          }),
        },
      ],
    },
  }
}

/** Its sidecar is ready, and it isn't. */
function withoutApp(pod: WirePod): WirePod {
  const { spec, status } = pod
  const app = { name: 'app', image: 'app', imageID: 'app', ready: false, restartCount: 4, containerID: 'a' }
  const state = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s restarting failed container' } }
  return {
    ...pod,
    spec: { ...spec, containers: [...spec.containers, { name: 'app', image: 'app' }] },
    status: {
      ...status,
      conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: ago(90) }],
      containerStatuses: [...(status?.containerStatuses ?? []), { ...app, state }],
    },
  }
}

/** What a person may meet, by the name of its golden file. `pods` undefined: they can't be listed. */
export const cases: Readonly<Record<string, { rollout: SidecarRollout; pods: readonly WirePod[] | undefined }>> = {
  'not taken up': { rollout: rollout(undefined), pods: [pod(0), pod(1)] },
  'changed and not taken up': {
    rollout: rollout('Complete', '1 of 1 pods are done', {
      generation: 4,
      matched: 1,
      desired: 1,
      updated: 1,
      updatedReady: 1,
    }),
    pods: [pod(0, { touched: 90, ready: 80 })],
  },
  'in progress': {
    rollout: rollout('Progressing', '2 of 6 pods are done', { updated: 4, updatedReady: 2, inProgress: 2, desired: 6 }),
    pods: [
      pod(0, { touched: 90, ready: 80 }),
      pod(1, { touched: 75, ready: 11 }),
      pod(2, { touched: 9, ready: 4 }),
      pod(3, { touched: 4 }),
      ...[4, 5, 6, 7].map((index) => pod(index)),
    ],
  },
  'app not ready': {
    rollout: rollout('Progressing', '0 of 2 pods are done; waiting for shop-0 (app is not ready (CrashLoopBackOff))', {
      matched: 2,
      desired: 2,
      updated: 1,
      inProgress: 1,
      ready: 1,
    }),
    pods: [withoutApp(pod(0, { touched: 90, ready: 80 })), pod(1)],
  },
  baking: {
    rollout: rollout('Progressing', '', {
      matched: 2,
      desired: 2,
      updated: 1,
      updatedReady: 1,
      conditions: [
        said(
          'Progressing',
          'Baking',
          '1 of 2 pods are done; baking until 10:00:42 UTC: shop-0 must run for 60 s before others get it',
        ),
      ],
    }),
    pods: [pod(0, { touched: 20, ready: 18 }), pod(1)],
  },
  'no progress': {
    rollout: rollout('Progressing', '', {
      matched: 2,
      desired: 2,
      updated: 1,
      updatedReady: 1,
      ready: 1,
      conditions: [
        said('Progressing', 'HeldByUnreadyPods', '1 of 2 pods are done; shop-1 is not ready, at most 1 may be'),
        said(
          'Stalled',
          'NoProgress',
          'nothing happens for longer than a pod may take: 1 of 2 pods are done; shop-1 is not ready, at most 1 may be',
        ),
      ],
    }),
    pods: [pod(0, { touched: 900, ready: 880 }), pod(1)],
  },
  stopped: {
    rollout: rollout('Stopped', '', { matched: 3, updated: 2, updatedReady: 1, inProgress: 1, failure }),
    pods: [pod(0, { touched: 90, ready: 80 }), pod(1, { touched: 70, failed: true }), pod(2)],
  },
  'cannot go on': {
    rollout: rollout('Stopped', 'none of 2 pods can be upgraded in place, since their kubelets are older than 1.34', {
      matched: 2,
      desired: 0,
    }),
    pods: [pod(0), pod(1)],
  },
  'taking back': {
    rollout: rollout('Progressing', '1 to take back; 0 of 3 pods are to have the image', {
      matched: 3,
      updated: 1,
      updatedReady: 1,
      inProgress: 1,
      desired: 0,
    }),
    pods: [
      pod(0, { touched: 60, ready: 40 }),
      pod(1, { touched: 5, back: true }),
      pod(2, { touched: 30, ready: 15, back: true }),
    ],
  },
  'rolled back': {
    rollout: rollout('RolledBack', '', { matched: 2, failure }),
    pods: [pod(0), pod(1, { touched: 30, ready: 15, back: true })],
  },
  complete: {
    rollout: rollout('Complete', '2 of 2 pods are done', { updated: 2, updatedReady: 2, desired: 2, matched: 20 }),
    pods: Array.from({ length: 20 }, (_, index) => (index < 2 ? pod(index, { touched: 3700, ready: 20 }) : pod(index))),
  },
  'pods unseen': {
    rollout: rollout('Progressing', '2 of 8 pods are done', { updated: 3, updatedReady: 2, inProgress: 1 }),
    pods: undefined,
  },
  'no pods': { rollout: rollout('Complete', 'no pod matches', { matched: 0, desired: 0 }), pods: [] },
  hostile: {
    rollout: rollout('Stopped', '', { matched: 0, failure: { ...failure, message: 'a\u001b[2Jb\nc\u202ed\ud800' } }),
    pods: [],
  },
}
