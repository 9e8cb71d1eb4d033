import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'

/** What answers lists and watches on loopback, and how to reach it. */
export async function fakeApiServer(
  answer: RequestListener,
): Promise<Disposable & { readonly kubeconfig: KubeConfig }> {
  const server = createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const kubeconfig = new KubeConfig()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  kubeconfig.loadFromClusterAndUser({ name: 'fake', server: url, skipTLSVerify: true }, { name: 'nobody' })
  return {
    kubeconfig,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
