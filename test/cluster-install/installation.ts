import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { install } from '../../src/cli/install.ts'
import { type Ended, run } from '../cli/inside.ts'
import { type Answer, type KubernetesObject, kubectl, tryCreate, until } from '../cluster/cluster.ts'
import { app, firstRequest, type PodOptions, pod, sidecar } from '../cluster/pod.ts'
import { serveApi } from './api-service.ts'

/** Where everything is. */
export const namespace = 'sidecar-first'

export const configurations = [
  'mutatingwebhookconfiguration/zz-sidecar-first',
  'validatingwebhookconfiguration/sidecar-first',
]

/** `sidecar-first install --apply`, which ends when it works. @throws when it doesn't */
export async function installed(...flags: readonly string[]): Promise<Ended> {
  await serveApi()
  const ended = await run(install, '--apply', '--timeout', '3m', ...flags)
  assert.equal(ended.code, 0, ended.stdout + ended.stderr)
  return ended
}

/** Ends every replica of `serve`. */
export const stopServe = () => stop('serve', 'sidecar-first')

/** Ends every replica of `certs`. */
export const stopCerts = () => stop('certs', 'sidecar-first-certs')

async function stop(component: string, deployment: string): Promise<void> {
  await kubectl('scale', '-n', namespace, `deploy/${deployment}`, '--replicas=0')
  const ofComponent = ['-l', `app.kubernetes.io/component=${component}`]
  await kubectl('wait', '-n', namespace, '--for=delete', 'pod', ...ofComponent, '--timeout=180s')
}

export async function startServe(): Promise<void> {
  await kubectl('scale', '-n', namespace, 'deploy/sidecar-first', '--replicas=2')
  await rolledOut('sidecar-first')
}

export const rolledOut = (deployment: string) =>
  kubectl('rollout', 'status', '-n', namespace, `deploy/${deployment}`, '--timeout=180s')

/** Restarts daemons of the node; pods stay. */
export const restart = (...daemons: readonly string[]) =>
  promisify(execFile)(join(import.meta.dirname, '../../scripts/cluster'), ['restart', ...daemons])

/** A kubelet brings a changed Secret or ConfigMap within a minute or so, or when something else of the pod changes. */
export const hurry = () =>
  kubectl('annotate', 'pods', '-n', namespace, '--all', '--overwrite', `test/now=${Date.now()}`)

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

/** Waits until the sample comes out in an order, whatever is being brought up meanwhile. */
export const ordered = (namespace: string, order: readonly string[]) =>
  until(`${order.join(', ')} in ${namespace}`, async () => {
    const found = await orderOf(namespace).catch(() => [])
    return found.join() === order.join() ? true : undefined
  })
