import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, test } from 'node:test'
import { KubeConfig } from '@kubernetes/client-node'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import { forward } from '../../src/kubernetes/port-forward.ts'

/** How a port-forward fails against a fake API server, which answers this status, or nothing. */
async function failure(status: number | undefined, timeout?: number): Promise<ClusterError> {
  const server = createServer()
  const sockets: Duplex[] = []
  server.on('upgrade', (_, socket) => {
    sockets.push(socket)
    if (status !== undefined) socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const kubeconfig = new KubeConfig()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  kubeconfig.loadFromClusterAndUser({ name: 'fake', server: url, skipTLSVerify: true }, { name: 'nobody' })
  try {
    await forward(kubeconfig, { namespace: 'a', pod: 'b', port: 8443 }, timeout)
  } catch (error) {
    assert.ok(error instanceof ClusterError, String(error))
    return error
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return assert.fail('it opened')
}

describe('a port-forward that does not open', () => {
  test('says that one may not', async () => {
    const { kind, message } = await failure(403)
    assert.equal(kind, 'forbidden')
    assert.equal(message, 'you may not create pods/portforward in namespace a (before Kubernetes 1.35: get it)')
  })

  test('says what was answered', async () => {
    assert.match((await failure(500)).message, /answered 500/)
  })

  test('ends by its time limit', async () => {
    assert.equal((await failure(undefined, 50)).kind, 'timeout')
  })
})
