import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { KubeConfig } from '@kubernetes/client-node'
import { watchChanges } from '../../certs/kubernetes.ts'
import { objectNames } from '../../src/kubernetes/names.ts'
import { SECOND, until } from '../until.ts'

/** An API server that has all watches end at once, or never answers them. */
async function apiServer(answers: boolean) {
  let asked = 0
  const server = createServer((_, response) => {
    asked++
    if (answers) response.end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const kubeconfig = new KubeConfig()
  const { port } = server.address() as AddressInfo
  const cluster = { name: 'test', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }
  kubeconfig.loadFromClusterAndUser(cluster, { name: 'test' })
  return {
    kubeconfig,
    asked: () => asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('watches that end again and again leave nothing behind', async (t) => {
  await using server = await apiServer(true)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const watching = watchChanges(server.kubeconfig, objectNames, { signal: stop.signal, changed: () => {} })
  await until('each to be asked four times', 30 * SECOND, async () => server.asked() >= 16)
  // One for each of the four watches, or for its pause.
  assert.ok(getEventListeners(stop.signal, 'abort').length <= 4, String(getEventListeners(stop.signal, 'abort').length))
  stop.abort()
  await watching
})

test('an API server that never answers a watch holds up no end', async (t) => {
  await using server = await apiServer(false)
  const stop = new AbortController()
  t.after(() => stop.abort())
  const watching = watchChanges(server.kubeconfig, objectNames, { signal: stop.signal, changed: () => {} })
  await until('each to be asked', 30 * SECOND, async () => server.asked() >= 4)
  stop.abort()
  let ended = false
  void watching.then(() => (ended = true))
  await until('the end', 10 * SECOND, async () => ended)
})
