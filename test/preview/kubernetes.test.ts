import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Configuration, defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { answerPreview } from '../../src/preview/answer.ts'
import { assuming, offeredVersions, underKubernetes } from '../../src/preview/kubernetes.ts'
import { whatIfType } from '../../src/preview/what-if.ts'
import { wanted } from './wanted.ts'

const standard = defaultConfiguration('0.0.0')
const old: Configuration = { ...standard, kubernetesVersion: { major: 1, minor: 34 } }
const pod = `kind: Pod
metadata:
  name: p
  annotations: {sidecar-first.dev/sidecars: proxy}
spec:
  containers:
  - name: app
  - name: proxy
    readinessProbe: {tcpSocket: {port: 1}}
`
const whatIf = (settings: object) => JSON.stringify({ manifests: pod, settings })

function ask(body: string, configuration: Configuration, accept?: string) {
  const contentType = body.startsWith('{') ? whatIfType : 'application/yaml'
  return answerPreview({ body, contentType, wanted: wanted(accept), query: '' }, configuration)
}

test('the newest Kubernetes that a preview assumes is the one that the tests of a cluster run', () => {
  const modules = readFileSync(new URL('../../scripts/node/tools/kubernetes/go.mod', import.meta.url), 'utf8')
  const chart = readFileSync(new URL('../../chart/Chart.yaml', import.meta.url), 'utf8')
  const [, tested] = /k8s\.io\/kubernetes v(\d+\.\d+)\./.exec(modules) ?? []
  const [, oldest] = /kubeVersion: ">=(\d+\.\d+)\./.exec(chart) ?? []
  assert.deepEqual(underKubernetes(standard), { version: tested, assumed: true })
  assert.deepEqual([offeredVersions[0], offeredVersions.at(-1)], [tested, oldest])
  assert.equal(new Set(offeredVersions).size, Number(tested?.slice(2)) - Number(oldest?.slice(2)) + 1)
})

test('a preview assumes the newest Kubernetes only where neither configuration nor settings say one, and says which', () => {
  for (const [body, configuration, said, gate] of [
    [pod, standard, { version: '1.36', assumed: true }, 'lock'],
    [whatIf({}), standard, { version: '1.36', assumed: true }, 'lock'],
    [pod, old, { version: '1.34', assumed: false }, 'hook'],
    [whatIf({}), old, { version: '1.34', assumed: false }, 'hook'],
    [whatIf({ kubernetesVersion: '1.33' }), standard, { version: '1.33', assumed: false }, 'hook'],
    [whatIf({ kubernetesVersion: '1.35' }), old, { version: '1.35', assumed: false }, 'lock'],
  ] as const) {
    const { kubernetes, results } = JSON.parse(ask(body, configuration).body)
    assert.deepEqual([kubernetes, results[0].gates[0].form], [said, gate], body)
    // what holds under the lock and this version is all that is shown
    assert.equal(results[0].gates[0].opensOn.includes('it crashes'), gate === 'hook')
  }
})

test('what is applied as it is answered has no lock that nobody asked for', () => {
  for (const accept of ['application/yaml', 'application/json-patch+json']) {
    assert.doesNotMatch(ask(pod, standard, accept).body, /fileKeyRef/)
    assert.match(ask(whatIf({ kubernetesVersion: '1.36' }), standard, accept).body, /fileKeyRef/)
  }
  assert.equal(standard.kubernetesVersion, undefined)
  assert.equal(assuming(old), old)
})

test('settings name containers that an injector adds, as --expect does', () => {
  const missing = pod.replace('sidecars: proxy', 'sidecars: "proxy, vault"')
  const verdict = (settings: object) =>
    JSON.parse(ask(JSON.stringify({ manifests: missing, settings }), standard).body).results?.[0].verdict
  assert.equal(verdict({}), 'refused-unless-injected')
  assert.equal(verdict({ injected: ['vault'] }), 'patched')
  assert.equal(verdict({ injected: ['vaultt'] }), 'refused-unless-injected')
  assert.equal(verdict({ injected: ['no name'] }), undefined)
})
