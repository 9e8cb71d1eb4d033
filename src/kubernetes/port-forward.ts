import { Duplex, PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type KubeConfig, PortForward } from '@kubernetes/client-node'
import { ClusterError } from './failure.ts'

/** In ms. The client itself never gives up. */
const patience = 10_000

/**
 * A connection to a pod's port through the API server, as `kubectl port-forward` makes one.
 * @param timeout in ms, until it is open
 * @throws ClusterError
 */
export async function forward(
  kubeconfig: KubeConfig,
  { namespace, pod, port }: { namespace: string; pod: string; port: number },
  timeout = patience,
): Promise<Duplex> {
  const towards = new PassThrough()
  const back = new PassThrough()
  const opening = new PortForward(kubeconfig).portForward(namespace, pod, [port], back, null, towards)
  const close = async () => {
    const socket = await opening
    const connection = typeof socket === 'function' ? socket() : socket
    connection?.close()
  }
  const late = sleep(timeout, 'late' as const, { ref: false })
  const opened = await Promise.race([opening, late]).catch((error) => {
    throw refusal(error, namespace)
  })
  if (opened === 'late') {
    close().catch(() => {})
    throw new ClusterError('timeout', 'the port-forward did not open in time')
  }
  return Duplex.from({ writable: towards, readable: back }).once('close', () => void close())
}

/** The WebSocket's error has the status only in its message. */
function refusal(error: unknown, namespace: string): ClusterError {
  const message =
    typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error)
  const code = /server response: (\d{3})/.exec(message)?.[1]
  if (code === '401' || code === '403') {
    return new ClusterError(
      'forbidden',
      `you may not create pods/portforward in namespace ${namespace} (before Kubernetes 1.35: get it)`,
    )
  }
  if (code !== undefined) return new ClusterError('other', `the API server answered ${code} to the port-forward`)
  return new ClusterError('network', `the port-forward failed: ${message}`)
}
