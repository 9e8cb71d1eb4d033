import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WirePod } from '../../../rollouts/seen-pod.ts'
import type { RolloutPhase, RolloutStatus, SidecarRollout } from '../../../rollouts/types.ts'
import { create, type KubernetesObject, kubectl, tryKubectl, until } from '../../cluster/cluster.ts'
import { type Container, podSpec } from '../../cluster/pod.ts'

/** By its version, or its whole name. */
export const imageOf = (version: string) =>
  version.includes('/') ? version : `docker.io/sidecar-first/test-rollout:${version}`

/** A sidecar that answers on `port` once it is ready. */
export const envoy = (name = 'envoy', port = 15021, version = 'v1'): Container => ({
  name,
  image: imageOf(version),
  imagePullPolicy: 'IfNotPresent',
  env: [{ name: 'HTTP', value: `:${port}` }],
  readinessProbe: { httpGet: { path: '/ready', port }, periodSeconds: 1 },
})

/** An app that serves on port 8080. */
const app: Container = {
  name: 'app',
  image: 'docker.io/sidecar-first/test-sidecar:1',
  imagePullPolicy: 'Never',
  env: [{ name: 'HTTP', value: ':8080' }],
}

/** A Deployment whose pods are as `sidecar-first inject` makes them of their annotations. */
export async function deploy(
  namespace: string,
  {
    name = 'shop',
    replicas,
    sidecars = [envoy()],
    annotations,
    proxied = false,
  }: {
    name?: string
    replicas: number
    sidecars?: Container[]
    annotations?: Record<string, string>
    /** The app is ready while its sidecar answers for it. */
    proxied?: boolean
  },
): Promise<void> {
  const labels = { app: name }
  const asked = {
    'sidecar-first.dev/sidecars': sidecars.map((one) => one.name).join(', '),
    'sidecar-first.dev/timeout': '8s',
  }
  const byProxy = { readinessProbe: { httpGet: { path: '/proxied', port: 15021 }, periodSeconds: 1 } }
  const its = { ...app, ...(proxied && byProxy) }
  const deployment: KubernetesObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations: { ...asked, ...annotations } }, spec: podSpec([its, ...sidecars]) },
    },
  }
  const child = spawn(process.execPath, ['src/main.ts', 'inject', '-f', '-'], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(JSON.stringify(deployment))
  let injected = ''
  child.stdout.setEncoding('utf8').on('data', (text) => (injected += text))
  await once(child, 'close')
  const { code, stderr } = await tryKubectl(['apply', '-f', '-'], injected)
  if (code !== 0) throw new Error(stderr)
  await kubectl('rollout', 'status', '-n', namespace, `deploy/${name}`, '--timeout=180s')
}

/** A SidecarRollout of envoy in the pods of a Deployment. */
export function rollout(
  namespace: string,
  { name = 'envoy', app = 'shop', container = 'envoy', image = 'v2', strategy = {} } = {},
): Promise<unknown> {
  return create({
    apiVersion: 'sidecar-first.dev/v1alpha1',
    kind: 'SidecarRollout',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app } },
      container,
      image: imageOf(image),
      strategy: { minReadySeconds: 1, bakeSeconds: 0, progressDeadlineSeconds: 60, ...strategy },
    },
  })
}

export const change = (namespace: string, spec: object, name = 'envoy') =>
  kubectl('patch', 'sidecarrollout', '-n', namespace, name, '--type=merge', '-p', JSON.stringify({ spec }))

/** The status once the controller has seen the spec and the rollout is in one of these phases. */
export async function phase(
  namespace: string,
  phases: readonly RolloutPhase[],
  name = 'envoy',
): Promise<RolloutStatus> {
  let seen: RolloutStatus | undefined
  return await until(`${name} to be ${phases.join(' or ')}`, async () => {
    const { metadata, status } = await rolloutOf(namespace, name)
    seen = status
    return status?.observedGeneration === metadata.generation && phases.includes(status.phase) ? status : undefined
  }).catch((error) => {
    throw new Error(`it is ${JSON.stringify(seen)}`, { cause: error })
  })
}

export const rolloutOf = async (namespace: string, name = 'envoy'): Promise<SidecarRollout> =>
  JSON.parse(await kubectl('get', 'sidecarrollout', '-n', namespace, name, '-o', 'json'))

export type ShopPod = WirePod & { status: NonNullable<WirePod['status']> & { podIP: string } }

/** The Deployment's pods that aren't ending, by name. */
export async function podsOf(namespace: string, app = 'shop'): Promise<ShopPod[]> {
  const { items } = JSON.parse(await kubectl('get', 'pods', '-n', namespace, '-l', `app=${app}`, '-o', 'json'))
  return items
    .filter(({ metadata }: ShopPod) => !metadata.deletionTimestamp)
    .sort((a: ShopPod, b: ShopPod) => (a.metadata.name < b.metadata.name ? -1 : 1))
}

/** How many pods have each version of a container, as their specs say. */
export async function versions(namespace: string, container = 'envoy'): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { spec } of await podsOf(namespace)) {
    const found = [...spec.containers, ...(spec.initContainers ?? [])].find(({ name }) => name === container)
    const version = found?.image?.split(':').at(-1) ?? ''
    counts[version] = (counts[version] ?? 0) + 1
  }
  return counts
}

/** Of each pod's app: how often it was restarted, and when it was started. */
export const apps = async (namespace: string) =>
  (await podsOf(namespace)).map(({ metadata, status }) => {
    const found = status.containerStatuses?.find(({ name }) => name === 'app') as
      | { restartCount: number; state: { running?: { startedAt: string } } }
      | undefined
    return [metadata.name, found?.restartCount, found?.state.running?.startedAt]
  })

interface Watched {
  /** How many sidecars were down at once, at most. */
  readonly mostDown: number
  /** Requests to the apps, and what became of those that failed. */
  readonly requests: number
  readonly failed: readonly string[]
}

/** Asks every pod's app and sidecar all the time, as a client would, until it is ended. */
export async function watchPods(t: TestContext, namespace: string, port = 15021): Promise<{ end(): Promise<Watched> }> {
  const ips = (await podsOf(namespace)).map(({ status }) => status.podIP)
  let over = false
  let mostDown = 0
  let requests = 0
  const failed: string[] = []
  const watching = (async () => {
    while (!over) {
      const began = performance.now()
      const toApps = ips.map(async (ip) => {
        requests++
        const answer = await ask(ip, 8080)
        if (answer !== '200') failed.push(`${ip}: ${answer}`)
      })
      const answers = await Promise.all(ips.map((ip) => ask(ip, port)))
      const down = answers.filter((answer) => answer !== '200').length
      // On a machine that was busy for longer than `minReadySeconds`, the answers are of several moments: then they say only that one was away.
      mostDown = Math.max(mostDown, performance.now() - began < 900 ? down : Math.min(1, down))
      await Promise.all(toApps)
      await sleep(50)
    }
  })()
  t.after(() => {
    over = true
  })
  return {
    async end() {
      over = true
      await watching
      return { mostDown, requests, failed }
    },
  }
}

/** The status of an answer, or what went wrong. A new connection each time: a kept one would hide a restart. */
const ask = (host: string, port: number) =>
  new Promise<string>((resolve) => {
    get({ host, port, path: '/ready', agent: false, timeout: 30_000 }, (answer) => {
      answer.resume()
      resolve(`${answer.statusCode}`)
    })
      .on('timeout', () => resolve('timeout'))
      .on('error', ({ message }) => resolve(message))
  })
