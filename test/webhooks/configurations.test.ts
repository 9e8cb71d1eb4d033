import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Rule } from '../../src/admission/intent/rule.ts'
import { indexRules } from '../../src/admission/intent/rule-index.ts'
import {
  type InstallMode,
  installModes,
  type WebhookOptions,
  webhookConfigurations,
  webhookYaml,
} from '../../src/webhooks/configurations.ts'
import { large } from '../runs.ts'
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

const awake = <T extends { rules?: unknown[] }>(webhooks: readonly T[]) => webhooks.filter(({ rules }) => rules?.length)

const expressionOf = (rules: readonly Rule[]) =>
  webhooksOf(rules).mutating.flatMap(({ matchConditions = [] }) => matchConditions.map(({ expression }) => expression))

test('without rules one webhook of each kind is called, with what practice asks for', () => {
  const { mutating, validating } = webhooksOf([])
  assert.deepEqual([awake(mutating).length, awake(validating).length], [1, 1])
  const { matchConditions, ...rest } = mutating.at(-1) ?? assert.fail()
  assert.equal(matchConditions?.length, 1)
  assert.deepEqual(rest, {
    name: 'pods.sidecar-first.dev',
    admissionReviewVersions: ['v1'],
    clientConfig: {
      service: { name: 'sidecar-first', namespace: 'sidecar-first', path: '/mutate/lock-by-name', port: 443 },
    },
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
    failurePolicy: 'Fail',
    reinvocationPolicy: 'IfNeeded',
    sideEffects: 'None',
    timeoutSeconds: 5,
  })
  const { reinvocationPolicy, ...same } = rest
  const clientConfig = { service: { ...rest.clientConfig.service, path: '/validate' } }
  assert.deepEqual(validating[0], { ...same, clientConfig, matchConditions })
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

test('AKS is asked to leave their selectors alone', () => {
  const { mutating, validating, workloads } = made([], {}, '')
  for (const { metadata } of [mutating, validating, workloads]) {
    assert.equal(metadata?.annotations?.['admissions.enforcer/disabled'], 'true')
  }
})

test('cluster-wide takes all namespaces that did not opt out, and lets pods through in an outage', () => {
  const [webhook] = webhooksOf([], { mode: 'cluster-wide' }).mutating
  assert.equal(webhook?.failurePolicy, 'Ignore')
  const [, mode] = webhook?.namespaceSelector?.matchExpressions ?? []
  assert.deepEqual(mode, { key: 'sidecar-first.dev/injection', operator: 'NotIn', values: ['disabled'] })
})

test('each distinct namespaceSelector has a webhook that marks, in the namespaces of the mode; the one that plans is the last', () => {
  const team = { matchLabels: { team: 'a' } }
  const rules = [
    rule({ containers: ['everywhere'] }),
    rule({ containers: ['one'], namespaceSelector: team }),
    rule({
      containers: ['two'],
      namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a'] }] },
    }),
    rule(
      { containers: ['three'], namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'Exists' }] } },
      true,
    ),
  ]
  const { mutating, validating } = webhooksOf(rules)
  const [a, any] = rules.flatMap(({ set }) => set ?? []).filter((set, at, all) => all.indexOf(set) === at)
  assert.deepEqual(
    awake(mutating).map(({ name, clientConfig, reinvocationPolicy }) => [
      name,
      clientConfig.service?.path,
      reinvocationPolicy,
    ]),
    [
      ['reset.pods.sidecar-first.dev', '/mutate/reset', 'Never'],
      ['set-1.pods.sidecar-first.dev', `/mutate/mark-${a}`, 'Never'],
      ['set-2.pods.sidecar-first.dev', `/mutate/mark-${any}`, 'Never'],
      ['pods.sidecar-first.dev', '/mutate/lock-by-name', 'IfNeeded'],
    ],
  )
  assert.deepEqual(
    awake(validating).map(({ name, clientConfig }) => [name, clientConfig.service?.path]),
    [
      ['pods.sidecar-first.dev', '/validate'],
      ['set-2.pods.sidecar-first.dev', `/validate/set-${any}`],
    ],
    'a set without an enforced rule has nothing to insist on',
  )
  assert.deepEqual(mutating[1]?.namespaceSelector?.matchLabels, { team: 'a' })
  assert.deepEqual(
    mutating[2]?.namespaceSelector?.matchExpressions?.map(({ key }) => key),
    ['kubernetes.io/metadata.name', 'sidecar-first.dev/injection', 'team'],
  )
  const [, one = '', three = '', general = ''] = expressionOf(rules)
  assert.deepEqual(
    [general, one, three].map((text) =>
      ['everywhere', 'one', 'two', 'three'].filter((name) => text.includes(`"${name}"`)),
    ),
    [['everywhere'], ['one', 'two'], ['three']],
  )
  assert.ok(general.includes('sidecar-first.dev/"') && !one.includes('startsWith'), 'annotations are for /mutate alone')
})

