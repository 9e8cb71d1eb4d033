import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { readConfiguration } from '../../src/configuration/read.ts'
import { manifests } from '../../src/install/manifests.ts'
import { render, textOf } from '../../src/install/render.ts'
import { endpoint } from '../../src/kubernetes/names.ts'
import { kubectlDialect } from '../../src/kubernetes/yaml.ts'
import { webhookConfigurations, webhookYaml } from '../../src/webhooks/configurations.ts'

// kubectl takes an unquoted `on` for a truth value, and the API server then refuses the selector.
test('a label value that YAML readers take for something else stays text, in config --webhooks and in install', () => {
  const rule = 'match: {container: s, namespaceSelector: {matchLabels: {mesh: "on", y: "1_0"}}}, tier: 1'
  const text = `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: [{name: mesh, ${rule}}]\n`
  const read = readConfiguration(text, '1.2.3')
  assert.ok(read.ok)
  const where = { mode: 'cluster-wide', namespace: 'n' } as const
  const rendered = render(manifests, '1.2.3', { ...where, configuration: text })
  assert.ok(rendered.ok)
  for (const yaml of [
    webhookYaml(webhookConfigurations(read.configuration, text, { ...where, endpoint })),
    textOf(rendered.documents),
  ]) {
    const objects = parseAllDocuments(yaml, kubectlDialect).map((document) => document.toJS())
    const { webhooks } = objects.find(({ kind }) => kind === 'MutatingWebhookConfiguration')
    const labels = webhooks.flatMap(
      ({ namespaceSelector }: { namespaceSelector: { matchLabels?: object } }) => namespaceSelector.matchLabels ?? [],
    )
    assert.deepEqual(labels, [{ mesh: 'on', y: '1_0' }])
  }
})
