import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { told } from '../../src/check/findings.ts'
import { policies } from '../../src/check/installation/policies.ts'
import { manifests as files } from '../../src/install/manifests.ts'
import { partNames, render } from '../../src/install/render.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { version } from '../../src/version.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'

const overlays = ['overlays/namespace-opt-in', 'overlays/cluster-wide', 'overlays/cert-manager']
const parts = ['optional/preview', 'optional/monitoring', 'rollouts']
const manifests = join(import.meta.dirname, '../../manifests')

describe('the manifests on a real API server', () => {
  let api: ApiServer
  before(async () => {
    api = await startApiServer()
    await api.kubectl(['apply', '-f', '-'], JSON.stringify(fakeKinds))
    await api.kubectl(['wait', '--for=condition=Established', 'crd', '--all'])
  })
  after(() => api?.stop())

  for (const overlay of [...overlays, ...parts]) {
    test(`${overlay}: applies, twice, without a warning, and passes a server-side dry run`, async () => {
      assert.match(await apply(overlay), /sidecar-first\S* (created|configured|unchanged)/)
      const generations = () => api.kubectl(['get', 'deploy', '-A', '-o', 'jsonpath={..metadata.generation}'])
      const before = await generations()
      assert.doesNotMatch(await apply(overlay), /created/)
      assert.equal(await generations(), before, 'no pod is replaced')
      await apply(overlay, '--dry-run=server', '--server-side', '--force-conflicts')
    })
  }

  test('a policy narrows what each service account that patches may patch; check says where one is gone', async () => {
    const site = { objects: objects(connection(api.kubeconfig('admin'))), namespace: 'sidecar-first' }
    const levels = async () => (await policies.run(site)).map((finding) => told(finding).level)
    assert.deepEqual(await levels(), ['ok', 'ok'])
    await api.kubectl(['delete', 'validatingadmissionpolicybinding', 'sidecar-first-certs'])
    await api.kubectl(['delete', 'validatingadmissionpolicy', 'sidecar-first-rollouts'])
    assert.deepEqual(await levels(), ['warning', 'warning'])
    for (const folder of ['overlays/namespace-opt-in', 'rollouts']) await apply(folder)
    assert.deepEqual(await levels(), ['ok', 'ok'])
    assert.deepEqual(
      (await policies.run({ ...site, namespace: 'default' })).map((finding) => told(finding).text),
      ['nothing runs here that needs one'],
    )
  })

  for (const [folders, wanted] of [
    [['overlays/namespace-opt-in', ...parts], { parts: partNames }],
    [['overlays/cluster-wide'], { mode: 'cluster-wide' }],
    [['overlays/cert-manager'], { certManager: true }],
  ] as const) {
    test(`${folders[0]}: install prints each object as kustomize does`, async () => {
      const made = render(files, version, { mode: 'namespace-opt-in', namespace: 'sidecar-first', ...wanted })
      assert.ok(made.ok)
      const printed = made.documents.map((document) => document.toJS())
      const built = (await Promise.all(folders.map(kustomize))).flat()
      assert.deepEqual(byName(printed), byName(built))
    })
  }

  test('cert-manager: leaves certs out, and has all configurations given a caBundle', async () => {
    const rendered = await kustomize('overlays/cert-manager')
    assert.deepEqual(
      rendered.filter(({ metadata }) => metadata.name === 'sidecar-first-certs'),
      [],
    )
    const annotated = rendered.filter(({ metadata }) => metadata.annotations?.['cert-manager.io/inject-ca-from'])
    assert.deepEqual(annotated.map(({ kind }) => kind).toSorted(), [
      'MutatingWebhookConfiguration',
      'ValidatingWebhookConfiguration',
      'ValidatingWebhookConfiguration',
    ])
  })

  test("serve can't reach the CA's key: of the Secret it gets two keys, and it has no token", async () => {
    for (const overlay of overlays) {
      const deployments = (await kustomize(overlay)).filter(({ kind }) => kind === 'Deployment')
      const serve = deployments.find(({ metadata }) => metadata.name === 'sidecar-first')?.spec?.template.spec
      assert.equal(serve?.automountServiceAccountToken, false)
      const secrets = serve.volumes.filter(({ configMap }) => !configMap)
      assert.deepEqual(
        secrets.map(({ secret }) => secret?.items.map(({ key }) => key)),
        [['tls.crt', 'tls.key']],
      )
    }
  })

  /** @throws on a warning too */
  const apply = (folder: string, ...flags: readonly string[]) =>
    api.kubectl(['apply', '--warnings-as-errors', '-k', join(manifests, folder), ...flags])

  async function kustomize(folder: string): Promise<Rendered[]> {
    const documents = parseAllDocuments(await api.kubectl(['kustomize', join(manifests, folder)]))
    return documents.map((document) => document.toJS())
  }
})

const byName = (objects: readonly Rendered[]) =>
  Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))

/** What the tests look at. */
interface Rendered {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> }
  readonly spec?: { readonly template: { readonly spec: PodSpec } }
}
interface PodSpec {
  readonly automountServiceAccountToken: boolean
  readonly volumes: { configMap?: object; secret?: { items: { key: string }[] } }[]
}

/** Others' kinds without their schemas: what is in them isn't checked. */
const fakeKinds = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ['cert-manager.io', 'Issuer'],
    ['cert-manager.io', 'Certificate'],
    ['monitoring.coreos.com', 'ServiceMonitor'],
    ['monitoring.coreos.com', 'PodMonitor'],
    ['monitoring.coreos.com', 'PrometheusRule'],
  ].map(([group, kind = '']) => {
    const singular = kind.toLowerCase()
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${singular}s.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    }
  }),
}
