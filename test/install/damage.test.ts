import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../../src/install/apply.ts'
import { damageOf, type Intrusion } from '../../src/install/damage.ts'
import { installation } from '../check/cluster.ts'

const name = 'sidecar-first'
const wanted = ['Namespace', 'Deployment', 'ConfigMap'].map(
  (kind): Manifest => ({ apiVersion: 'v1', kind, metadata: { name } }),
)
const [namespace, deployment, configMap] = wanted as [Manifest, Manifest, Manifest]
const ours = { 'app.kubernetes.io/name': 'sidecar-first' }
const intrusion = (there: [Manifest, object][], more: Partial<Intrusion> = {}) =>
  damageOf({
    before: new Map(there),
    pods: 0,
    version: '0.10.0',
    configured: false,
    mode: { wanted: 'namespace-opt-in', said: false },
    ...more,
  })
const ofVersion = (version: string): [Manifest, object][] => [
  [namespace, { metadata: { name, labels: ours } }],
  [deployment, { metadata: { labels: { 'app.kubernetes.io/version': version } } }],
]
const configuredBy = (text: string): [Manifest, object][] => [[configMap, { data: { 'config.yaml': text } }]]

test('a namespace with pods of others is not taken, an empty one or our own is', () => {
  const theirs: [Manifest, object][] = [[namespace, { metadata: { name } }]]
  assert.match(intrusion(theirs, { pods: 1 }) ?? '', /the namespace sidecar-first has pods of others/)
  assert.equal(intrusion(theirs), undefined)
  assert.equal(intrusion(ofVersion('0.10.0'), { pods: 3 }), undefined)
})

test('a namespace that is being deleted takes nothing new', () => {
  const ending: [Manifest, object][] = [[namespace, { metadata: { name, labels: ours, deletionTimestamp: 'now' } }]]
  assert.match(intrusion(ending) ?? '', /is being deleted; .* kubectl wait --for=delete namespace\/sidecar-first/)
})

test('a newer version stays, by number and not by letter', () => {
  for (const newer of ['0.10.1', '0.11.0', '1.0.0', '0.100.0'])
    assert.match(intrusion(ofVersion(newer)) ?? '', /is installed/, newer)
  for (const older of ['0.10.0', '0.9.9', '0.2.0']) assert.equal(intrusion(ofVersion(older)), undefined, older)
})

test('a mode that no flag names is not changed', () => {
  const { mutating } = installation('', 'cluster-wide')
  const calls: Manifest = { apiVersion: 'v1', kind: 'MutatingWebhookConfiguration', metadata: { name } }
  const there: [Manifest, object][] = [[calls, mutating]]
  assert.match(intrusion(there) ?? '', /it is installed with --mode cluster-wide; say so again/)
  assert.equal(intrusion(there, { mode: { wanted: 'cluster-wide', said: true } }), undefined)
  assert.equal(intrusion(there, { mode: { wanted: 'namespace-opt-in', said: true } }), undefined)
  assert.equal(intrusion([[calls, installation().mutating]]), undefined)
})

test("the waiter's image isn't dropped by leaving its flag out: pods would pull another", () => {
  const text = 'kind: Configuration\nwaiter: {image: r/waiter:1}\n'
  assert.match(intrusion(configuredBy(text)) ?? '', /say --waiter-image r\/waiter:1 again/)
  const other = { ...configMap, data: { 'config.yaml': 'kind: Configuration\nwaiter: {image: r/waiter:2}\n' } }
  assert.equal(intrusion([[other, { data: { 'config.yaml': text } }]]), undefined)
})

test("a configuration that is somebody's work is replaced by another file alone", () => {
  const theirs = configuredBy('apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmode: observe\n')
  assert.match(intrusion(theirs) ?? '', /--config/)
  assert.equal(intrusion(theirs, { configured: true }), undefined)
  assert.equal(intrusion(configuredBy('kind: Configuration\nkubernetesVersion: "1.36"\n')), undefined)
})
