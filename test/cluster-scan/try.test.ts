import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PatchStrategy } from '@kubernetes/client-node'
import { connection } from '../../src/kubernetes/connection.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { startProxy } from '../apiserver/proxy.ts'
import { run } from '../cli/process.ts'
import { statusOf, web } from './pods.ts'

let api: ApiServer
before(async () => {
  api = await startApiServer([])
  await api.kubectl(['create', 'namespace', 'shop'])
  const calls = rawCalls(connection(api.kubeconfig('admin')))
  const pod = web(1, 1)
  const { metadata, spec } = pod
  const { nodeName: _, ...template } = spec
  await calls.create('/apis/apps/v1/namespaces/shop/deployments', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web-1', namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: 'web-1' } },
      template: { metadata: { labels: { app: 'web-1' } }, spec: template },
    },
  })
  await calls.create('/api/v1/namespaces/shop/pods', pod)
  await calls.patch(
    `/api/v1/namespaces/shop/pods/${metadata.name}/status`,
    { status: statusOf(pod, true) },
    PatchStrategy.StrategicMergePatch,
  )
})
after(async () => await api?.stop())

/** `sidecar-first try`, with what it called. */
async function tried(...args: string[]) {
  const proxy = await startProxy(api, () => 'pass')
  try {
    const env = { KUBECONFIG: api.kubeconfigFile('admin', proxy.url) }
    return { ...(await run(['try', '-n', 'shop', ...args], { env })), calls: [...proxy.passed] }
  } finally {
    await proxy.stop()
  }
}

const everything = async () => await api.kubectl(['get', 'pods,deployments', '-n', 'shop', '-o', 'json'])

test('a workload is tried without an installation, and nothing is changed', async () => {
  const before = await everything()
  const { code, stdout, stderr, calls } = await tried('deploy/web-1')
  assert.deepEqual([code, stderr], [0, ''], stdout)
  assert.match(stdout, /SF658 sidecar-first is not installed/)
  assert.match(stdout, /SF651 it would start istio-proxy, before app/)
  assert.match(stdout, /SF654 the API server would accept it, in a dry run with our patch/)
  assert.match(stdout, /sidecar-first\.dev\/sidecars: istio-proxy {2}#/)
  assert.match(stdout, /web-1-abc12-1 started\n/)
  assert.equal(await everything(), before)
  const writes = calls.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(writes, Array(2).fill('POST /api/v1/namespaces/shop/pods'))
})

test('a policy that refuses its pods is quoted, with the exit code 1', async () => {
  await api.kubectl(['label', 'namespace', 'shop', 'pod-security.kubernetes.io/enforce=restricted'])
  const { code, stdout } = await tried('deploy/web-1')
  assert.equal(code, 1)
  assert.match(stdout, /SF655 the API server would refuse it as it is: .*PodSecurity/)
})

test('a workload that is not there is an error', async () => {
  const { code, stderr } = await tried('deploy/nowhere')
  assert.equal(code, 1)
  assert.match(stderr, /there is no deployment nowhere in namespace shop; name it with -n/)
})
