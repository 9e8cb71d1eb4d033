import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { webhookConfigurations } from '../../src/webhooks/configurations.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { type Serving, serveCaged } from '../hostile/serve.ts'

const configuration = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const rollouts = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'rollouts.argoproj.io' },
  spec: {
    group: 'argoproj.io',
    scope: 'Namespaced',
    names: { kind: 'Rollout', plural: 'rollouts', singular: 'rollout' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

let api: ApiServer
let server: Serving
before(async () => {
  api = await startApiServer()
  server = await serveCaged(configuration)
  const { workloads } = webhookConfigurations(defaultConfiguration('test'), configuration, {
    mode: 'namespace-opt-in',
    namespace: 'sidecar-first',
    endpoint: { url: server.url },
    caBundle: await readFile(server.ca, 'utf8'),
  })
  const namespace = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'shop', labels: { 'sidecar-first.dev/injection': 'enabled' } },
  }
  await create(namespace, workloads, rollouts)
  for (let tries = 0; ; tries++) {
    if ((await apply(deployment('probe', { 'sidecar-first.dev/gate': 'x' }))).includes('Warning')) break
    assert.ok(tries < 100, 'the API server does not call the webhook')
    await apply(deployment(`probe-${tries}`, { 'sidecar-first.dev/gate': 'y' }))
    await remove('deployment/probe')
    await sleep(100)
  }
})
after(async () => {
  if (server?.hasEnded() === undefined) await server?.stop()
  await api?.stop()
})

type Annotations = Readonly<Record<string, string>>
const template = (annotations: Annotations) => ({
  metadata: { labels: { app: 'web' }, annotations },
  spec: {
    restartPolicy: 'Always',
    containers: [
      { name: 'app', image: 'app:1' },
      { name: 'envoy', image: 'envoy:1', readinessProbe: { tcpSocket: { port: 1 } } },
    ],
  },
})
const object = (kind: string, apiVersion: string, name: string, spec: object, annotations: Annotations = {}) => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'shop', annotations },
  spec,
})
const selector = { matchLabels: { app: 'web' } }
const deployment = (name: string, annotations: Annotations, own: Annotations = {}) =>
  object('Deployment', 'apps/v1', name, { selector, template: template(annotations) }, own)

const create = (...items: object[]) =>
  api.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
const remove = (what: string) => api.kubectl(['delete', '-n', 'shop', what])
/** What `kubectl apply` says. */
const apply = async (what: object) => said(['apply', '-f', '-'], JSON.stringify(what))
const said = (args: string[], input?: string) => api.said(args, input)

const sidecars = 'sidecar-first.dev/sidecars'
const mistyped = { [sidecars]: 'envoy', 'sidecar-first.dev/gate': 'nativ' }

describe('kubectl apply of a workload', () => {
  test('that is mistyped says at once that its pods will be refused, and applies it', async () => {
    const told = await apply(deployment('web', mistyped))
    assert.match(told, /Warning: SF\d+ its pods will be refused: SF105 sidecar-first.dev\/gate: "nativ" is not one of/)
    assert.match(told, /did you mean native\?/)
    assert.match(told, /deployment.apps\/web created/)
    assert.match(await apply(deployment('other', { [sidecars]: 'evnoy' })), /names "evnoy".*did you mean envoy\?/)
    for (const [index, domain] of ['sidecar-frist.dev', 'sidecar-first.io', 'check.sidecar-first.com'].entries()) {
      const told = await apply(deployment(`domain-${index}`, { [`${domain}/sidecars`]: 'envoy' }))
      assert.match(
        told,
        /Warning: SF220 .* has no effect: .*did you mean (check\.)?sidecar-first\.dev\/sidecars\?/,
        domain,
      )
    }
  })

  test('is silent when it is in order, the same again, scaled, annotated, or its status changes', async () => {
    const good = { [sidecars]: 'envoy' }
    assert.doesNotMatch(await apply(deployment('good', good)), /Warning/)
    await apply(deployment('quiet', mistyped))
    assert.doesNotMatch(await apply(deployment('quiet', mistyped)), /Warning/)
    assert.doesNotMatch(await said(['scale', '-n', 'shop', 'deployment/quiet', '--replicas=2']), /Warning/)
    assert.doesNotMatch(await said(['annotate', '-n', 'shop', 'deployment/quiet', 'note=b']), /Warning/)
    const status = ['patch', '-n', 'shop', 'deployment/quiet', '--subresource=status', '--type=merge']
    assert.doesNotMatch(await said([...status, '-p', '{"status":{"observedGeneration":1}}']), /Warning/)
    assert.match(await apply(deployment('quiet', { ...mistyped, [`${sidecars}x`]: 'b' })), /Warning/)
  })

  test('with a key on itself instead of its pods is told where it belongs, once', async () => {
    const own = { [sidecars]: 'envoy' }
    assert.match(
      await apply(deployment('own', {}, own)),
      /no effect on the Deployment itself: write it in spec.template/,
    )
    assert.doesNotMatch(await apply(deployment('own', {}, { ...own, note: 'b' })), /Warning/)
  })

  test('of every other kind is looked at as well; a resource without a template is none', async () => {
    const inner = template(mistyped)
    const job = { template: { ...inner, spec: { ...inner.spec, restartPolicy: 'Never' } } }
    for (const [kind, version, spec] of [
      ['StatefulSet', 'apps/v1', { selector, serviceName: 'web', template: inner }],
      ['DaemonSet', 'apps/v1', { selector, template: inner }],
      ['Job', 'batch/v1', job],
      ['CronJob', 'batch/v1', { schedule: '0 0 * * *', jobTemplate: { spec: job } }],
      ['Rollout', 'argoproj.io/v1alpha1', { template: inner }],
    ] as const) {
      assert.match(await apply(object(kind, version, kind.toLowerCase(), spec)), /its pods will be refused/, kind)
    }
    const bare = object('Rollout', 'argoproj.io/v1alpha1', 'bare', { workloadRef: { name: 'web' } })
    assert.doesNotMatch(await apply(bare), /Warning/)
  })

  test('of a megabyte is applied, and so is every one while the webhook is down', async () => {
    const big = { ...mistyped, note: 'x'.repeat(200_000) }
    const large = deployment('large', big)
    Object.assign(large.spec, { paused: false })
    const env = Array.from({ length: 600 }, (_, index) => ({ name: `V${index}`, value: 'y'.repeat(1000) }))
    Object.assign((large.spec as { template: ReturnType<typeof template> }).template.spec.containers[0] ?? {}, { env })
    assert.match(await said(['create', '-f', '-'], JSON.stringify(large)), /deployment.apps\/large created/)
    await server.stop()
    assert.match(await apply(deployment('outage', mistyped)), /^deployment.apps\/outage created/)
  })
})
