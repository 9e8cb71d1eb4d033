import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { type Certain, foresee } from '../../src/admission/verdict.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import {
  type InstallMode,
  type WebhookConfigurations,
  webhookConfigurations,
} from '../../src/webhooks/configurations.ts'
import { paths, setOfPath } from '../../src/webhooks/path.ts'
import { type Container, type Fields, type Pod, pod, ready } from '../admission/pods.ts'
import { configurations, pods } from '../admission/verdict-samples.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { type ServeProcess, startServe } from '../server/process.ts'
import { put, talkTo } from './cluster.ts'

// What is forecast of a pod is what a real API server makes of it, which calls a real sidecar-first and, for the containers that a pod wants added, a
// stand-in for an injector: before it, or behind it.

const enabled = { 'sidecar-first.dev/injection': 'enabled' }
const namespaces: Readonly<Record<string, Record<string, string>>> = {
  plain: {},
  enabled,
  disabled: { 'sidecar-first.dev/injection': 'disabled' },
  a: { ...enabled, A: '1' },
  ab: { ...enabled, A: '1', B: '1' },
  'bare-a': { A: '1' },
  'kube-system': {},
}
const labelsOf = (namespace: string) => ({
  labels: new Map(Object.entries({ ...namespaces[namespace], 'kubernetes.io/metadata.name': namespace })),
  whole: true,
})

const injected = (name: string): Container => ({ name, image: `injected/${name}:1`, readinessProbe: ready })
const wants = { early: 'example.com/early', late: 'example.com/late' } as const

let api: ApiServer
let cluster: ReturnType<typeof talkTo>
let folder: string
let serve: ServeProcess | undefined
const injector = { stop() {} }

