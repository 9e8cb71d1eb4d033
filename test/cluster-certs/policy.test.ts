import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PatchStrategy, type V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import { kubernetes } from '../../certs/kubernetes.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objectNames } from '../../src/kubernetes/names.ts'
import { type RawCalls, rawCalls } from '../../src/kubernetes/raw.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { SECOND, until } from '../until.ts'
import { createConfigurations, names, prepare } from './fixture.ts'

const { namespace } = names
const registration = '/apis/admissionregistration.k8s.io/v1'
const paths = {
  mutating: `${registration}/mutatingwebhookconfigurations/${objectNames.mutating}`,
  validating: `${registration}/validatingwebhookconfigurations/${objectNames.validating}`,
  workloads: `${registration}/validatingwebhookconfigurations/${objectNames.workloads}`,
}
const secrets = `/api/v1/namespaces/${namespace}/secrets`

let api: ApiServer
/** With the token of certs. */
let own: RawCalls
let cluster: ReturnType<typeof kubernetes>['cluster']
before(async () => {
  api = await startApiServer()
  await prepare(api)
  await api.kubectl(['apply', '-f', 'manifests/base/certs-policy.yaml'])
  await createConfigurations(api)
  for (const object of [
    `mutatingwebhookconfiguration/${objectNames.mutating}`,
    `validatingwebhookconfiguration/${objectNames.validating}`,
    `validatingwebhookconfiguration/${objectNames.workloads}`,
  ]) {
    await api.kubectl(['label', object, 'team=a'])
    await api.kubectl(['annotate', object, 'note=b'])
  }
  own = rawCalls(connection(api.kubeconfig('certs')))
  cluster = kubernetes({ kubeconfig: api.kubeconfig('certs'), names }).cluster
  const theft = { path: '/webhooks/0/failurePolicy', op: 'replace', value: 'Fail' }
  await until('the policies to be in force', 60 * SECOND, async () => {
    const secret = await tried(() => own.create(`${secrets}?dryRun=All`, { metadata: { name: 'other' } }))
    return (await patched('mutating', theft)) !== 'done' && secret !== 'done'
  })
})
after(() => api?.stop())

async function tried(call: () => Promise<unknown>): Promise<string> {
  return await call().then(
    () => 'done',
    (error: Error) => error.message,
  )
}

/** A JSON patch with the token of certs, in a dry run. */
const patched = (kind: keyof typeof paths, ...operations: object[]) =>
  tried(() => own.patch(`${paths[kind]}?dryRun=All`, operations, PatchStrategy.JsonPatch))

const webhook = '/webhooks/0'
const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: '7d4f4b0e-7c39-4f6a-9a57-6d2f4a1f1a51' }
const stolen: Record<string, readonly object[]> = {
  failurePolicy: [{ op: 'replace', path: `${webhook}/failurePolicy`, value: 'Fail' }],
  rules: [{ op: 'replace', path: `${webhook}/rules/0/resources`, value: ['*'] }],
  timeoutSeconds: [{ op: 'replace', path: `${webhook}/timeoutSeconds`, value: 30 }],
  namespaceSelector: [{ op: 'add', path: `${webhook}/namespaceSelector`, value: { matchLabels: { a: 'b' } } }],
  matchConditions: [{ op: 'add', path: `${webhook}/matchConditions`, value: [{ name: 'never', expression: 'false' }] }],
  'its name': [{ op: 'replace', path: `${webhook}/name`, value: 'other.sidecar-first.dev' }],
  'the service': [{ op: 'replace', path: `${webhook}/clientConfig/service/name`, value: 'other' }],
  'a URL instead of the service': [
    { op: 'remove', path: `${webhook}/clientConfig/service` },
    { op: 'add', path: `${webhook}/clientConfig/url`, value: 'https://elsewhere.example/' },
  ],
  'a webhook less': [{ op: 'remove', path: webhook }],
  'a new label': [{ op: 'add', path: '/metadata/labels/other', value: 'c' }],
  'a changed label': [{ op: 'replace', path: '/metadata/labels/team', value: 'c' }],
  'a label less': [{ op: 'remove', path: '/metadata/labels/team' }],
  'a new annotation': [{ op: 'add', path: '/metadata/annotations/other', value: 'c' }],
  'no annotations': [{ op: 'remove', path: '/metadata/annotations' }],
  ownerReferences: [{ op: 'add', path: '/metadata/ownerReferences', value: [owner] }],
  finalizers: [{ op: 'add', path: '/metadata/finalizers', value: ['example.com/keep'] }],
}

for (const kind of ['mutating', 'validating', 'workloads'] as const) {
  test(`certs may change caBundle of the ${kind} configuration, and nothing else`, async () => {
    for (const [what, operations] of Object.entries(stolen)) {
      assert.match(await patched(kind, ...operations), /sidecar-first-certs may only change caBundle/, what)
    }
    const bundle = { op: 'add', path: `${webhook}/clientConfig/caBundle` }
    assert.equal(await patched(kind, { ...bundle, value: Buffer.from('# none\n').toString('base64') }), 'done')
  })
}

test('certs may not change whether the mutating webhook is called again, nor the order of the webhooks', async () => {
  const again = { op: 'replace', path: `${webhook}/reinvocationPolicy`, value: 'IfNeeded' }
  assert.match(await patched('mutating', again), /may only change caBundle/)
  const swapped = { op: 'move', from: '/webhooks/1', path: webhook }
  assert.match(await patched('validating', swapped), /may only change caBundle/)
})

test('certs may create only its own Secret, and none that the API server fills with a token', async () => {
  const create = (name: string, more: object = {}) =>
    tried(() => own.create(`${secrets}?dryRun=All`, { metadata: { name, ...more }, ...more }))
  const annotations = { 'kubernetes.io/service-account.name': objectNames.certs }
  const token = { type: 'kubernetes.io/service-account-token', annotations }
  assert.match(await create(names.secret, token), /may only create the Secret sidecar-first of type Opaque/)
  assert.match(await create('other'), /may only create the Secret sidecar-first of type Opaque/)
  assert.equal(await create(names.secret), 'done')
})

test('what certs itself does is allowed', async () => {
  await cluster.createSecret({ 'tls.crt': 'a' })
  const secret = await cluster.readSecret()
  await cluster.updateSecret(secret?.version ?? '', { data: { 'tls.crt': 'b' } })
  for (const configuration of await cluster.readConfigurations()) await cluster.writeBundle(configuration, '# none\n')
  const { length } = (await cluster.readConfigurations()).filter(({ bundles }) => bundles.includes('# none\n'))
  assert.equal(length, 3)
})

test('also for as many webhooks as a configuration can make', async () => {
  const path = paths.mutating
  const admin = rawCalls(connection(api.kubeconfig('admin')))
  const { webhooks } = await admin.get<V1MutatingWebhookConfiguration>(path)
  const [one] = webhooks ?? []
  assert.ok(one)
  const names = Array.from({ length: 100 }, (_, index) => `w${index}.sidecar-first.dev`)
  const expression = `"${'a'.repeat(8000)}" != "b"`
  const many = names.map((name) => ({ ...one, name, matchConditions: [{ name: 'long', expression }] }))
  await admin.patch(path, { webhooks: many }, PatchStrategy.MergePatch)
  const [configuration] = await cluster.readConfigurations()
  assert.ok(configuration)
  assert.equal(configuration.bundles.length, 100)
  await cluster.writeBundle(configuration, '# another\n')
})