test('where an outage means something else for enforced rules, they have webhooks of their own, and the one that plans goes by the mark', () => {
  const team = { matchLabels: { team: 'a' } }
  const rules = [
    rule({ containers: ['one'] }),
    rule({ containers: ['two'] }, true),
    rule({ containers: ['three'], namespaceSelector: team }),
    rule({ containers: ['four'], namespaceSelector: team }, true),
  ]
  const set = rules[2]?.set
  const webhooks = (mode: InstallMode, failurePolicy: 'Fail' | 'Ignore') => {
    const configuration = {
      ...defaultConfiguration('test'),
      rules: indexRules(rules),
      enforced: { failurePolicy, inFront: [] },
    }
    const { mutating, validating } = webhookConfigurations(configuration, '', { ...options, mode })
    return [mutating.webhooks ?? [], validating.webhooks ?? []].map((list) =>
      awake(list).map(({ name, clientConfig, failurePolicy, matchConditions: [condition] = [] }) => [
        name.replace(/\.?pods\.sidecar-first\.dev$/, ''),
        clientConfig.service?.path,
        failurePolicy,
        ...['one', 'two', 'three', 'four'].filter((container) => condition?.expression.includes(`"${container}"`)),
      ]),
    )
  }
  assert.deepEqual(webhooks('cluster-wide', 'Fail'), [
    [
      ['reset', '/mutate/reset', 'Fail'],
      ['set-1', '/mutate/mark-enforced', 'Fail', 'two'],
      ['set-2', `/mutate/mark-${set}`, 'Fail', 'four'],
      ['set-3', `/mutate/mark-${set}`, 'Ignore', 'three'],
      ['', '/mutate/lock-by-name', 'Ignore', 'one'],
    ],
    [
      ['', '/validate', 'Ignore', 'one'],
      ['set-1', '/validate', 'Fail', 'two'],
      ['set-2', `/validate/set-${set}`, 'Fail', 'four'],
    ],
  ])
  assert.deepEqual(
    webhooks('namespace-opt-in', 'Ignore').map((list) => list.map(([name, , policy]) => `${name} ${policy}`)),
    [
      ['reset Fail', 'set-1 Ignore', 'set-2 Ignore', 'set-3 Fail', ' Fail'],
      [' Fail', 'set-1 Ignore', 'set-2 Ignore'],
    ],
  )
  for (const mode of installModes) {
    const same = mode === 'cluster-wide' ? 'Ignore' : 'Fail'
    assert.equal(
      JSON.stringify(webhooks(mode, same)).includes('mark-enforced'),
      false,
      'the same for all: none of their own',
    )
  }
})

test('what a rule may need later is there already, asleep, so that it has a caBundle before it is called', () => {
  const sets = (count: number) =>
    Array.from({ length: count }, (_, team) =>
      rule({ containers: ['one'], namespaceSelector: { matchLabels: { team: `${team}` } } }, team % 2 === 0),
    )
  for (const which of ['mutating', 'validating'] as const) {
    const [none, ...more] = [0, 1, 4].map((count) => webhooksOf(sets(count))[which])
    const there = new Set(none?.map(({ name }) => name))
    for (const webhooks of more)
      assert.deepEqual(
        awake(webhooks).filter(({ name }) => !there.has(name)),
        [],
      )
    const asleep = none?.filter(({ rules }) => !rules?.length) ?? []
    assert.ok(asleep.length >= 4)
    // What it says beside its rules is the mode's: nobody has to tell it from the others.
    for (const { namespaceSelector, failurePolicy } of asleep) {
      assert.deepEqual([namespaceSelector, failurePolicy], [none?.at(-1)?.namespaceSelector, 'Fail'])
    }
  }
})

test('rules that do not fit are not looked at, and a notice says so', large, () => {
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
    if (!fits) assert.match(notices[0]?.text ?? '', new RegExp(`the ${count} rules .* every pod .* is sent`))
  }
})

test(
  'expressions of many webhooks share what one object may hold, and a notice says when there are too many',
  large,
  () => {
    const sets = (count: number, rulesEach: number) =>
      Array.from({ length: count }, (_, set) =>
        many(rulesEach, 'names').map(({ match }) =>
          rule({ ...match, namespaceSelector: { matchLabels: { team: `${set}` } } }),
        ),
      ).flat()
    const fifteen = made(sets(15, 5_000))
    assert.ok(JSON.stringify(fifteen.mutating).length < 1_400_000)
    assert.equal(fifteen.notices.length, 3)
    assert.match(
      made(sets(1_000, 1))
        .notices.map(({ text }) => text)
        .join(),
      /1000 distinct namespaceSelectors/,
    )
  },
)

test('YAML means the same', () => {
  const configurations = made(many(20, 'images with a gap'), { caBundle: 'pem', endpoint: { url: 'https://host:1' } })
  const read = parseAllDocuments(webhookYaml(configurations)).map((document) => document.toJS())
  assert.deepEqual(read, [configurations.mutating, configurations.validating, configurations.workloads])
  const webhook = configurations.mutating.webhooks?.at(-1)
  assert.deepEqual(webhook?.clientConfig, { url: 'https://host:1/mutate/lock-by-name', caBundle: 'cGVt' })
})