before(async () => {
  api = await startApiServer()
  cluster = talkTo(api)
  folder = await mkdtemp(join(tmpdir(), 'sidecar-first-verdict-'))
  await writeFile(join(folder, 'tls.crt'), api.pair.certificate)
  await writeFile(join(folder, 'tls.key'), api.pair.key)
  for (const [name, labels] of Object.entries(namespaces)) {
    if (name !== 'kube-system') await cluster.namespace(name, labels)
  }
  await startInjector()
})
after(async () => {
  await serve?.[Symbol.asyncDispose]()
  injector.stop()
  cluster?.close()
  await api?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** Adds the containers that an annotation names, as injectors do: at the end, and only what isn't there. */
async function startInjector() {
  const server = createServer({ cert: api.pair.certificate, key: api.pair.key }, async (incoming, response) => {
    const { request } = JSON.parse(await text(incoming)) as { request: { uid: string; object: Pod } }
    const key = incoming.url?.startsWith('/early') ? wants.early : wants.late
    const asked = String((request.object.metadata.annotations as Fields | undefined)?.[key] ?? '')
    const there = new Set(request.object.spec.containers.map(({ name }) => name))
    const patch = asked
      .split(',')
      .filter((name) => name !== '' && !there.has(name))
      .map((name) => ({ op: 'add', path: '/spec/containers/-', value: injected(name) }))
    const encoded = Buffer.from(JSON.stringify(patch)).toString('base64')
    const answer = {
      uid: request.uid,
      allowed: true,
      ...(patch.length > 0 && { patchType: 'JSONPatch', patch: encoded }),
    }
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(review))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  injector.stop = () => {
    server.close()
    server.closeAllConnections()
  }
  const { port } = server.address() as AddressInfo
  for (const [name, path] of [
    ['aaa-injector', 'early'],
    ['zzz-injector', 'late'],
  ] as const) {
    const webhook = {
      name: `${name}.example.com`,
      rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'] }],
      clientConfig: {
        url: `https://127.0.0.1:${port}/${path}`,
        caBundle: Buffer.from(api.ca).toString('base64'),
      },
      matchConditions: [
        {
          name: 'asked',
          expression: `has(object.metadata.annotations) && '${wants[path]}' in object.metadata.annotations`,
        },
      ],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
    }
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name },
      webhooks: [webhook],
    }
    const { status, body: answer } = await cluster.send(
      'POST',
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
      body,
    )
    assert.equal(status, 201, answer.message)
  }
}

interface Installed {
  readonly configuration: Configuration
  readonly webhooks: Parameters<typeof foresee>[1]['webhooks']
}

/** Serves with a configuration, and has the API server call it. */
async function install(more: string, mode: InstallMode): Promise<Installed> {
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${more}`
  const read = readConfiguration(text, '0.1.0')
  assert.ok(read.ok, JSON.stringify(read))
  await writeFile(join(folder, 'configuration.yaml'), text)
  await serve?.[Symbol.asyncDispose]()
  const flags = { cert: 'tls.crt', key: 'tls.key', config: 'configuration.yaml' }
  serve = await startServe(Object.entries(flags).flatMap(([flag, file]) => [`--${flag}`, join(folder, file)]))
  const made = webhookConfigurations(read.configuration, text, {
    mode,
    namespace: 'sidecar-first',
    endpoint: { url: serve.url },
    caBundle: api.ca,
  })
  await put(cluster.send, made)
  const seen = () => ['admission', 'validation'].every((what) => serve?.output().includes(`"msg":"${what}"`))
  for (let tries = 0; tries < 100 && !seen(); tries++) {
    await create(pod({ sidecars: 'app', 'check/app': 'none' }, [{ name: 'app', image: 'a' }]), 'ab')
    await sleep(50)
  }
  await sleep(300)
  return { configuration: read.configuration, webhooks: callsOf(made) }
}

/** The webhooks that plan, and those that mark sets, as they were made. */
function callsOf({ mutating }: WebhookConfigurations): Installed['webhooks'] {
  return (mutating.webhooks ?? []).flatMap(({ rules = [], clientConfig, namespaceSelector = {} }) => {
    const path = new URL(clientConfig.url ?? '').pathname
    const set = setOfPath(path)
    const plans = path === paths.mutate || set !== undefined
    return rules.length > 0 && plans ? [{ selector: namespaceSelector as object, set }] : []
  })
}

let count = 0
async function create(given: Pod, namespace: string, add: Record<string, string> = {}) {
  const annotations = { ...(given.metadata.annotations as Fields), ...add }
  const metadata = { ...given.metadata, annotations, name: `pod-${count++}` }
  const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`
  const { status, body } = await cluster.send('POST', path, { ...given, metadata })
  return { status, message: String(body.message), pod: body as Pod }
}

const namesIn = ({ spec }: Pod) =>
  [(spec.initContainers ?? []) as readonly Container[], spec.containers].map((list) => list.map(({ name }) => name))
const hasOurs = ({ metadata }: Pod) => Object.hasOwn((metadata.annotations ?? {}) as Fields, 'sidecar-first.dev/status')

/** That a pod that was created, or wasn't, is as it was forecast. */
function agrees(
  given: Pod,
  forecast: Certain,
  { status, message, pod: made }: Awaited<ReturnType<typeof create>>,
  what: string,
) {
  const all = `${what}: ${forecast.kind}, and ${status} ${message}`
  switch (forecast.kind) {
    case 'refused':
    case 'unless-injected':
      assert.notEqual(status, 201, all)
      assert.match(message, /denied the request/, all)
      return
    case 'left':
      assert.equal(status, 201, all)
      assert.deepEqual(namesIn(made), namesIn(given), all)
      assert.ok(!hasOurs(made), all)
      return
    case 'starts': {
      assert.equal(status, 201, all)
      const { decision } = forecast
      const expected = decision.verdict === 'patched' ? applyPatch(given, decision.patch) : given
      assert.deepEqual(namesIn(made), namesIn(expected), all)
      assert.ok(hasOurs(made), all)
      return
    }
    default:
      forecast satisfies never
  }
}

test('what is forecast is what happens, and a condition decides', async (t) => {
  const seen = {
    starts: 0,
    left: 0,
    refused: 0,
    'unless-injected': 0,
    depends: 0,
    added: 0,
    'added though misspelt': 0,
  }
  for (const [turn, { text, mode }] of fc.sample(configurations, { numRuns: 12, seed: 29 }).entries()) {
    const { configuration, webhooks } = await install(text, mode)
    for (const given of fc.sample(pods, { numRuns: 9, seed: turn })) {
      // As a preview has it that knows nothing of the namespace.
      const anywhere = foresee(given, { configuration })
      if (anywhere.kind === 'depends-on-namespace') seen.depends++
      for (const namespace of Object.keys(namespaces)) {
        const what = JSON.stringify({
          text,
          mode,
          namespace,
          annotations: given.metadata.annotations,
          containers: namesIn(given)[1],
        })
        const circumstances = { configuration, namespace: labelsOf(namespace), ...(webhooks && { webhooks }) }
        const surroundings = { job: false, into: namespace }
        const forecast = foresee(given, { ...circumstances, surroundings })
        assert.ok(forecast.kind !== 'depends-on-namespace', what)
        const isSent = forecast.decision.reasons.every(({ kind }) => kind !== 'not-sent')
        if (isSent && anywhere.kind !== 'depends-on-namespace') assert.equal(forecast.kind, anywhere.kind, what)
        agrees(given, forecast, await create(given, namespace), what)
        seen[forecast.kind]++
        const missing =
          forecast.kind === 'unless-injected' ? forecast.absent.map(({ name }) => name) : misspelt(forecast)
        if (missing.length === 0) continue
        const names = [...new Set(missing)]
        const then = {
          ...given,
          spec: { ...given.spec, containers: [...given.spec.containers, ...names.map(injected)] },
        }
        for (const key of Object.values(wants)) {
          const made = await create(given, namespace, { [key]: names.join() })
          const after = foresee(then, { ...circumstances, surroundings })
          assert.ok(after.kind === 'starts' || after.kind === 'unless-injected', `${what}: ${JSON.stringify(after)}`)
          // An enforced rule about what is added behind us may refuse what the first call has planned without it.
          const enforces = key === wants.late && configuration.rules.rules.some(({ enforce }) => enforce)
          if (after.kind === 'starts' && !enforces) assert.equal(made.status, 201, `${key} ${what}: ${made.message}`)
          seen[forecast.kind === 'refused' ? 'added though misspelt' : 'added']++
        }
      }
    }
  }
  t.diagnostic(JSON.stringify(seen))
  assert.ok(Math.min(...Object.values(seen)) > 20, JSON.stringify(seen))
})

/** What a pod names that is refused for nothing but that. */
function misspelt(forecast: Certain): readonly string[] {
  if (forecast.kind !== 'refused') return []
  const all = forecast.decision.reasons.flatMap((each) => (each.kind === 'container-misspelt' ? [each.name] : []))
  return all.length === forecast.decision.reasons.length ? all : []
}
