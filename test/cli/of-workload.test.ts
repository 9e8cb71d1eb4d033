import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { check } from '../../src/cli/check.ts'
import { timeline } from '../../src/cli/timeline.ts'
import { installation, shop } from '../check/cluster.ts'
import { fakeApiServer } from '../kubernetes/fake-api-server.ts'
import { lived } from '../outcome/lived.ts'
import { run } from './inside.ts'

const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-abc', uid: 'r', controller: true }
const early = lived(
  [
    { name: 'app', runs: [[1]] },
    { name: 'mesh', runs: [[4]] },
  ],
  { now: 60, named: '' },
)
const pod = {
  ...early.pod,
  metadata: {
    ...early.pod.metadata,
    name: 'web-abc-1',
    namespace: 'shop',
    uid: 'web-abc-1',
    annotations: {},
    labels: { 'pod-template-hash': 'abc' },
    ownerReferences: [owner],
  },
}
const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', uid: 'd' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { spec: pod.spec } },
}

/** An API server with one Deployment and its pod; `denied`: what may not be read. */
function answers(configuration: string, denied = /^$/) {
  const { text, mutating, validating, workloads } = installation(configuration)
  const resource = (kind: string, name: string, namespaced = true) => ({ kind, name, namespaced })
  const registration = '/apis/admissionregistration.k8s.io/v1'
  const found: Record<string, unknown> = {
    '/api/v1': {
      resources: [
        resource('Pod', 'pods'),
        resource('Event', 'events'),
        resource('ConfigMap', 'configmaps'),
        resource('Namespace', 'namespaces', false),
      ],
    },
    '/apis/apps/v1': { resources: [resource('Deployment', 'deployments')] },
    [registration]: {
      resources: [
        resource('MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', false),
        resource('ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', false),
      ],
    },
    [`${registration}/mutatingwebhookconfigurations/zz-sidecar-first`]: mutating,
    [`${registration}/validatingwebhookconfigurations/sidecar-first`]: validating,
    [`${registration}/validatingwebhookconfigurations/sidecar-first-workloads`]: workloads,
    '/api/v1/namespaces/sidecar-first/configmaps/sidecar-first': { data: { 'config.yaml': text } },
    '/api/v1/namespaces': { items: [shop] },
    '/api/v1/namespaces/shop': shop,
    '/apis/apps/v1/namespaces/shop/deployments/web': web,
    '/api/v1/namespaces/shop/pods': { items: [pod] },
    '/api/v1/namespaces/shop/pods/web-abc-1': pod,
    '/api/v1/namespaces/shop/events': { items: [] },
    '/api/v1/namespaces/default/events': { items: [] },
  }
  return ({ url = '' }: IncomingMessage, response: ServerResponse) => {
    const path = url.replace(/\?.*/, '')
    const body = found[path]
    const name = path.replace(/.*\//, '')
    const missing = { kind: 'Status', code: 404, reason: 'NotFound', details: { name, kind: 'x' } }
    response.statusCode = denied.test(path) ? 403 : body === undefined ? 404 : 200
    response.setHeader('date', new Date(early.now).toUTCString())
    response.end(JSON.stringify(denied.test(path) ? {} : (body ?? missing)))
  }
}

async function cluster(configuration: string, denied?: RegExp): Promise<AsyncDisposable> {
  const server = await fakeApiServer(answers(configuration, denied))
  const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
  const before = process.env.KUBECONFIG
  process.env.KUBECONFIG = join(folder, 'config')
  await writeFile(process.env.KUBECONFIG, server.kubeconfig.exportConfig())
  return {
    async [Symbol.asyncDispose]() {
      if (before === undefined) delete process.env.KUBECONFIG
      else process.env.KUBECONFIG = before
      server[Symbol.dispose]()
      await rm(folder, { recursive: true })
    },
  }
}

const rules = 'rules: [{name: mesh, match: {container: mesh}, tier: 1, check: none}]\n'

test('sidecars that only rules name count for timeline as they do for check, of a pod and of a workload', async () => {
  await using _ = await cluster(rules)
  for (const subject of ['pod/web-abc-1', 'deploy/web']) {
    const checked = await run(check, subject, '-n', 'shop')
    const shown = await run(timeline, subject, '-n', 'shop')
    assert.match(
      checked.stdout,
      subject.startsWith('pod') ? /SF622 .*nothing waited for mesh/ : /its pods: 1 too early/,
    )
    assert.match(shown.stdout, /too early: nothing waited for mesh/, subject)
    assert.equal(shown.stderr, '')
  }
})

test('a configuration that may not be read is told, and the rest is shown', async () => {
  await using _ = await cluster(rules, /configmaps/)
  const { stdout, stderr, code } = await run(timeline, 'deploy/web', '-n', 'shop')
  assert.equal(code, 0)
  assert.match(stdout, /1 without sidecars/)
  assert.match(stderr, /^SF604 judged by the default configuration: the live one is missing or may not be read$/m)
})
