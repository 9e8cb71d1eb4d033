import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { defaultConfiguration } from '../../src/admission/configuration.ts'
import { indexRules, type Rule } from '../../src/admission/rules.ts'
import { type WebhookOptions, webhookConfigurations, webhookYaml } from '../../src/webhooks/configurations.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { many, rule } from './rules.ts'

const options: WebhookOptions = {
  mode: 'namespace-opt-in',
  namespace: 'sidecar-first',
  endpoint: { service: 'sidecar-first', port: 443 },
}

function made(rules: readonly Rule[], changes: Partial<WebhookOptions> = {}, text = '') {
  const configuration = { ...defaultConfiguration('test'), rules: indexRules(rules) }
  return webhookConfigurations(configuration, text, { ...options, ...changes })
}

function webhooksOf(...args: Parameters<typeof made>) {
  const { mutating, validating } = made(...args)
  return { mutating: mutating.webhooks ?? [], validating: validating.webhooks ?? [] }
}

const expressionOf = (rules: readonly Rule[]) =>
  webhooksOf(rules).mutating.flatMap(({ matchConditions = [] }) => matchConditions.map(({ expression }) => expression))

test('without rules there is one webhook of each kind, with what practice asks for', () => {
  const { mutating, validating } = webhooksOf([])
  const { matchConditions, ...rest } = mutating[0] ?? assert.fail()
  assert.equal(matchConditions?.length, 1)
  assert.deepEqual(rest, {
    name: 'pods.sidecar-first.dev',
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { name: 'sidecar-first', namespace: 'sidecar-first', path: '/mutate', port: 443 } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE'], scope: 'Namespaced' }],
    matchPolicy: 'Equivalent',
    namespaceSelector: {
      matchExpressions: [
        {
          key: 'kubernetes.io/metadata.name',
          operator: 'NotIn',
          values: ['kube-system', 'kube-node-lease', 'sidecar-first'],
        },
        { key: 'sidecar-first.dev/injection', operator: 'In', values: ['enabled'] },
      ],
    },
    objectSelector: { matchExpressions: [{ key: 'sidecar-first.dev/inject', operator: 'NotIn', values: ['false'] }] },
    failurePolicy: 'Fail',
    reinvocationPolicy: 'IfNeeded',
    sideEffects: 'None',
    timeoutSeconds: 5,
  })
  const { reinvocationPolicy, ...same } = rest
  const clientConfig = { service: { ...rest.clientConfig.service, path: '/validate' } }
  assert.deepEqual(validating, [{ ...same, clientConfig, matchConditions }])
})

test('the webhooks sort last and first, and say which file they were made from', () => {
  const { mutating, validating } = made([], {}, 'mode: observe\n')
  assert.deepEqual([mutating.metadata?.name, validating.metadata?.name], ['zz-sidecar-first', 'sidecar-first'])
  // printf 'mode: observe\n' | sha256sum
  const hash = 'd7c5e99c8a84dccd5fb2c1efea37b8b08049fe0aa7c95523b593969869956ae2'
  for (const { metadata } of [mutating, validating]) {
    assert.equal(metadata?.annotations?.['sidecar-first.dev/configuration-hash'], hash)
  }
})

test('cluster-wide takes all namespaces that did not opt out, and lets pods through in an outage', () => {
  const [webhook] = webhooksOf([], { mode: 'cluster-wide' }).mutating
  assert.equal(webhook?.failurePolicy, 'Ignore')
  const [, mode] = webhook?.namespaceSelector?.matchExpressions ?? []
  assert.deepEqual(mode, { key: 'sidecar-first.dev/injection', operator: 'NotIn', values: ['disabled'] })
})

