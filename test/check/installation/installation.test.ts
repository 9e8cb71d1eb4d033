import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeConfiguration as configuration } from '../../../src/check/installation/config-map.ts'
import { judgeOthers as others } from '../../../src/check/installation/other-webhooks.ts'
import { judgeWebhooks as webhooks } from '../../../src/check/installation/webhooks.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { enabled, installation, levels, namespace, shop, webhook, worded } from '../cluster.ts'

const judgeConfiguration = worded(configuration)
const judgeOthers = worded(others)
const judgeWebhooks = worded(webhooks)

describe('the configuration', () => {
  const judge = (text: string) => judgeConfiguration({ text, read: readConfiguration(text, '1.0.0') }, 'sidecar-first')

  test('is a problem where it is missing or wrong, with line and column', () => {
    assert.deepEqual(levels(judgeConfiguration(undefined, 'sidecar-first')), ['problem'])
    const [finding] = judge('apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmode: nix\n')
    assert.equal(finding?.level, 'problem')
    assert.match(finding?.text ?? '', /config\.yaml:3:7: /)
  })

  test('is a warning where it only observes', () => {
    assert.deepEqual(levels(judge('apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmode: observe\n')), [
      'warning',
    ])
    assert.deepEqual(levels(judge('apiVersion: sidecar-first.dev/v1\nkind: Configuration\n')), ['ok'])
  })
})

describe('the webhook configurations', () => {
  const rule = 'rules: [{name: mesh, tier: 1, match: {container: envoy}}]\n'
  const selective =
    'rules: [{name: mesh, tier: 1, match: {container: envoy, namespaceSelector: {matchLabels: {team: a}}}}]\n'

  for (const mode of ['namespace-opt-in', 'cluster-wide'] as const) {
    test(`are in order as they were made, ${mode}, also as the API server stores them`, () => {
      const made = installation(selective, mode)
      // Its defaults, and what the client makes of absent fields.
      for (const each of [...(made.mutating.webhooks ?? []), ...(made.validating.webhooks ?? [])]) {
        Object.assign(each, { objectSelector: each.objectSelector ?? {}, unknown: undefined })
      }
      assert.deepEqual(levels(judgeWebhooks(made, made, 'sidecar-first')), ['ok'])
    })
  }

  test('are a problem where one is missing', () => {
    const made = installation()
    const [finding] = judgeWebhooks({ ...made, validating: undefined }, made, 'sidecar-first')
    assert.equal(finding?.level, 'problem')
    assert.match(finding?.text ?? '', /no ValidatingWebhookConfiguration sidecar-first: nothing refuses/)
    // It waits for replicas: without any, new webhook configurations would refuse pods.
    assert.match(finding?.next ?? '', /^sidecar-first install --apply/)
  })

  test('are behind where the configuration has other rules, and the command that renews them names the mode', () => {
    const findings = judgeWebhooks(installation('', 'cluster-wide'), installation(rule), 'sidecar-first')
    assert.deepEqual(levels(findings), ['problem', 'problem'])
    assert.match(findings[0]?.text ?? '', /behind the configuration: matchConditions/)
    assert.match(findings[0]?.next ?? '', /--mode cluster-wide --namespace sidecar-first/)
  })

  test('lack the webhook of a new namespaceSelector', () => {
    const [finding] = judgeWebhooks(installation(rule), installation(selective), 'sidecar-first')
    assert.match(finding?.text ?? '', /the webhook set-1\.pods\.sidecar-first\.dev is missing/)
  })

  test('are only a warning where they would be the same', () => {
    const findings = judgeWebhooks(installation('# new\n'), installation(), 'sidecar-first')
    assert.deepEqual(levels(findings), ['warning', 'warning'])
  })

  test('are a warning where somebody has changed them', () => {
    const made = installation()
    for (const each of made.mutating.webhooks ?? []) {
      Object.assign(each, { failurePolicy: 'Ignore', reinvocationPolicy: 'Never' })
    }
    const findings = judgeWebhooks(made, made, 'sidecar-first')
    assert.deepEqual(levels(findings), ['warning', 'warning'])
    assert.match(findings[0]?.text ?? '', /failurePolicy of pods\.sidecar-first\.dev is Ignore, not Fail/)
    assert.match(findings[1]?.text ?? '', /reinvocationPolicy of pods\.sidecar-first\.dev is Never, not IfNeeded/)
  })
})

describe('the webhooks of others', () => {
  const namespaces = [shop, namespace('plain'), namespace('sidecar-first')]
  const judge = (...others: ReturnType<typeof webhook>[]) =>
    judgeOthers([installation().mutating, ...others], namespaces, 'sidecar-first')

  test('are fine where they come before ours and let our pods be', () => {
    assert.deepEqual(levels(judge(webhook('injector'), webhook('zz-a', { rules: [] }))), ['ok'])
  })

  test('are a warning where they are called after ours, unless they see none of our namespaces', () => {
    assert.deepEqual(levels(judge(webhook('zzz'))), ['warning'])
    const elsewhere = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'plain' } } }
    assert.deepEqual(levels(judge(webhook('zzz', elsewhere))), ['ok'])
    assert.deepEqual(levels(judge(webhook('zzz', { namespaceSelector: { matchLabels: enabled } }))), ['warning'])
  })

  test('are a problem where ours is not called again', () => {
    const { mutating } = installation()
    for (const each of mutating.webhooks ?? []) each.reinvocationPolicy = 'Never'
    assert.deepEqual(levels(judgeOthers([mutating, webhook('zzz')], namespaces, 'sidecar-first')), ['problem'])
  })

  test('are a warning where our own pods need them', () => {
    const [finding] = judge(webhook('injector', { failurePolicy: 'Fail' }))
    assert.equal(finding?.level, 'warning')
    assert.match(finding?.text ?? '', /injector\.example\.com .* no replica can be created/)
    const others = { failurePolicy: 'Fail', objectSelector: { matchLabels: { app: 'x' } } }
    assert.deepEqual(levels(judge(webhook('injector', others))), ['ok'])
  })
})
