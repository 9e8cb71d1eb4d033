import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { KubeConfig, PatchStrategy } from '@kubernetes/client-node'
import { manifests } from '../../src/install/manifests.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { rawCalls } from '../../src/kubernetes/raw.ts'
import { runExporter } from '../../src/starts/exporter.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { SECOND, until } from '../until.ts'
import { statusOf, web } from './pods.ts'

let api: ApiServer
before(async () => {
  api = await startApiServer()
  for (const namespace of ['shop', 'sidecar-first']) await api.kubectl(['create', 'namespace', namespace])
  await api.kubectl(['apply', '-f', '-'], manifests['starts/rbac.yaml'])
})
after(() => api?.stop())

/** By the rights that its manifests give it. */
async function own(): Promise<KubeConfig> {
  const token = (await api.kubectl(['create', 'token', '-n', 'sidecar-first', 'sidecar-first-starts'])).trim()
  const cluster = api.kubeconfig('admin').getCurrentCluster() ?? assert.fail()
  const kubeconfig = new KubeConfig()
  kubeconfig.loadFromClusterAndUser(cluster, { name: 'starts', token })
  return kubeconfig
}

test('the exporter counts starts with no more rights than its manifests give it, and forgets pods that are gone', async () => {
  const stop = new AbortController()
  const port = Promise.withResolvers<number>()
  const warnings: string[] = []
  const over = runExporter({
    kubeconfig: await own(),
    resync: 600_000,
    namespaces: true,
    state: undefined,
    log: {
      info: (fields) => 'port' in fields && port.resolve(Number(fields.port)),
      warn: (_, message) => void warnings.push(message),
    },
    signal: stop.signal,
    metricsPort: 0,
  })
  const url = `http://127.0.0.1:${await port.promise}/metrics`
  const seen = (line: string) =>
    until(line, 30 * SECOND, async () => (await (await fetch(url)).text()).split('\n').includes(line))
  try {
    const calls = rawCalls(connection(api.kubeconfig('admin')))
    const create = async (index: number) => {
      const pod = web(index, 0)
      await calls.create('/api/v1/namespaces/shop/pods', pod)
      return pod
    }
    const path = (name: string) => `/api/v1/namespaces/shop/pods/${name}`
    const pods = await Promise.all([0, 1, 2].map(create))
    await seen('sidecar_first_starts_pending 3')
    await seen('sidecar_first_early_starts_total{namespace="shop",gate="none",sidecar="istio"} 0')
    for (const pod of pods) {
      const status = { status: statusOf(pod, true) }
      await calls.patch(`${path(pod.metadata.name)}/status`, status, PatchStrategy.StrategicMergePatch)
    }
    for (const { metadata } of pods) await calls.remove(path(metadata.name), { gracePeriodSeconds: 0 })
    await seen('sidecar_first_early_starts_total{namespace="shop",gate="none",sidecar="istio"} 3')
    await seen('sidecar_first_starts_total{gate="none",outcome="too-early"} 3')
    await seen('sidecar_first_starts_pending 0')
    assert.deepEqual(warnings, [])
  } finally {
    stop.abort()
    await over
  }
})
