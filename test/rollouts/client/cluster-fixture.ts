import { spawn } from 'node:child_process'
import type { ApiServer } from '../../apiserver/apiserver.ts'
import { run } from '../../cli/process.ts'
import { heard } from '../../heard.ts'
import { SECOND, until } from '../../until.ts'

const crd = 'manifests/rollouts/crd.yaml'

/** The SidecarRollout kind, and when the API server serves it. */
export async function installKind(api: ApiServer): Promise<void> {
  await api.kubectl(['apply', '--server-side', '-f', crd])
  const served = () =>
    api.kubectl(['get', 'sidecarrollouts.sidecar-first.dev']).then(
      () => true,
      () => false,
    )
  await until('the kind', 30 * SECOND, served)
}

/** Pods of a shop with the sidecar envoy, on nodes that needn't exist. `weight`: bytes that make them as large as a cluster's own are. */
export function shopPods(
  count: number,
  { image = 'example/envoy:2.0', nodes = 3, namespace = 'default', first = 0, weight = 0 } = {},
) {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `shop-${index}`,
      namespace,
      labels: { app: 'shop', 'pod-template-hash': 'abc12' },
      ...(weight > 0 && { annotations: { 'example.com/weight': 'x'.repeat(weight) } }),
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop-abc12', uid: 'none', controller: true },
      ],
    },
    spec: { nodeName: `node-${(first + index) % nodes}`, containers: containers(image) },
  }))
}

const containers = (image: string) => [
  { name: 'envoy', image },
  { name: 'app', image: 'example/shop:1' },
]

/** Their owner. */
export function shopReplicaSet(namespace: string) {
  const { metadata, spec } = shopDeployment(namespace)
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: metadata.name, uid: 'none', controller: true }
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name: 'shop-abc12', namespace, ownerReferences: [owner] },
    spec,
  }
}

/** What would have made them. */
export function shopDeployment(namespace: string, image = 'example/envoy:2.0') {
  const labels = { app: 'shop' }
  const template = { metadata: { labels }, spec: { containers: containers(image) } }
  const spec = { selector: { matchLabels: labels }, template }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop', namespace }, spec }
}

/** `sidecar-first rollout …` as a process of its own, to its end. */
export async function rollout(kubeconfig: string, ...args: string[]) {
  const { code, stdout, stderr } = await run(['rollout', ...args], { env: { KUBECONFIG: kubeconfig } })
  return { code, out: stdout + stderr }
}

export function startRollout(kubeconfig: string, ...args: string[]) {
  const child = spawn(process.execPath, ['src/main.ts', 'rollout', ...args], {
    env: { ...process.env, KUBECONFIG: kubeconfig, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { process: child, out: heard(child) }
}
