import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'

import type { Rule } from '../../src/admission/intent/rule.ts'
import { indexRules } from '../../src/admission/intent/rule-index.ts'
import { findRules } from '../../src/admission/intent/rules.ts'
import type { Container } from '../../src/admission/pod/pod.ts'

import { setOf } from '../../src/webhooks/set.ts'
import { kindsOfRules, many, rule } from '../webhooks/rules.ts'
import { type Cluster, podOf, startCluster } from './cluster.ts'

let cluster: Cluster
before(async () => {
  cluster = await startCluster()
})
after(() => cluster?.stop())

const both = ['/mutate/lock-by-name', '/validate']
const envoy = { name: 'envoy', image: 'docker.io/envoyproxy/envoy:v1' }
const sidecars = { 'sidecar-first.dev/sidecars': 'envoy' }

/** Creates the pod; how it ends is the same as without a webhook. */
async function asked(pod: Parameters<Cluster['create']>[0], namespace?: string) {
  const { status, body, asked: paths } = await cluster.create(pod, namespace)
  assert.equal(status, 201, body.message)
  return paths
}

test('without rules, only pods with a key of ours are sent', async () => {
  await cluster.apply([])
  const annotated = (annotations: object, more: object = {}) => ({
    ...podOf([envoy]),
    metadata: { annotations, ...more },
  })
  assert.deepEqual(await asked(annotated(sidecars)), both)
  assert.deepEqual(await asked(annotated({ 'check.sidecar-first.dev/envoy': 'none' })), both)
  // A typing mistake: the answer warns of it.
  assert.deepEqual(await asked(annotated({ 'sidecar-first.dev/sidecar': 'envoy' })), both)

  assert.deepEqual(await asked(podOf([envoy])), [])
  assert.deepEqual(await asked(annotated({})), [])
  assert.deepEqual(
    await asked(annotated({ 'not-sidecar-first.dev/sidecars': 'envoy', 'sidecar-first.devs/x': 'y' })),
    [],
  )
  assert.deepEqual(await asked(annotated({ ...sidecars, 'sidecar-first.dev/inject': 'false' })), [])
  assert.deepEqual(await asked(annotated({ ...sidecars, 'sidecar-first.dev/inject': 'true' })), both)
  assert.deepEqual(await asked(annotated(sidecars, { labels: { 'sidecar-first.dev/inject': 'false' } })), [])
  assert.deepEqual(await asked(annotated(sidecars, { labels: { 'sidecar-first.dev/inject': 'true' } })), both)
})

test('a mirror pod is never sent', async () => {
  await cluster.apply([rule({ containers: ['envoy'] }, true)])
  const mirror = { ...sidecars, 'kubernetes.io/config.mirror': 'hash' }
  const { asked: paths } = await cluster.create({
    ...podOf([envoy], { nodeName: 'node' }),
    metadata: { annotations: mirror },
  })
  assert.deepEqual(paths, [])
})

test('namespaces: the mode, the excluded ones and the rules decide', async () => {
  await cluster.namespace('plain', {})
  await cluster.namespace('opted-out', { 'sidecar-first.dev/injection': 'disabled' })
  await cluster.namespace('sidecar-first', { 'sidecar-first.dev/injection': 'enabled' })
  await cluster.namespace('team', { 'sidecar-first.dev/injection': 'enabled', team: 'a' })
  await cluster.namespace('team-out', { team: 'a', 'sidecar-first.dev/injection': 'disabled' })
  const namespaceSelector = { matchLabels: { team: 'a' } }
  const set = setOf(namespaceSelector)
  const rules = [rule({ containers: ['envoy'] }), rule({ containers: ['otel'], namespaceSelector })]
  const otel = podOf([{ name: 'otel', image: 'otel:1' }])
  const together = podOf([envoy, { name: 'otel', image: 'otel:1' }])
  // The stand-in marks nothing, so the one that plans doesn't hear of it.
  const own = [`/mutate/mark-${set}`]

  await cluster.apply(rules, 'namespace-opt-in')
  for (const namespace of ['plain', 'opted-out', 'sidecar-first', 'kube-system', 'kube-node-lease', 'team-out']) {
    assert.deepEqual(await asked(together, namespace), [], namespace)
  }
  assert.deepEqual(await asked(otel), [])
  assert.deepEqual(await asked(otel, 'team'), own)
  assert.deepEqual(await asked(together, 'team'), [...own, ...both])
  const forged = { ...otel, metadata: { annotations: { 'sidecar-first.dev/sets': set } } }
  assert.deepEqual(await asked(forged, 'team'), ['/mutate/reset', ...own, ...both])
  assert.deepEqual(await asked(forged), ['/mutate/reset', ...both])

  await cluster.apply(rules, 'cluster-wide')
  for (const namespace of ['opted-out', 'sidecar-first', 'kube-system', 'kube-node-lease', 'team-out']) {
    assert.deepEqual(await asked(together, namespace), [], namespace)
  }
  assert.deepEqual(await asked(together, 'plain'), both)
  assert.deepEqual(await asked(otel, 'plain'), [])
  assert.deepEqual(await asked(otel, 'team'), own)
})

