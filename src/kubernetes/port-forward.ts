import { Duplex, PassThrough } from 'node:stream'
import { type KubeConfig, PortForward } from '@kubernetes/client-node'

/** A connection to a pod's port through the API server, as `kubectl port-forward` makes one. */
export async function forward(
  kubeconfig: KubeConfig,
  to: { namespace: string; pod: string; port: number },
): Promise<Duplex> {
  const towards = new PassThrough()
  const back = new PassThrough()
  const socket = await new PortForward(kubeconfig).portForward(to.namespace, to.pod, [to.port], back, null, towards)
  const duplex = Duplex.from({ writable: towards, readable: back })
  duplex.once('close', () => {
    const connection = typeof socket === 'function' ? socket() : socket
    connection?.close()
  })
  return duplex
}
