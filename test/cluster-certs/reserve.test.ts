import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfiguration } from '../../src/configuration/read.ts'
import { applyObject, type Manifest, present } from '../../src/install/apply.ts'
import { awaitTrust } from '../../src/install/trust.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { endpoint } from '../../src/kubernetes/names.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { webhookConfigurations, webhookYaml } from '../../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { talkTo } from '../cluster-webhooks/cluster.ts'
import { until } from '../until.ts'
import { observer, PORT, prepare, replicaHosts, start } from './fixture.ts'
import { startReplica } from './replica.ts'

// An upgrade that adds rules with selectors of their own adds webhooks, and one without a caBundle fails every call.

/** A configuration with so many rules, each with a selector of its own; all select the namespace. */
function made(count: number) {
  const rules = Array.from({ length: count }, (_, index) => {
    const selector = `{matchLabels: {team: a}, matchExpressions: [{key: not-${index}, operator: DoesNotExist}]}`
    return `- {name: r${index}, tier: ${index + 1}, check: none, match: {container: sidecar-${index}, namespaceSelector: ${selector}}, enforce: true}\n`
  }).join('')
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${count > 0 ? `rules:\n${rules}` : ''}`
  const read = readConfiguration(text, '0.1.0')
  assert.ok(read.ok, JSON.stringify(read))
  const options = { mode: 'namespace-opt-in', namespace: 'sidecar-first', endpoint } as const
  return { text, webhooks: webhookConfigurations(read.configuration, text, options) }
}

/** Creates pods (dry run) that the last rule names, one after the other. */
function startLoad(api: ApiServer, container: string) {
  const { send, close } = talkTo(api)
  const stop = new AbortController()
  const tally = { patched: 0, unpatched: 0, refused: [] as string[] }
  const create = async () => {
    const metadata = { name: 'sample' }
    const spec = { containers: ['app', container].map((name) => ({ name, image: `${name}:1` })) }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec }
    const { status, body } = await send('POST', '/api/v1/namespaces/shop/pods?dryRun=All', pod)
    if (status !== 201) tally.refused.push(String(body.message))
    else tally[body.spec.containers[0].name === container ? 'patched' : 'unpatched']++
  }
  const ended = (async () => {
    while (!stop.signal.aborted) await create()
  })()
  return {
    tally,
    async stop() {
      stop.abort()
      await ended
      close()
      return tally
    },
  }
}

test('no pod is refused through an upgrade that adds rules with a namespaceSelector', async (t) => {
  const api = await startApiServer()
  t.after(() => api.stop())
  const [host] = replicaHosts
  await prepare(api, [host])
  await api.kubectl(['patch', 'service', '-n', 'sidecar-first', 'sidecar-first', '--type=json', '-p', named])
  await api.kubectl(['create', 'namespace', 'shop'])
  await api.kubectl(['label', 'namespace', 'shop', 'sidecar-first.dev/injection=enabled', 'team=a'])
  const folder = await mkdtemp(join(tmpdir(), 'reserve-'))
  t.after(() => rm(folder, { recursive: true }))
  const config = join(folder, 'config.yaml')
  // Replicas have the new configuration before the webhooks have.
  await writeFile(config, made(12).text)
  const { cluster } = observer(api)
  const trusted = () =>
    until('a caBundle everywhere', 30_000, async () =>
      (await cluster.readConfigurations()).every(({ bundles }) => bundles.every((each) => each !== '')),
    )

  await t.test('as kustomize, the chart and GitOps apply it, while certs is down', async (t) => {
    const certs = start(t, api)
    await api.kubectl(['apply', '--server-side', '-f', '-'], webhookYaml(made(0).webhooks))
    await until('a Secret', 30_000, () => cluster.readSecret())
    const replica = await startReplica({ cluster, host, delay: 0, config })
    t.after(() => replica.stop())
    await trusted()
    // The manager that docs/gitops.md has Argo CD ignore, and nothing but this field is its.
    for (const [kind, name] of [
      ['mutatingwebhookconfiguration', 'zz-sidecar-first'],
      ['validatingwebhookconfiguration', 'sidecar-first'],
    ] as const) {
      const shown = JSON.parse(await api.kubectl(['get', kind, name, '-o', 'json', '--show-managed-fields']))
      const owned = shown.metadata.managedFields.find(
        ({ manager }: { manager: string }) => manager === 'sidecar-first-certs',
      )
      assert.match(
        JSON.stringify(owned.fieldsV1),
        /^\{"f:webhooks":(?:\{|"k:.*?":\{"f:clientConfig":\{"f:caBundle":\{\}\}\}|,|\})+$/,
      )
    }
    await certs.stop()
    const load = startLoad(api, 'sidecar-3')
    await until('the load before the upgrade', 30_000, async () => load.tally.unpatched > 0)
    await api.kubectl(['apply', '--server-side', '-f', '-'], webhookYaml(made(4).webhooks))
    await until('pods by the new rules', 30_000, async () => load.tally.patched > 50)
    const { refused } = await load.stop()
    assert.deepEqual(refused, [])
    // One more than there are in reserve: that is what would happen to all.
    await api.kubectl(['apply', '--server-side', '-f', '-'], webhookYaml(made(9).webhooks))
    const more = startLoad(api, 'sidecar-8')
    await until('a refused pod', 30_000, async () => more.tally.refused.length > 0)
    assert.match((await more.stop()).refused[0] ?? '', /"set-9\.pods\.sidecar-first\.dev": .* certificate/)
  })

  await t.test('as install applies it, however many there are', async (t) => {
    const replica = await startReplica({ cluster, host, delay: 0, config })
    t.after(() => replica.stop())
    start(t, api)
    await trusted()
    const load = startLoad(api, 'sidecar-11')
    await until('the load before the upgrade', 30_000, async () => load.tally.unpatched > 0)
    const client = objects(connection(api.kubeconfig('admin'), { timeout: 30_000 }))
    const lines: string[] = []
    const write = (thing: string, state: string) => void lines.push(`${thing} ${state}`)
    const applying = {
      objects: client,
      progress: { done: write, waiting: () => {} },
      dryRun: false,
      force: true,
      signal: AbortSignal.timeout(60_000),
    }
    const { mutating, validating } = made(12).webhooks
    const manifests = [mutating, validating] as unknown as readonly Manifest[]
    const before = await present(manifests, client)
    for (const each of manifests) {
      await awaitTrust(each, before.get(each), applying)
      await applyObject(each, before.get(each), applying)
    }
    await until('pods by the new rules', 30_000, async () => load.tally.patched > 50)
    const { refused } = await load.stop()
    assert.deepEqual(refused, [])
    assert.deepEqual(lines, [
      'mutatingwebhookconfiguration/zz-sidecar-first has its caBundle',
      'mutatingwebhookconfiguration/zz-sidecar-first configured',
      'validatingwebhookconfiguration/sidecar-first has its caBundle',
      'validatingwebhookconfiguration/sidecar-first configured',
    ])
  })
})

const named = JSON.stringify([{ op: 'replace', path: '/spec/ports/0/targetPort', value: PORT }])
