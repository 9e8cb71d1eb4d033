import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { hostilePods, type Manifest } from '../hostile/pods.ts'
import { type Serving, serveCaged } from '../hostile/serve.ts'

const configuration = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
/** A small one, and one that costs the API server itself as much as it may in a test. */
const sizes = [60_000, 300_000]

test('good pods are created and patched while hostile ones are created beside them, under failurePolicy Fail', async () => {
  const api = await startApiServer()
  const server = await serveCaged(configuration)
  try {
    await register(api, server)
    const pods = createPods(api)
    let hostile = true
    const failed: string[] = []
    let created = 0
    const good = async () => {
      while (hostile) {
        const { status, body } = await pods.create(goodPod(`good-${created++}`))
        if (status !== 201) failed.push(body.message ?? String(status))
        else if (!JSON.stringify(body).includes('.sidecar-first')) failed.push('not patched')
        await sleep(20)
      }
    }
    const creators = [good(), good()]
    const answers: Record<string, number> = {}
    for (const bytes of sizes) {
      for (const [name, make] of Object.entries(hostilePods)) {
        const { status } = await pods.create(make(bytes)).catch(() => ({ status: 0 }))
        answers[status] = (answers[status] ?? 0) + 1
        assert.equal(server.hasEnded(), undefined, `${name}, ${bytes} bytes: ${server.said()}`)
      }
    }
    hostile = false
    await Promise.all(creators)
    pods.close()
    assert.deepEqual(failed, [], `hostile pods were answered ${JSON.stringify(answers)}; ${server.said()}`)
    assert.ok(created > 50, `only ${created} good pods`)
    assert.ok((answers[201] ?? 0) + (answers[400] ?? 0) > 50, JSON.stringify(answers))
  } finally {
    await server.stop()
    await api.stop()
  }
})

function goodPod(name: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations: { 'sidecar-first.dev/sidecars': 'proxy' } },
    spec: {
      containers: [
        { name: 'app', image: 'app:1' },
        { name: 'proxy', image: 'proxy:1', readinessProbe: { httpGet: { path: '/ready', port: 15_021 } } },
      ],
    },
  }
}

/** Both webhooks, and a namespace for which they are called. */
async function register(api: ApiServer, server: Serving): Promise<void> {
  const { mutating, validating } = webhookConfigurations(defaultConfiguration('test'), configuration, {
    mode: 'namespace-opt-in',
    namespace: 'sidecar-first',
    endpoint: { url: server.url },
    caBundle: await readFile(server.ca, 'utf8'),
  })
  assert.ok(mutating.webhooks?.every(({ failurePolicy }) => failurePolicy === 'Fail'))
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'opted-in', labels: { 'sidecar-first.dev/injection': 'enabled' } },
  }
  const items = [namespace, mutating, validating]
  await api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const pods = createPods(api)
  for (let tries = 0; tries < 200; tries++) {
    const { body } = await pods.create(goodPod('first'))
    if (JSON.stringify(body).includes('.sidecar-first')) return pods.close()
    await sleep(50)
  }
  throw new Error('the API server does not call the webhook')
}

/** Creates pods as dry runs: the webhooks are asked all the same. */
function createPods(api: ApiServer) {
  const agent = new Agent({ keepAlive: true, ca: api.ca })
  const token = api.kubeconfig('admin').getCurrentUser()?.token ?? ''
  return {
    async create(pod: Manifest): Promise<{ status: number; body: { readonly message?: string } }> {
      const call = request(`${api.url}/api/v1/namespaces/opted-in/pods?dryRun=All`, {
        method: 'POST',
        agent,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      })
      call.end(JSON.stringify({ ...pod, metadata: { ...(pod.metadata as Manifest), namespace: 'opted-in' } }))
      const [response] = await once(call, 'response')
      return { status: response.statusCode, body: JSON.parse(await text(response)) }
    },
    close: () => agent.destroy(),
  }
}