test('an opt-out holds against rules, but not against an enforced one', async () => {
  const labelled = (containers: readonly object[]) => ({
    ...podOf(containers),
    metadata: { labels: { 'sidecar-first.dev/inject': 'false' } },
  })
  const annotated = (containers: readonly object[]) => ({
    ...podOf(containers),
    metadata: { annotations: { 'sidecar-first.dev/inject': 'false' } },
  })
  const otel = { name: 'otel', image: 'otel:1' }
  await cluster.apply([rule({ containers: ['envoy'] })])
  assert.deepEqual(await asked(labelled([envoy])), [])
  assert.deepEqual(await asked(annotated([envoy])), [])

  await cluster.apply([rule({ containers: ['envoy'] }), rule({ containers: ['otel'] }, true)])
  assert.deepEqual(await asked(labelled([envoy])), [])
  assert.deepEqual(await asked(annotated([envoy])), [])
  assert.deepEqual(await asked(podOf([envoy])), both)
  assert.deepEqual(await asked(labelled([otel])), both)
  assert.deepEqual(await asked(annotated([otel])), both)
})

test('init containers count as well', async () => {
  await cluster.apply([rule({ containers: ['envoy'] })])
  assert.deepEqual(await asked(podOf([], { initContainers: [{ ...envoy, restartPolicy: 'Always' }] })), both)
  assert.deepEqual(await asked(podOf([], { initContainers: [{ name: 'other', image: 'x' }] })), [])
})

test('a pod with anything missing or null ends as it does without a webhook', async () => {
  await cluster.namespace('elsewhere', {})
  const everything = {
    containers: ['envoy', 'a*'],
    images: ['*/proxyv2:*', 'x*'],
    podSelector: {
      matchLabels: { a: 'b' },
      matchExpressions: [
        { key: 'c', operator: 'NotIn', values: ['d'] },
        { key: 'e', operator: 'DoesNotExist' },
        { key: 'f', operator: 'Exists' },
      ],
    },
  } as const
  const { podSelector } = everything
  // Enough that a text of 200,000 characters would cost more than the API server allows.
  const long = Array.from({ length: 50 }, (_, i) => `g${i}-*`)
  await cluster.apply([
    rule(everything),
    rule({ ...everything, containers: ['q'] }, true),
    rule({ images: ['*y'], podSelector }),
    rule({ containers: long }),
    rule({ images: long }),
  ])
  const metadata = [
    {},
    { annotations: null, labels: null },
    { annotations: {}, labels: { a: null } },
    { annotations: { 'a/b/c': null } },
  ]
  const container = [{ name: 'envoy', image: 'xy' }]
  const specs = [
    undefined,
    null,
    {},
    { containers: null },
    { containers: [] },
    { containers: [null] },
    { containers: [{}] },
    { containers: [{ name: null, image: null }] },
    { containers: [{ name: '', image: '' }] },
    { containers: [{ name: 'envoy' }] },
    { containers: [{ image: 'xy' }] },
    { containers: container, initContainers: null },
    { containers: container, initContainers: [null, {}] },
    { containers: null, initContainers: container },
    { containers: [{ name: 'n'.repeat(200_000), image: 'x' }] },
    { containers: [{ name: 'n', image: 'i'.repeat(200_000) }] },
  ]
  const without = (name: string, message = '') => message.replace(/pod-\d+/, '').replaceAll(name, '')
  for (const spec of specs) {
    for (const more of metadata) {
      const pod = { metadata: more, ...(spec === undefined ? {} : { spec }) }
      const [here, there] = await Promise.all([cluster.create(pod), cluster.create(pod, 'elsewhere')])
      assert.equal(here.status, there.status, `${JSON.stringify(pod).slice(0, 200)}: ${here.body.message}`)
      const messages = [without('opted-in', here.body.message), without('elsewhere', there.body.message)]
      // No diff: some of them are long.
      assert.ok(messages[0] === messages[1], messages.map((message) => message?.slice(0, 300)).join('\n'))
      assert.deepEqual(there.asked, [])
    }
  }
})

