import type { CoreV1Event, V1Container, V1ContainerStatus, V1Pod } from '@kubernetes/client-node'
import { createSurveyor, type Survey } from '../../src/scan/survey.ts'
import { type SeenEvent, seenEvent } from '../../src/seen/event.ts'

/** When all these pods are looked at: half an hour after they were made. */
export const now = Date.parse('2026-01-01T10:30:00Z')
const created = '2026-01-01T10:00:00Z'

/** A time of the pod's node, as a status has it: so many seconds after the pod was created. */
export const at = (seconds: number): Date => time(Date.parse(created) + seconds * 1000)
// What comes over the wire is a text, whatever the type says.
const time = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z') as unknown as Date

export const app: V1Container = { name: 'app', image: 'example/shop:1' }
export const proxy: V1Container = {
  name: 'istio-proxy',
  image: 'docker.io/istio/proxyv2:1.27.0',
  readinessProbe: { httpGet: { path: '/healthz/ready', port: 15_021 } },
}

/** A container that has run since then, and was not restarted. */
export const runs = (name: string, since: number): V1ContainerStatus => ({
  name,
  image: name,
  imageID: name,
  ready: true,
  started: true,
  restartCount: 0,
  state: { running: { startedAt: at(since) } },
  lastState: {},
})

/** One whose first run ended. */
export const failed = (name: string, [from, to]: readonly [number, number], more: object = {}): V1ContainerStatus => ({
  ...runs(name, to + 1),
  restartCount: 1,
  lastState: { terminated: { exitCode: 1, reason: 'Error', startedAt: at(from), finishedAt: at(to), ...more } },
})

/** A pod of the Deployment shop/web, by default with the app in front of its proxy. */
export function pod(
  name: string,
  statuses: readonly V1ContainerStatus[],
  {
    containers = [app, proxy],
    metadata = {},
    ...spec
  }: { containers?: V1Container[]; metadata?: V1Pod['metadata'] } & Partial<V1Pod['spec']> = {},
): V1Pod {
  return {
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      creationTimestamp: at(0),
      labels: { 'pod-template-hash': 'abc12' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-abc12', uid: 'u', controller: true }],
      ...metadata,
    },
    spec: { nodeName: 'node-1', containers, ...spec },
    status: { phase: 'Running', startTime: at(0), containerStatuses: [...statuses] },
  }
}

/** A warning of the pod's kubelet, so many seconds after the pod was created. */
export const warning = (
  container: string,
  seconds: number,
  {
    reason = 'Unhealthy',
    message = 'Readiness probe failed: HTTP probe failed with statuscode: 503',
    host = 'node-1',
  } = {},
): SeenEvent => {
  const event = {
    metadata: { name: 'x' },
    involvedObject: { fieldPath: `spec.containers{${container}}` },
    source: { component: 'kubelet', host },
    reason,
    message,
    firstTimestamp: at(seconds),
  }
  const seen = seenEvent(event as CoreV1Event, 256)
  if (!seen) throw new Error('it has no time')
  return seen
}

/** What a scan makes of pods, each with its warnings. */
export function survey(
  pods: readonly (V1Pod | readonly [V1Pod, ...SeenEvent[]])[],
  { presets = [] as string[], at: seen = now, events = true } = {},
): Survey {
  const surveyor = createSurveyor({ presets, version: '1.0.0', now: () => seen })
  for (const each of pods) {
    const [one, ...warnings] = 'length' in each ? each : [each]
    surveyor.add(one, events ? warnings : undefined)
  }
  return surveyor.result()
}
