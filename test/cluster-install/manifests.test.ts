import assert from 'node:assert/strict'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { told } from '../../src/check/findings.ts'
import { policies } from '../../src/check/installation/policies.ts'
import { config } from '../../src/cli/config.ts'
import { install } from '../../src/cli/install.ts'
import { manifests as files } from '../../src/install/manifests.ts'
import { partNames, render } from '../../src/install/render.ts'
import { connection } from '../../src/kubernetes/connection.ts'
import { objects } from '../../src/kubernetes/objects.ts'
import { version } from '../../src/version.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { run } from '../cli/inside.ts'
import { fakeKinds } from './fake-kinds.ts'

const overlays = ['overlays/namespace-opt-in', 'overlays/cluster-wide', 'overlays/cert-manager']
const parts = ['optional/preview', 'optional/monitoring', 'rollouts', 'starts']
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
      const built = (await Promise.all(folders.map((folder) => kustomize(manifests, folder)))).flat()
      assert.deepEqual(byName(printed), byName(built))
    })
  }

  test('cert-manager: leaves certs out, and has all configurations given a caBundle', async () => {
    const rendered = await kustomize(manifests, 'overlays/cert-manager')
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
      const deployments = (await kustomize(manifests, overlay)).filter(({ kind }) => kind === 'Deployment')
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

  test('docs/gitops.md: its folders are what install prints, and what it has ignored are the objects with a caBundle', async () => {
    const page = await readFile(join(manifests, '../docs/gitops.md'), 'utf8')
    const blocks = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
    const [pods = '', webhooks = '', both = '', argo = '', flux = ''] = blocks
    const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-gitops-'))
    const file = join(folder, 'configuration.yaml')
    const write = (path: string, text: string) => writeFile(join(folder, path), text)
    try {
      await write('configuration.yaml', /(?<=^cat >configuration\.yaml <<'EOF'\n).*?(?=^EOF$)/ms.exec(page)?.[0] ?? '')
      for (const part of ['pods', 'webhooks']) await mkdir(join(folder, part))
      const printed = await run(install, '--config', file, '--image', 'r/server:1')
      assert.equal(printed.code, 0, printed.stderr)
      await write('pods/install.yaml', printed.stdout)
      await write('webhooks/webhooks.yaml', (await run(config, '--webhooks', file)).stdout)
      await write('pods/kustomization.yaml', pods)
      await write('webhooks/kustomization.yaml', webhooks)
      await write('kustomization.yaml', both)
      const wave = 'argocd.argoproj.io/sync-wave'
      const wanted = parseAllDocuments(printed.stdout).map((document) => document.toJS() as Rendered)
      const isWebhook = ({ kind }: Rendered) => kind.endsWith('WebhookConfiguration')
      for (const each of wanted.filter(isWebhook))
        each.metadata.annotations = { ...each.metadata.annotations, [wave]: '1' }
      assert.deepEqual(byName(await kustomize(folder, '')), byName(wanted))
      const split = [...(await kustomize(folder, 'pods')), ...(await kustomize(folder, 'webhooks'))]
      assert.deepEqual(byName(split), byName(wanted))
      assert.ok((await kustomize(folder, 'webhooks')).every(isWebhook))

      const { spec } = parse(argo)
      assert.deepEqual(
        spec.ignoreDifferences.map(({ group, kind }: { group: string; kind: string }) => `${group} ${kind}`),
        [...new Set(wanted.filter(isWebhook).map(({ apiVersion, kind }) => `${apiVersion.split('/')[0]} ${kind}`))],
      )
      for (const { managedFieldsManagers } of spec.ignoreDifferences)
        assert.deepEqual(managedFieldsManagers, ['sidecar-first-certs'])
      const [first, second] = parseAllDocuments(flux).map((document) => document.toJS())
      assert.deepEqual(second.spec.dependsOn, [{ name: first.metadata.name }])
      for (const { spec } of [first, second]) await access(join(folder, spec.path.replace('./sidecar-first/', '')))
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('docs/install.md: its patch for tainted nodes reaches every Deployment, and leaves the Linux nodes chosen', async () => {
    const page = await readFile(join(manifests, '../docs/install.md'), 'utf8')
    const [kustomization] = /(?<=^```yaml\n)(?:(?!```)[^\n]*\n)*?resources: \[install\.yaml\]\n[^`]*/m.exec(page) ?? []
    const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-taints-'))
    try {
      const printed = await run(
        install,
        ...['--image', 'r/server:1', '--waiter-image', 'r/waiter:1'],
        ...partNames.map((part) => `--${part}`),
      )
      await writeFile(join(folder, 'install.yaml'), printed.stdout)
      await writeFile(join(folder, 'kustomization.yaml'), kustomization ?? '')
      const wanted = parseAllDocuments(printed.stdout).map((document) => document.toJS() as Rendered)
      for (const { kind, spec } of wanted) {
        if (kind !== 'Deployment') continue
        assert.deepEqual(spec?.template.spec.nodeSelector, { 'kubernetes.io/os': 'linux' })
        Object.assign(spec.template.spec, {
          nodeSelector: { 'kubernetes.io/os': 'linux', pool: 'system' },
          tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
        })
      }
      assert.deepEqual(byName(await kustomize(folder, '')), byName(wanted))
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  async function kustomize(root: string, folder: string): Promise<Rendered[]> {
    const documents = parseAllDocuments(await api.kubectl(['kustomize', join(root, folder)]))
    return documents.map((document) => document.toJS())
  }
})

const byName = (objects: readonly Rendered[]) =>
  Object.fromEntries(objects.map((object) => [`${object.kind} ${object.metadata.name}`, object]))

/** What the tests look at. */
interface Rendered {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; annotations?: Record<string, string> }
  readonly spec?: { readonly template: { readonly spec: PodSpec } }
}
interface PodSpec {
  readonly automountServiceAccountToken: boolean
  readonly nodeSelector?: Record<string, string>
  readonly volumes: { configMap?: object; secret?: { items: { key: string }[] } }[]
}
