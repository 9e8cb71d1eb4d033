import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ApiServer } from '../cluster-certs/apiserver.ts'
import { SECOND, until } from '../cluster-certs/fixture.ts'

export const crd = 'manifests/rollouts/crd.yaml'

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

/** Pods of a shop with the sidecar envoy, on nodes that needn't exist. */
export function shopPods(
  count: number,
  { image = 'example/envoy:2.0', nodes = 3, from = 0, namespace = 'default' } = {},
) {
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `shop-${from + index}`, namespace, labels: { app: 'shop' } },
    spec: {
      nodeName: `node-${index % nodes}`,
      containers: [
        { name: 'envoy', image },
        { name: 'app', image: 'example/shop:1' },
      ],
    },
  }))
}

/** `sidecar-first rollout …` as a process of its own, to its end. */
export async function rollout(kubeconfig: string, ...args: string[]) {
  const child = startRollout(kubeconfig, ...args)
  const [code] = await once(child.process, 'close')
  return { code, out: child.out() }
}

export function startRollout(kubeconfig: string, ...args: string[]) {
  const child = spawn(process.execPath, ['test/rollout/rollout-process.ts', ...args], {
    env: { ...process.env, KUBECONFIG: kubeconfig, LANG: 'C.UTF-8' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  const hear = (chunk: string) => {
    out += chunk
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  return { process: child, out: () => out }
}
