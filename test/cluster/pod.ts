import { type KubernetesObject, kubectl, until } from './cluster.ts'

/** A container as a pod's spec has it; the API server checks it. */
export type Container = { name: string; [field: string]: unknown }

/** A container of the test sidecar image, configured by its environment (see images/sidecar/main.go). */
export function sidecar(name: string, env: Record<string, string>, more: Record<string, unknown> = {}): Container {
  return {
    name,
    image: 'docker.io/sidecar-first/test-sidecar:1',
    imagePullPolicy: 'Never',
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    ...more,
  }
}

/** A sidecar that is ready 8 s after its start: a busy node takes seconds to start a container. */
export const late = (name: string, port: number, more: Record<string, unknown> = {}): Container =>
  sidecar(
    name,
    { HTTP: `:${port}`, READY_AFTER: '8s' },
    { readinessProbe: { httpGet: { path: '/ready', port } }, ...more },
  )

/** Sidecars of one tier, which need `sharedVolume`: each is ready 8 s after its start, and not before all of them run, so none may wait for another. */
export const tier = (ports: Readonly<Record<string, number>>): Container[] =>
  Object.entries(ports).map(([name, port]) =>
    sidecar(
      name,
      {
        HTTP: `:${port}`,
        READY_AFTER: '8s',
        STARTED: `/shared/${name}`,
        READY_WHEN: Object.keys(ports)
          .map((other) => `/shared/${other}`)
          .join(' '),
      },
      { readinessProbe: { httpGet: { path: '/ready', port } }, ...shared },
    ),
  )
export const sharedVolume = { name: 'shared', emptyDir: {} }
export const shared = { volumeMounts: [{ name: sharedVolume.name, mountPath: '/shared' }] }

/** A container that says when it started and stays, or runs another `script` in its shell. */
export function app(script = 'date; exec sleep 3600', more: Record<string, unknown> = {}): Container {
  return {
    name: 'app',
    image: 'docker.io/sidecar-first/test-app:1',
    imagePullPolicy: 'Never',
    command: ['sh', '-c', script],
    ...more,
  }
}

/** A script for `app`: its first request to a sidecar, and whether that succeeded. */
export const firstRequest = (url: string): string =>
  `date; wget -q -O - ${url} && echo first request succeeded || echo first request failed; exec sleep 3600`

/** What a pod's manifest has beside its containers. */
export type PodOptions = {
  annotations?: Record<string, string>
  labels?: Record<string, string>
  spec?: Record<string, unknown>
}

/** A pod's spec that ends quickly. */
export const podSpec = (containers: readonly Container[], more: Record<string, unknown> = {}) => ({
  terminationGracePeriodSeconds: 1,
  containers,
  ...more,
})

/** A pod. */
export function pod(
  namespace: string,
  name: string,
  containers: readonly Container[],
  { annotations = {}, labels = {}, spec = {} }: PodOptions = {},
): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations, labels },
    spec: podSpec(containers, spec),
  }
}

/** The part of a pod's status that tests look at, from `kubectl get -o json`. */
export type LivePod = {
  metadata: { name: string; annotations?: Record<string, string> }
  spec: {
    containers: LiveContainer[]
    initContainers?: LiveContainer[]
    volumes?: { name: string; emptyDir?: object; projected?: object }[]
  }
  status: {
    phase: string
    qosClass?: string
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
  }
}
type LiveContainer = {
  name: string
  restartPolicy?: string
  startupProbe?: { periodSeconds?: number; failureThreshold?: number }
  lifecycle?: { postStart?: object }
  volumeMounts?: { name: string; mountPath: string }[]
}
type ContainerStatus = {
  name: string
  restartCount: number
  started?: boolean
  state: { running?: { startedAt: string }; terminated?: Termination; waiting?: { reason?: string } }
  lastState: { terminated?: Termination }
}
type Termination = { exitCode: number; message?: string }

/** The pods of a namespace, by name. */
export async function getPods(namespace: string): Promise<Map<string, LivePod>> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '-n', namespace, '-o', 'json')) as { items: LivePod[] }
  return new Map(items.map((item) => [item.metadata.name, item]))
}

/** The pod of that name, or the first whose name starts with it and a dash (a Deployment's, a Job's, …). */
export async function getPod(namespace: string, name: string): Promise<LivePod> {
  const pods = await getPods(namespace)
  const found = pods.get(name) ?? [...pods.values()].find((item) => item.metadata.name.startsWith(`${name}-`))
  if (!found) throw new Error(`no pod ${name} in ${namespace}, but ${[...pods.keys()].join(', ') || 'none'}`)
  return found
}

/** The status of a container, of either list. */
export const statusOf = ({ status }: LivePod, container: string): ContainerStatus | undefined =>
  [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].find(({ name }) => name === container)

/** A line of a container's log and when the container wrote it, in ms since 1970. */
export type Line = { container: string; at: number; text: string }

/** All that a pod's containers have written, each container's lines in order. */
export async function getLog(namespace: string, name: string, ...flags: readonly string[]): Promise<Line[]> {
  const text = await kubectl('logs', name, '-n', namespace, '--all-containers', '--prefix', '--timestamps', ...flags)
  return [...text.matchAll(/^\[pod\/[^/]+\/(\S+)\] (\S+) (.*)$/gm)].map(([, container = '', at = '', line = '']) => ({
    container,
    at: Date.parse(at),
    text: line,
  }))
}

/** The pod's log once this container has written at least `count` lines. */
export async function logOf(namespace: string, name: string, container = 'app', count = 1): Promise<Line[]> {
  const { metadata } = await until(`pod ${name}`, () => getPod(namespace, name).catch(() => undefined))
  return until(`${count} lines of ${name}'s container ${container}`, async () => {
    // Until its containers have been created there is no log to read.
    const log = await getLog(namespace, metadata.name).catch(() => [])
    return log.filter((line) => line.container === container).length >= count ? log : undefined
  })
}

/** When a test sidecar printed this mark, in ms by its own clock. @throws when it didn't */
export function markOf(log: readonly Line[], container: string, mark: string): number {
  const line = log.find(({ container: name, text }) => name === container && text.startsWith(`${mark} `))
  if (!line) throw new Error(`${container} never printed '${mark}'`)
  return Number(line.text.slice(mark.length + 1))
}

/** When a container wrote its first line, in ms. @throws when it didn't */
export function firstLineOf(log: readonly Line[], container = 'app'): number {
  const line = log.find(({ container: name }) => name === container)
  if (!line) throw new Error(`${container} has written nothing`)
  return line.at
}
