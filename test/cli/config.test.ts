import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { config } from '../../src/cli/config.ts'
import { configurationHash } from '../../src/webhooks/configurations.ts'
import { run, runWith } from './inside.ts'

const sound = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const check = (input: string, ...flags: string[]) => runWith(input, config, ...flags, '-')

test('config says that a file is sound, or each problem with its line and column', async () => {
  const [good, bad] = await Promise.all([check(sound), check(`${sound}mod: observe\ninvalid: no\n`)])
  assert.deepEqual(good, { code: 0, stdout: 'standard input: no problem, 0 rules\n', stderr: '' })
  assert.deepEqual([bad.code, bad.stdout], [1, ''])
  assert.match(bad.stderr, /^standard input:3:1: SF319 unknown key "mod".*\nstandard input:4:\d+: SF105 invalid: .*\n$/)
})

test('config counts the rules, and says what they take from each other', async () => {
  const rules = 'rules:\n- {name: a, match: {preset: istio}}\n- {name: b, match: {container: istio-proxy}, tier: 1}\n'
  const { code, stdout, stderr } = await check(sound + rules)
  assert.deepEqual([code, stdout], [0, 'standard input: no problem, 2 rules\n'])
  assert.match(stderr, /^standard input:5:3: SF329 the rule b never matches: .*\n$/)
  assert.deepEqual(await check(sound + rules, '--ignore', 'sf329'), { code: 0, stdout, stderr: '' })
})

test('config --ignore silences notes on webhooks, too, and never what is wrong', async () => {
  const labelled = Array.from(
    { length: 150 },
    (_, index) =>
      `- {name: r${index}, tier: 1, match: {container: 'a', podSelector: {matchLabels: {app: 'n${index}'}}}}\n`,
  )
  const many = `${sound}rules:\n${labelled.join('')}`
  const [all, ignored, wrong, refusal] = await Promise.all([
    check(many, '--webhooks'),
    check(many, '--webhooks', '--ignore', 'SF351'),
    check(`${sound}mod: observe\n`, '--ignore', 'SF329'),
    check(sound, '--ignore', 'SF319'),
  ])
  assert.match(all.stderr, /^standard input: SF351 the 150 rules .*\n$/)
  assert.deepEqual(ignored, { ...all, stderr: '' })
  assert.match(wrong.stderr, /SF319 unknown key/)
  assert.match(refusal.stderr, /^sidecar-first config: SF003 --ignore: SF319 is a refusal, which can't be ignored\n/)
})

test('config --webhooks prints the webhook configurations that go with the file, and its example works', async () => {
  const { code, stdout, stderr } = await check(sound, '--webhooks', '--mode', 'cluster-wide', '--namespace', 'mesh')
  assert.deepEqual([code, stderr], [0, ''])
  const objects = parseAllDocuments(stdout).map((document) => document.toJS())
  assert.deepEqual(
    objects.map(({ kind }) => kind),
    ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
  )
  for (const { metadata, webhooks } of objects) {
    assert.equal(metadata.annotations['sidecar-first.dev/configuration-hash'], configurationHash(sound))
    assert.equal(webhooks[0].clientConfig.service.namespace, 'mesh')
    assert.equal(webhooks[0].failurePolicy, 'Ignore')
  }
  const [, example = ''] = /<<'EOF'\n(.*)EOF\n$/s.exec(config.help) ?? []
  assert.equal((await check(example, '--webhooks')).code, 0)
})

test('config in a wrong call points to its help', async () => {
  for (const args of [[], ['--mode', 'all', 'x'], ['--namespace', 'A', 'x'], ['--x']]) {
    const { code, stderr } = await run(config, ...args)
    assert.equal(code, 2)
    assert.match(stderr, /^sidecar-first config: SF0\d\d .+\nSee sidecar-first config --help\n$/)
  }
})