test('each distinct namespaceSelector has a webhook and a path of its own, within the namespaces of the mode', () => {
  const team = { matchLabels: { team: 'a' } }
  const rules = [
    rule({ containers: ['everywhere'] }),
    rule({ containers: ['one'], namespaceSelector: team }),
    rule({
      containers: ['two'],
      namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] },
    }),
    rule({ containers: ['three'], namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } }),
  ]
  const { mutating, validating } = webhooksOf(rules)
  const set = setOf(team)
  assert.equal(mutating.length, 3)
  assert.equal(mutating[1]?.name, `${set}.pods.sidecar-first.dev`)
  assert.equal(mutating[1]?.clientConfig.service?.path, `/mutate/${set}`)
  assert.equal(validating[1]?.clientConfig.service?.path, `/validate/${set}`)
  assert.deepEqual(mutating[1]?.namespaceSelector?.matchLabels, { team: 'a' })
  assert.deepEqual(
    mutating[2]?.namespaceSelector?.matchExpressions?.map(({ key }) => key),
    ['kubernetes.io/metadata.name', 'sidecar-first.dev/injection', 'team'],
  )
  const [general = '', own = '', other = ''] = expressionOf(rules)
  assert.deepEqual(
    [general, own, other].map((text) =>
      ['everywhere', 'one', 'two', 'three'].filter((name) => text.includes(`"${name}"`)),
    ),
    [['everywhere'], ['one', 'two'], ['three']],
  )
  assert.ok(general.includes('sidecar-first.dev/"') && !own.includes('startsWith'), 'annotations are for /mutate alone')
})

test('an enforced rule sees pods that opted out, in its own webhook', () => {
  const rules = [
    rule({ containers: ['one'] }),
    rule({ containers: ['two'], namespaceSelector: { matchLabels: { a: 'b' } } }, true),
  ]
  const { mutating, validating } = webhooksOf(rules)
  for (const webhooks of [mutating, validating]) {
    assert.deepEqual(
      webhooks.map(({ objectSelector }) => objectSelector !== undefined),
      [true, false],
    )
  }
})

test('rules that do not fit are not looked at, and a notice says so', () => {
  for (const [count, kind, fits] of [
    [10, 'names with labels', true],
    [100, 'names with labels', true],
    [101, 'names with labels', false],
    [1_000, 'names', true],
    [5_000, 'names', true],
    [10_000, 'names', false],
    [1_000, 'images', true],
    [10_000, 'images', false],
  ] as const) {
    const rules = many(count, kind)
    const { notices } = made(rules)
    const [expression = ''] = expressionOf(rules)
    assert.ok(expression.length <= 100_000)
    assert.equal(expression.includes('c.name'), fits, `${count} ${kind}`)
    assert.equal(notices.length, fits ? 0 : 1, `${count} ${kind}`)
    if (!fits) assert.match(notices[0] ?? '', new RegExp(`the ${count} rules .* every pod .* is sent`))
  }
})

test('expressions of many webhooks share what one object may hold, and a notice says when there are too many', () => {
  const sets = (count: number, rulesEach: number) =>
    Array.from({ length: count }, (_, set) =>
      many(rulesEach, 'names').map(({ match }) =>
        rule({ ...match, namespaceSelector: { matchLabels: { team: `${set}` } } }),
      ),
    ).flat()
  const fifteen = made(sets(15, 5_000))
  assert.ok(JSON.stringify(fifteen.mutating).length < 1_400_000)
  assert.equal(fifteen.notices.length, 3)
  assert.match(made(sets(1_000, 1)).notices.join(), /1000 distinct namespaceSelectors/)
})

test('YAML means the same', () => {
  const configurations = made(many(20, 'images with a gap'), { caBundle: 'pem', endpoint: { url: 'https://host:1' } })
  const read = parseAllDocuments(webhookYaml(configurations)).map((document) => document.toJS())
  assert.deepEqual(read, [configurations.mutating, configurations.validating])
  const [webhook] = configurations.mutating.webhooks ?? []
  assert.deepEqual(webhook?.clientConfig, { url: 'https://host:1/mutate', caBundle: 'cGVt' })
})
