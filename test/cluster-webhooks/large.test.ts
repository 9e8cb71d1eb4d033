import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { hookOf, names, type Pod, pod, ready } from '../admission/pods.ts'
import { startApiServer } from '../apiserver/apiserver.ts'
import { startServe } from '../server/process.ts'
import { put, talkTo } from './cluster.ts'

test('a pod of 1.3 MB, of which the API server makes a review of 8 MB, is patched, though it would be stored if it were not', async () => {
  const api = await startApiServer()
  const cluster = talkTo(api)
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-large-'))
  await writeFile(join(folder, 'tls.crt'), api.pair.certificate)
  await writeFile(join(folder, 'tls.key'), api.pair.key)
  await using serve = await startServe(['--cert', join(folder, 'tls.crt'), '--key', join(folder, 'tls.key')])
  try {
    const options = { mode: 'cluster-wide', namespace: 'sidecar-first', caBundle: api.ca } as const
    const made = webhookConfigurations(defaultConfiguration('test'), '', { ...options, endpoint: { url: serve.url } })
    const policies = [...(made.mutating.webhooks ?? []), ...(made.validating.webhooks ?? [])]
    assert.deepEqual([...new Set(policies.map(({ failurePolicy }) => failurePolicy))], ['Ignore'])
    await put(cluster.send, made)

    const create = async (name: string, padding: string): Promise<Pod> => {
      const given = pod({ sidecars: 'envoy' }, [
        { name: 'app', image: 'app', env: [{ name: 'PADDING', value: padding }] },
        { name: 'envoy', image: 'envoy', readinessProbe: ready },
      ])
      const metadata = { ...given.metadata, name }
      const { status, body } = await cluster.send('POST', '/api/v1/namespaces/default/pods', { ...given, metadata })
      assert.equal(status, 201, body.message)
      return body
    }
    for (let tries = 0; tries < 100 && !serve.output().includes('"msg":"validation"'); tries++) {
      await create(`small-${tries}`, '')
      await sleep(50)
    }
    const stored = await create('large', '<'.repeat(1_300_000))
    assert.deepEqual(names(stored), ['envoy', 'app'])
    assert.equal(hookOf(stored, 'envoy')?.[0], '/.sidecar-first/wait')
  } finally {
    cluster.close()
    await api.stop()
    await rm(folder, { recursive: true })
  }
})
