import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseArgs } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { starts } from '../../src/cli/starts.ts'
import { manifests } from '../../src/install/manifests.ts'
import { render, textOf, type Wanted } from '../../src/install/render.ts'
import { version } from '../../src/version.ts'
import { configurationHash } from '../../src/webhooks/configurations.ts'

const standard: Wanted = { mode: 'namespace-opt-in', namespace: 'sidecar-first' }

function rendered(wanted: Partial<Wanted> = {}) {
  const made = render(manifests, version, { ...standard, ...wanted })
  assert.ok(made.ok)
  const text = textOf(made.documents)
  const objects = parseAllDocuments(text).map((document) => document.toJS())
  const find = (kind: string, name?: string) =>
    objects.find((each) => each.kind === kind && (name === undefined || each.metadata.name === name))
  const configuration: string = find('ConfigMap', 'sidecar-first').data['config.yaml']
  return { ...made, text, objects, find, configuration }
}

interface Deployment {
  spec: { template: { spec: { containers: [{ image: string; args: string[] }]; imagePullSecrets?: object[] } } }
}
const podOf = (deployment: Deployment) => deployment.spec.template.spec

describe('what install prints', () => {
  test('is what is applied, with the comments of the files', () => {
    const { documents, objects, text } = rendered({ parts: ['monitoring', 'preview'] })
    assert.deepEqual(
      objects,
      documents.map((document) => document.toJS()),
    )
    for (const comment of ['# A new replica is ready before an old one goes.', '# For namespaces labelled']) {
      assert.ok(text.includes(comment), comment)
    }
  })

  test('moves everything to another namespace', () => {
    const all = { namespace: 'mesh', parts: ['monitoring', 'preview', 'rollouts', 'starts'] as const }
    for (const { text, objects, find } of [rendered(all), rendered({ ...all, certManager: true })]) {
      assert.doesNotMatch(text, /namespace: sidecar-first|sidecar-first\.sidecar-first|sidecar-first\/sidecar-first$/m)
      assert.equal(find('Namespace').metadata.name, 'mesh')
      const [{ clientConfig, namespaceSelector }] = find('MutatingWebhookConfiguration').webhooks
      assert.equal(clientConfig.service.namespace, 'mesh')
      assert.deepEqual(namespaceSelector.matchExpressions[0].values, ['kube-system', 'kube-node-lease', 'mesh'])
      for (const { kind, subjects = [] } of objects)
        for (const { namespace } of subjects) assert.equal(namespace, 'mesh', kind)
    }
    assert.ok(
      podOf(rendered(all).find('Deployment', 'sidecar-first-certs')).containers[0].args.includes('--namespace=mesh'),
    )
    const managed = rendered({ ...all, certManager: true })
    assert.deepEqual(managed.find('Certificate', 'sidecar-first').spec.dnsNames, [
      'sidecar-first.mesh.svc',
      'sidecar-first.mesh.svc.cluster.local',
    ])
    const { metadata } = managed.find('ValidatingWebhookConfiguration')
    assert.equal(metadata.annotations['cert-manager.io/inject-ca-from'], 'mesh/sidecar-first')
  })

  test('lets all that call the API server reach it on each port that distributions give it', () => {
    const { find } = rendered({ parts: ['preview', 'rollouts', 'starts'] })
    const portsOf = (name: string) =>
      find('NetworkPolicy', name).spec.egress?.flatMap((each: { ports: { port: number }[] }) =>
        each.ports.map(({ port }) => port),
      )
    for (const name of ['certs', 'rollouts', 'starts']) {
      assert.deepEqual(portsOf(`sidecar-first-${name}`), [443, 6443, 8443, 16443], name)
    }
    for (const name of ['serve', 'preview']) assert.equal(portsOf(`sidecar-first-${name}`), undefined, name)
  })

  test('puts image, pull secret and replicas where they belong', () => {
    const { objects, find } = rendered({ image: 'r/sf@sha256:0', pullSecret: 'pull', replicas: 5, parts: ['preview'] })
    const deployments = objects.filter(({ kind }) => kind === 'Deployment')
    assert.equal(deployments.length, 3)
    for (const deployment of deployments) {
      const { containers, imagePullSecrets } = podOf(deployment)
      assert.deepEqual([containers[0].image, imagePullSecrets], ['r/sf@sha256:0', [{ name: 'pull' }]])
    }
    assert.equal(find('Deployment', 'sidecar-first').spec.replicas, 5)
    assert.equal(find('Deployment', 'sidecar-first-certs').spec.replicas, 1)
  })

  test('has the rollouts fetch images by the waiter that the configuration names', () => {
    const argsOf = (wanted: Partial<Wanted>) =>
      podOf(rendered({ parts: ['rollouts'], ...wanted }).find('Deployment', 'sidecar-first-rollouts')).containers[0]
        .args
    assert.ok(!argsOf({}).some((each) => each.startsWith('--waiter-image')))
    assert.ok(argsOf({ waiterImage: 'r/waiter:1' }).includes('--waiter-image=r/waiter:1'))
  })

  test('makes the webhook configurations of the configuration that it writes', () => {
    const rule = 'rules: [{name: a, tier: 1, match: {container: envoy, namespaceSelector: {matchLabels: {team: a}}}}]\n'
    const { configuration, find } = rendered({
      configuration: `apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${rule}`,
      waiterImage: 'r/waiter:1',
      gate: 'native',
      found: { kubernetesVersion: '1.36', delivery: 'image-volume' },
    })
    assert.match(configuration, /image: r\/waiter:1/)
    assert.match(configuration, /gate: native/)
    for (const [kind, calls] of [
      ['MutatingWebhookConfiguration', 3], // reset, the set's mark, the plan
      ['ValidatingWebhookConfiguration', 1], // nothing is enforced for the set
    ] as const) {
      const { metadata, webhooks } = find(kind)
      assert.equal(metadata.annotations['sidecar-first.dev/configuration-hash'], configurationHash(configuration))
      assert.equal(webhooks.filter(({ rules }: { rules?: unknown }) => rules).length, calls)
      assert.equal(webhooks[0].clientConfig.caBundle, undefined, 'certs owns it')
    }
  })

  test('replaces the replicas with their configuration, where that is asked for', () => {
    const stampsOf = (wanted: Partial<Wanted>) => {
      const { objects } = rendered({ parts: ['preview', 'rollouts'], ...wanted })
      return objects.flatMap(({ kind, metadata, spec }) =>
        kind === 'Deployment' && spec.template.metadata.annotations ? [metadata.name] : [],
      )
    }
    assert.deepEqual(stampsOf({}), [])
    assert.deepEqual(stampsOf({ rolls: true }), ['sidecar-first', 'sidecar-first-preview'])
  })

  test('lets the exporter of starts read pods and events, and nothing else; its call is one that the command takes', () => {
    const { find } = rendered({ parts: ['starts'], namespace: 'mesh' })
    assert.deepEqual(find('ClusterRole', 'sidecar-first-starts').rules, [
      { apiGroups: [''], resources: ['pods', 'events'], verbs: ['list', 'watch'] },
    ])
    const { containers } = podOf(find('Deployment', 'sidecar-first-starts'))
    const [command, ...args] = containers[0].args
    assert.equal(command, 'starts')
    assert.deepEqual(parseArgs({ args, options: starts.options, allowPositionals: true }).positionals, ['run'])
  })

  test('goes by the mode: who is asked for, and what annotations may do', () => {
    const wide = rendered({ mode: 'cluster-wide' })
    assert.equal(wide.find('MutatingWebhookConfiguration').webhooks[0].failurePolicy, 'Ignore')
    assert.match(wide.configuration, /^ {2}checks: \[probe, http, https, tcp, grpc, unix, file, none\]$/m)
    assert.equal(rendered().find('MutatingWebhookConfiguration').webhooks[0].failurePolicy, 'Fail')
  })

  test("says what is wrong with a configuration by the file's own lines", () => {
    const configuration = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter:\nmod: observe\n'
    const found = { kubernetesVersion: '1.36', delivery: 'image-volume' } as const
    const made = render(manifests, version, { ...standard, configuration, found })
    assert.ok(!made.ok)
    assert.deepEqual(
      made.problems.map(({ line, column }) => [line, column]),
      [[4, 1]],
    )
  })
})
