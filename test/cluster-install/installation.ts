import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { InstallMode } from '../../src/webhooks/configurations.ts'
import { type Answer, type KubernetesObject, kubectl, tryCreate } from '../cluster/cluster.ts'
import { app, firstRequest, type PodOptions, pod, sidecar } from '../cluster/pod.ts'

/** Where the manifests put everything. */
export const namespace = 'sidecar-first'

export const configurations = [
  'mutatingwebhookconfiguration/zz-sidecar-first',
  'validatingwebhookconfiguration/sidecar-first',
]

/** The manifests of a mode, as the node of the tests can run them. */
export const overlayOf = (mode: InstallMode) => join(import.meta.dirname, 'overlays', mode)

/** Applies the manifests and waits until they work. */
export async function install(mode: InstallMode): Promise<void> {
  await uninstall(mode) // an interrupted run leaves it
  await kubectl('apply', '--warnings-as-errors', '-k', overlayOf(mode))
  await rolledOut('sidecar-first-certs')
  await rolledOut('sidecar-first')
}

/** As a person would: first what calls the pods, then the pods. */
export async function uninstall(mode: InstallMode): Promise<void> {
  await kubectl('delete', '--ignore-not-found', ...configurations)
  await kubectl('delete', '--ignore-not-found', '-k', overlayOf(mode))
}

export const rolledOut = (deployment: string) =>
  kubectl('rollout', 'status', '-n', namespace, `deploy/${deployment}`, '--timeout=120s')

/** Ends every replica of `serve`. */
export async function stopServe(): Promise<void> {
  await kubectl('scale', '-n', namespace, 'deploy/sidecar-first', '--replicas=0')
  await kubectl('wait', '-n', namespace, '--for=delete', 'pod', '-l', 'app.kubernetes.io/component=serve')
}

export async function startServe(): Promise<void> {
  await kubectl('scale', '-n', namespace, 'deploy/sidecar-first', '--replicas=2')
  await rolledOut('sidecar-first')
}

/** An app that asks its sidecar in its first line, and lists it last. */
export function sample(namespace: string, { annotations, ...more }: PodOptions = {}): KubernetesObject {
  const readinessProbe = { httpGet: { path: '/ready', port: 15021 } }
  return pod(
    namespace,
    'sample',
    [
      app(firstRequest('http://127.0.0.1:15021/ready')),
      sidecar('sidecar', { HTTP: ':15021', READY_AFTER: '1s' }, { readinessProbe }),
    ],
    { annotations: { 'sidecar-first.dev/sidecars': 'sidecar', ...annotations }, ...more },
  )
}

/** What the API server says of the sample, without storing it. */
export function tryOut(namespace: string, options?: PodOptions): Promise<Answer> {
  const object = sample(namespace, options)
  const named = { ...object, metadata: { ...object.metadata, name: 'dry-run' } }
  return tryCreate([named], '--dry-run=server', '-o', 'json')
}

/** The containers of the sample as the API server would store it. */
export async function orderOf(namespace: string, options?: PodOptions): Promise<string[]> {
  const { code, stdout, stderr } = await tryOut(namespace, options)
  assert.equal(code, 0, stderr)
  const { spec } = JSON.parse(stdout) as { spec: { containers: { name: string }[] } }
  return spec.containers.map(({ name }) => name)
}
