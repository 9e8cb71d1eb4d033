import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { textOf } from '../../src/admission/words/messages.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { objectKeys } from '../../src/kubernetes/names.ts'
import { preview } from '../../src/preview/preview.ts'

const read = readConfiguration(
  `apiVersion: sidecar-first.dev/v1
kind: Configuration
rules:
- {name: everywhere, match: {container: base}, tier: 1, check: none}
- name: shop
  match: {container: proxy, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}
  tier: 3
  check: tcp://:1
- name: not in system
  match:
    container: otel
    namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
  tier: 2
  check: tcp://:2
- {name: labelled, match: {container: app, namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}, tier: 4}
`,
  '0.0.0',
)
assert(read.ok, JSON.stringify(read))
const { configuration } = read

/** Those of the golden pairs that can be read. */
const golden = new URL('../golden/', import.meta.url)
const manifests = readdirSync(golden, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => ({ name, text: readFileSync(new URL(name, golden), 'utf8') }))
  .filter(({ text }) => preview(text, configuration).ok)

const pod = (metadata: object) =>
  JSON.stringify({
    kind: 'Pod',
    metadata,
    spec: { containers: ['app', 'proxy', 'otel', 'base'].map((name) => ({ name })) },
  })

/** The containers' names as they would be, and the tiers. */
function order(text: string, namespace = ''): string {
  const previewed = preview(text, configuration, namespace)
  assert(previewed.ok)
  const [{ patched, decision } = assert.fail()] = previewed.previews
  const { spec } = patched as unknown as { spec: { containers: { name: string }[] } }
  const tiers = 'tiers' in decision ? decision.tiers.map((tier) => tier.map(({ name }) => name).join('+')) : []
  return `${spec.containers.map(({ name }) => name).join(' ')}: ${tiers.join(', ')}`
}

test("rules for namespaces count where the namespace's name alone tells; its labels nobody knows here", () => {
  assert.equal(order(pod({})), 'base app proxy otel: base')
  assert.equal(order(pod({}), 'kube-system'), 'base app proxy otel: base')
  assert.equal(order(pod({}), 'other'), 'base otel app proxy: base, otel')
  assert.equal(order(pod({}), 'shop'), 'base otel proxy app: base, otel, proxy')
})

test('its own namespace goes before the assumed one', () => {
  assert.equal(order(pod({ namespace: 'shop' }), 'kube-system'), 'base otel proxy app: base, otel, proxy')
})

test('asked again, nothing is to do', () => {
  const first = preview(pod({}), configuration, 'shop')
  assert(first.ok)
  const again = preview(JSON.stringify(first.previews[0]?.patched), configuration, 'shop')
  assert(again.ok)
  assert.deepEqual([again.previews[0]?.decision.verdict, again.previews[0]?.patch], ['unchanged', []])
})

test('where labels decide that nobody knows here, it says so, and what follows in either case', () => {
  const previewed = preview(pod({}), configuration, 'shop')
  assert(previewed.ok)
  const [{ outlook, decision } = assert.fail()] = previewed.previews
  assert.equal(outlook, 'depends-on-namespace')
  assert.match(
    decision.reasons.map(textOf).join('\n'),
    /\nin a namespace that more rules select, it is left alone: every container is a sidecar/,
  )
})

test('a namespace among the manifests has the labels that it has', () => {
  const namespace = (labels: object) =>
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels } })
  for (const [labels, tiers] of [
    [{ team: 'x' }, 'base, otel, proxy'],
    // Nothing is left to hold back.
    [{}, ''],
  ] as const) {
    const previewed = preview(`${namespace(labels)}\n---\n${pod({ namespace: 'shop' })}`, configuration)
    assert(previewed.ok)
    const { outlook, decision } = previewed.previews[1] ?? assert.fail()
    assert.notEqual(outlook, 'depends-on-namespace')
    const order = 'tiers' in decision ? decision.tiers.map((tier) => tier.map(({ name }) => name).join('+')) : []
    assert.equal(order.join(', '), tiers)
  }
})

const optedOut = (name: string) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: { [objectKeys.injection]: 'disabled' } },
  })

test('pods of a namespace among the manifests that opted out are left alone, whatever asks for them, and nothing is suggested', () => {
  let asking = 0
  for (const { name, text } of manifests) {
    const given = preview(text, configuration, 'shop')
    const among = preview(`${optedOut('shop')}\n---\n${text}`, configuration, 'shop')
    assert(given.ok && among.ok, name)
    asking += given.previews.filter(({ decision }) => decision.verdict === 'patched').length
    for (const { outlook, patch, suggestion, object } of among.previews.slice(1)) {
      if (object.namespace !== 'shop' || object.kind === 'Namespace') continue
      assert.deepEqual([outlook, patch, suggestion], ['skipped', [], undefined], name)
    }
  }
  assert.ok(asking > 20, `${asking}`)
})

test('what is refused in every namespace unless an injector adds a container is called so, not left to the namespace', () => {
  const asking = pod({ annotations: { 'sidecar-first.dev/sidecars': 'proxy, vault' } })
  const previewed = preview(asking, configuration)
  assert(previewed.ok)
  const [{ outlook, decision } = assert.fail()] = previewed.previews
  assert.equal(outlook, 'refused-unless-injected')
  assert.match(
    decision.reasons.map(textOf).join('\n'),
    /in a namespace that more rules select, it is refused unless an injector adds vault/,
  )
})