const pieces = [
  'a',
  'b',
  'ab',
  '.',
  '/',
  ':',
  '@',
  '-',
  '(',
  '+',
  '1',
  '\\',
  '$',
  '^',
  '"',
  '|',
  '[',
  '?',
  '\n',
  'é',
  '*',
  '*',
]
const letters = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 4 })
const globs = fc.array(fc.oneof(letters, fc.constant('*'), fc.constantFrom('a*', '*b', '*ab*')), {
  minLength: 1,
  maxLength: 2,
})
const labels = fc.dictionary(fc.constantFrom('x', 'y', 'a.b/c'), fc.constantFrom('1', '2', ''), { maxKeys: 2 })
const podSelector = fc.record({
  matchLabels: labels,
  matchExpressions: fc.array(
    fc.record({
      key: fc.constantFrom('x', 'y', 'z'),
      operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
      values: fc.uniqueArray(fc.constantFrom('1', '2'), { minLength: 1 }),
    }),
    { maxLength: 2 },
  ),
})
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 })
const imageGlobs = fc.array(fc.string({ unit: fc.constantFrom(...pieces), minLength: 1, maxLength: 6 }), {
  minLength: 1,
  maxLength: 2,
})
const rulesets = fc.array(
  fc
    .record({ containers: optional(globs), images: optional(imageGlobs), podSelector: optional(podSelector) })
    .filter(({ containers, images }) => containers !== undefined || images !== undefined),
  { minLength: 1, maxLength: 4 },
)
const image = fc.string({
  unit: fc.constantFrom(...pieces.filter((piece) => piece !== '\n')),
  minLength: 1,
  maxLength: 8,
})
const podsOf = (rules: readonly Pick<Rule, 'match'>[]) => {
  // Texts made from the globs hit more often than any others.
  const filled = (globs: readonly string[]) =>
    fc
      .tuple(fc.constantFrom(...globs), fc.constantFrom('', 'a', 'b/a', '"'))
      .map(([glob, text]) => glob.replaceAll('*', text) || 'a')
  const images = rules.flatMap(({ match }) => match.images ?? [])
  return fc.record({
    labels,
    containers: fc.array(
      fc.record({ name: letters, image: images.length > 0 ? fc.oneof(image, filled(images)) : image }),
      { minLength: 1, maxLength: 2 },
    ),
  })
}

test('the API server sends exactly the pods of which a rule matches a container', async () => {
  let sent = 0
  const samples = fc.sample(rulesets, { numRuns: 25, seed: 4 })
  for (const [index, matches] of samples.entries()) {
    const rules = matches.map((match) => rule(match as Partial<Rule['match']>))
    const rulesIndex = indexRules(rules)
    await cluster.apply(rules)
    for (const pod of fc.sample(podsOf(rules), { numRuns: 30, seed: index })) {
      const hit = pod.containers.some(
        (container) =>
          findRules(rulesIndex, new Map(Object.entries(pod.labels)), [], () => false)(container as Container) !==
          undefined,
      )
      // The pod may be invalid; that is found out after the mutating webhooks.
      const answer = await cluster.create({ metadata: { labels: pod.labels }, spec: { containers: pod.containers } })
      assert.equal(
        answer.asked.includes('/mutate/lock-by-name'),
        hit,
        JSON.stringify({ matches, pod, message: answer.body.message }),
      )
      if (answer.status === 201) assert.equal(answer.asked.includes('/validate'), hit)
      sent += hit ? 1 : 0
    }
  }
  assert.ok(sent > 150 && sent < 600, `the samples lie on both sides: ${sent} of 750 sent`)
})

const image256 = `${'i'.repeat(250)}:1.2.3`

for (const kind of Object.keys(kindsOfRules) as (keyof typeof kindsOfRules)[]) {
  test(`10, 100, 1,000 and 10,000 rules by ${kind}`, async (t) => {
    for (const count of [10, 100, 1_000, 10_000]) {
      const { mutating, notices } = await cluster.apply(many(count, kind))
      const expression = mutating.webhooks?.at(-1)?.matchConditions?.[0]?.expression ?? ''
      const matching = podOf([{ name: `sidecar-${count - 1}`, image: `docker.io/team/sidecar-${count - 1}:1` }])
      const pod = { ...matching, metadata: { labels: { app: `app-${count - 1}` } } }
      assert.deepEqual(await asked(pod), both)
      const fits = notices.length === 0
      t.diagnostic(`${count}: ${fits ? `${expression.length} characters` : 'the selector alone'}`)
      assert.deepEqual(await asked(podOf([envoy])), fits ? [] : both)
      if (!fits) continue
      // The dearest pod that the expression looks at stays within the API server's limit; a larger one is sent unseen.
      const most = Number(/list\.size\(\) > (\d+)/.exec(expression)?.[1])
      const dearest = (containers: number) => ({
        metadata: { labels: { app: 'none' } },
        spec: {
          containers: Array.from({ length: containers }, (_, i) => ({
            name: `c${'-'.repeat(55)}${i}`,
            image: image256,
          })),
        },
      })
      assert.deepEqual(await asked(dearest(most)), [], `${count} rules, ${most} containers`)
      assert.deepEqual(await asked(dearest(most + 1)), both)
    }
  })
}
