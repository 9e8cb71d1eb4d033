import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { presetOf } from '../../src/admission/intent/presets.ts'
import { noRules } from '../../src/admission/intent/rule-index.ts'
import { faultText } from '../../src/configuration/faults.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { large, share } from '../runs.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'

function read(text: string) {
  const outcome = readConfiguration(head + text, '1.2.3')
  assert(outcome.ok, JSON.stringify(outcome))
  return outcome
}

/** Lines count from the one after the head. */
function problems(text: string): string[] {
  const outcome = readConfiguration(head + text, '1.2.3')
  assert(!outcome.ok, 'it was read')
  return outcome.problems.map(({ line, column, fault }) => `${line - 2}:${column} ${faultText(fault)}`)
}

function notices(text: string): string[] {
  return read(text).notices.map(({ line, column, fault }) => `${line - 2}:${column} ${faultText(fault)}`)
}

/** Rules in one line each, the first of them in line 2. */
const rules = (...lines: readonly string[]) => `rules:\n${lines.map((line) => `- {${line}}\n`).join('')}`

test('no rules are the standard ones', () => {
  for (const text of ['', 'rules:\n# - name: a\n', 'rules: []\n']) assert.equal(read(text).configuration.rules, noRules)
})

test('everything a rule may say', () => {
  const { configuration } = read(`rules:
  - name: secrets
    match:
      container: vault-agent
      image: "*/vault:*"
      podSelector:
        matchLabels: {secrets: vault, example.com/version: 1.30}
        matchExpressions: [{key: a, operator: Exists}, {key: b, operator: NotIn, values: [c, ""]}]
      namespaceSelector: {matchLabels: {team: payments}}
    tier: -5
    check: exec:["true"]
    timeout: 30s
    onTimeout: continue
    gate: auto
    nativePosition: first
    lock: on
    lockRestarts: 1s500ms
    end: last
    endAppear: 2s
    existingHook: refuse
    startupProbe: hook
    enforce: true
    exempt: [payments/old-*]
    allowNatives: [istio-proxy]
`)
  assert.deepEqual(configuration.rules.rules, [
    {
      name: 'secrets',
      match: {
        containers: ['vault-agent'],
        images: ['*/vault:*'],
        podSelector: {
          matchLabels: { secrets: 'vault', 'example.com/version': '1.30' },
          matchExpressions: [
            { key: 'a', operator: 'Exists' },
            { key: 'b', operator: 'NotIn', values: ['c', ''] },
          ],
        },
        namespaceSelector: { matchLabels: { team: 'payments' } },
      },
      set: setOf({ matchLabels: { team: 'payments' } }),
      tier: -5,
      check: { kind: 'exec', command: ['true'] },
      timeout: 30_000,
      onTimeout: 'continue',
      gate: 'auto',
      nativePosition: 'first',
      existingHook: 'refuse',
      startupProbe: 'hook',
      lock: 'on',
      lockRestarts: 1500,
      end: 'last',
      endAppear: 2000,
      enforce: true,
      audit: false,
      exempt: ['payments/old-*'],
      allowNatives: ['istio-proxy'],
      preset: undefined,
    },
  ])
})

test('a preset gives what the rule leaves out', () => {
  const istio = presetOf('istio')
  assert(istio)
  const [plain, own, image] = read(
    rules(
      'name: a, match: {preset: istio, podSelector: {matchLabels: {a: b}}}',
      'name: b, match: {preset: istio, container: "proxy-*"}, tier: 3, check: none',
      'name: c, match: {preset: istio, image: "*/mine:*"}',
    ),
  ).configuration.rules.rules
  assert.deepEqual(
    [plain?.match.containers, plain?.match.images, plain?.tier, plain?.check, plain?.preset],
    [istio.containers, undefined, istio.tier, istio.check, istio],
  )
  assert.deepEqual(
    [own?.match.containers, own?.match.images, own?.tier, own?.check, own?.preset],
    [['proxy-*'], undefined, 3, { kind: 'none' }, istio],
  )
  assert.deepEqual([image?.match.containers, image?.match.images], [istio.containers, ['*/mine:*']])
})

test('a namespaceSelector that selects everything needs no webhook of its own', () => {
  for (const selector of ['{}', '{matchLabels: {}}', '{matchExpressions: []}']) {
    const { rules: index } = read(
      rules(`name: a, match: {container: a, namespaceSelector: ${selector}}, tier: 1`),
    ).configuration
    assert.deepEqual([index.sets.size, index.rules[0]?.match.namespaceSelector], [0, undefined])
  }
})

test('each problem of a rule, at its place', () => {
  const match = 'match: {container: a}'
  const cases: [string, string][] = [
    ['match: {container: a}, tier: 1', '2:3 rules[0].name is missing'],
    ['name: "", match: {container: a}, tier: 1', '2:10 rules[0].name: "" is not a rule name: up to 63 characters'],
    ['name: [a], match: {container: a}, tier: 1', '2:10 rules[0].name: takes text, not a list'],
    ['name: a, tier: 1', '2:3 rules[0].match names no container, image or preset; it needs one of them'],
    [
      'name: a, match: {podSelector: {}}, tier: 1',
      '2:13 rules[0].match names no container, image or preset; it needs one of them',
    ],
    [`name: a, ${match}`, '2:3 rules[0].tier is missing; write a number, lower ones start first'],
    [`name: a, ${match}, tier: "1"`, '2:42 rules[0].tier takes a whole number from -1000 to 1000, not "1"'],
    [`name: a, ${match}, tier: 1.5`, '2:42 rules[0].tier takes a whole number from -1000 to 1000, not "1.5"'],
    [`name: a, ${match}, tier: 1001`, '2:42 rules[0].tier takes a whole number from -1000 to 1000, not "1001"'],
    [`name: a, ${match}, tier: 1, enforce: yes`, '2:54 rules[0].enforce takes true, false or audit, not "yes"'],
    [`name: a, ${match}, tier: 1, gat: native`, '2:45 unknown key "gat" in rules[0]; did you mean gate?'],
    [
      `name: a, ${match}, tier: 1, gate: nativ`,
      '2:51 rules[0].gate: "nativ" is not one of hook, native, auto; did you mean native?',
    ],
    [
      `name: a, ${match}, tier: 1, check: 'hook:["w"]', timeout: 5s`,
      '2:66 rules[0].timeout: a hook bounds itself; remove it',
    ],
    [
      'name: a, match: {contaner: a, image: b}, tier: 1',
      '2:21 unknown key "contaner" in rules[0].match; did you mean container?',
    ],
    ['name: a, match: {preset: isto}', '2:29 rules[0].match.preset: "isto" is not a preset; did you mean istio?'],
    [
      'name: a, match: {container: ""}, tier: 1',
      '2:32 rules[0].match.container: "" can\'t match a container name: those have a–z, 0–9 and "-"; "*" stands for any characters',
    ],
    [
      'name: a, match: {image: "a\\n*"}, tier: 1',
      '2:28 rules[0].match.image: "a\\n*" can\'t match an image; only "*" is special and stands for any characters',
    ],
    [
      'name: a, match: {container: a, podSelector: {matchLabels: {-a: b}}}, tier: 1',
      '2:63 rules[0].match.podSelector.matchLabels: "-a" is not a label key; write it like app or example.com/app',
    ],
    [
      'name: a, match: {container: a, podSelector: {matchLabels: {a: "b*"}}}, tier: 1',
      '2:66 rules[0].match.podSelector.matchLabels.a: "b*" is not a label value: up to 63 letters, digits, "-", "_" and "."; no patterns here',
    ],
    [
      'name: a, match: {container: a, podSelector: {matchLabels: {a: true}}}, tier: 1',
      '2:66 rules[0].match.podSelector.matchLabels.a: takes text, not "true"',
    ],
    [
      'name: a, match: {container: a, podSelector: {matchLabel: {a: b}}}, tier: 1',
      '2:49 unknown key "matchLabel" in rules[0].match.podSelector; did you mean matchLabels?',
    ],
  ]
  for (const [rule, problem] of cases) assert.deepEqual(problems(rules(rule)), [problem], rule)
  assert.deepEqual(problems('rules: {a: b}\n'), ['1:8 rules is a list, not an object'])
  assert.deepEqual(problems('rules: [{name: a, match: b, tier: 1}]\n'), [
    '1:19 rules[0].match names no container, image or preset; it needs one of them',
    '1:26 rules[0].match is an object, not "b"',
  ])
  assert.deepEqual(problems('rules: [a, ]\n'), [
    '1:9 rules[0] is an object, not "a"',
    '1:9 rules[0].name is missing',
    '1:9 rules[0].match names no container, image or preset; it needs one of them',
    '1:9 rules[0].tier is missing; write a number, lower ones start first',
  ])
})

test('each problem of a selector expression', () => {
  const cases: [string, string][] = [
    ['{operator: Exists}', 'key is missing'],
    ['{key: a}', 'operator is missing; use In, NotIn, Exists, DoesNotExist'],
    [
      '{key: a, operator: in, values: [b]}',
      'operator: "in" is not one of In, NotIn, Exists, DoesNotExist; did you mean In?',
    ],
    ['{key: a, operator: In}', 'values: In needs at least one'],
    ['{key: a, operator: NotIn, values: []}', 'values: NotIn needs at least one'],
    ['{key: a, operator: Exists, values: [b]}', 'values: Exists takes none; leave them out'],
    ['{key: a, operator: In, values: b}', 'values is a list, not "b"'],
    [
      '{key: a, operator: In, values: [b c]}',
      'values: "b c" is not a label value: up to 63 letters, digits, "-", "_" and "."; no patterns here',
    ],
    ['{key: a/b/c, operator: Exists}', 'key: "a/b/c" is not a label key; write it like app or example.com/app'],
    ['{key: A.com/b, operator: Exists}', 'key: "A.com/b" is not a label key; write it like app or example.com/app'],
  ]
  for (const [expression, problem] of cases) {
    const found = problems(
      rules(`name: a, match: {container: a, namespaceSelector: {matchExpressions: [${expression}]}}, tier: 1`),
    )
    assert.deepEqual(
      found.map((line) => line.slice(line.indexOf(' ') + 1)),
      [`rules[0].match.namespaceSelector.matchExpressions[0].${problem}`],
    )
  }
  for (const key of ['a', 'a.b-c_D', 'example.com/a', `${'a'.repeat(63)}`, 'kubernetes.io/metadata.name']) {
    read(rules(`name: a, match: {container: a, podSelector: {matchLabels: {${key}: ""}}}, tier: 1`))
  }
})

test('a name twice', () => {
  const rule = 'name: a, match: {container: a}, tier: 1'
  assert.deepEqual(problems(rules(rule, rule)), ['3:4 "a" is already the name of rules[0]'])
})

test('no rules throw', () => {
  const piece = fc.constantFrom(
    ...['name', 'match', 'preset', 'container', 'podSelector', 'matchLabels', 'matchExpressions', 'key', 'operator'],
    ...['values', 'tier', 'enforce', ': ', ': ', ', ', '{', '}', '[', ']', '&a', '*a', '1', '"', 'istio', 'In', '\n'],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (parts) => {
      readConfiguration(`${head}rules: [{${parts.join('')}`, '1.2.3')
      readConfiguration(`${head}rules:\n- match: {${parts.join('')}}`, '1.2.3')
    }),
  )
})

test('a notice for a rule that an earlier one leaves nothing to', () => {
  const late = 'the rule b never matches: the rule a before it takes all its containers'
  const cases: [string, string, boolean][] = [
    ['container: x', 'container: x', true],
    ['container: x', 'container: "x*"', false],
    ['container: "x*"', 'container: "x*-y*"', true],
    ['container: "x*-y"', 'container: "x*y"', false],
    ['container: "*"', 'image: "*/x:*"', true],
    ['container: x', 'image: "*/x:*"', false],
    ['image: "*/x:*"', 'image: "docker.io/x:1"', true],
    ['container: x, image: "*/x:*"', 'container: x', false],
    ['container: x', 'container: x, image: "*/x:*"', true],
    ['container: x, podSelector: {matchLabels: {a: b}}', 'container: x', false],
    ['container: x', 'container: x, podSelector: {matchLabels: {a: b}}', true],
    [
      'container: x, podSelector: {matchLabels: {a: b}}',
      'container: x, podSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}',
      true,
    ],
    ['container: x', 'container: x, namespaceSelector: {matchLabels: {a: b}}', true],
    ['container: x, podSelector: {}', 'container: x', true],
    ['preset: opentelemetry-collector', 'container: otel-collector', true],
    ['container: otel-collector', 'preset: opentelemetry-collector', false],
  ]
  for (const [first, second, expected] of cases) {
    const text = rules(`name: a, match: {${first}}, tier: 1`, `name: b, match: {${second}}, tier: 1`)
    assert.deepEqual(notices(text), expected ? [`3:3 ${late}`] : [], text)
  }
})

test('two checks that need their own container may share a tier only if no pod can meet both rules', () => {
  const team = (value: string) => `namespaceSelector: {matchLabels: {team: ${value}}}`
  const stage = 'namespaceSelector: {matchExpressions: [{key: stage, operator: Exists}]}'
  const others = 'namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [x, y]}]}'
  const cases: [string, string, boolean][] = [
    [`container: c, ${team('x')}`, `container: d, ${stage}`, true],
    [`container: c, ${team('x')}`, 'container: d', true],
    [`container: c, ${team('x')}`, `container: d, ${team('y')}`, false],
    [`container: c, ${team('x')}`, `container: d, ${others}`, false],
    [`container: c, ${others}`, `container: d, ${team('x')}`, false],
    [`container: c, ${others}`, `container: d, ${team('z')}`, true],
    ['container: c, podSelector: {matchLabels: {p: q}}', 'container: d, podSelector: {matchLabels: {p: r}}', false],
  ]
  const check = `tier: 1, check: 'exec:["true"]'`
  for (const [first, second, expected] of cases) {
    const text = rules(`name: a, match: {${first}}, ${check}`, `name: b, match: {${second}}, ${check}`)
    assert.equal(notices(text).length, expected ? 1 : 0, text)
  }
})

test('of two rules on one container under different selectors the first in the file wins, so there is nothing to notice', () => {
  const own = (label: string) => `container: c, namespaceSelector: {matchLabels: {${label}: x}}`
  assert.deepEqual(
    notices(rules(`name: a, match: {${own('a')}}, tier: 1`, `name: b, match: {${own('b')}}, tier: 2`)),
    [],
  )
})

test('a notice for two checks of one tier that both must run in their own container', () => {
  const rule = (name: string, tier: number, check: string, more = '') =>
    `name: ${name}, match: {container: ${name}${more}}, tier: ${tier}, check: '${check}'`
  assert.deepEqual(notices(rules(rule('a', 1, 'exec:["a"]'), rule('b', 1, 'file:///b'))), [
    '3:3 the rules a and b share tier 1, but both checks must run in their own container, and a tier can have only one such: give them two tiers',
  ])
  assert.deepEqual(notices(rules(rule('a', 1, 'exec:["a"]'), rule('b', 2, 'file:///b'))), [])
  assert.deepEqual(notices(rules(rule('a', 1, 'exec:["a"]'), rule('b', 1, 'tcp://:1'))), [])
  const pods = (value: string) => `, podSelector: {matchLabels: {p: ${value}}}`
  assert.deepEqual(notices(rules(rule('a', 1, 'file:///a', pods('x')), rule('b', 1, 'file:///b', pods('y')))), [])
})

test('ten thousand rules, named or not', large, () => {
  for (const [match, wrong] of share([
    [(i: number) => `match: {container: c-${i}}, tier: ${i % 50}`, 0],
    [(i: number) => `match: {image: "*/i-${i}:*"}, tier: ${i % 50}`, 0],
    [(i: number) => `match: {container: c, podSelector: {matchLabels: {n: x${i}}}}, tier: ${i % 50}`, 0],
    [() => 'mach: {container: a}, tier: a', 30_000],
  ] as const)) {
    const text = rules(...Array.from({ length: 10_000 }, (_, i) => `name: r-${i}, ${match(i)}`))
    if (wrong > 0) assert.equal(problems(text).length, wrong)
    else assert.equal(read(text).configuration.rules.rules.length, 10_000)
  }
})

test('what an outage means for enforced rules changes nothing where there are none', () => {
  const enforced = 'enforced: {failurePolicy: Fail}\n'
  const rule = (more: string) => `${enforced}rules:\n- {name: a, match: {container: a}, tier: 1${more}}`
  assert.deepEqual(notices(rule('')), ['1:11 enforced.failurePolicy changes nothing: no rule has enforce: true'])
  assert.deepEqual(notices(rule(', enforce: true')), [])
})

test('sidecars that are to end last beside the delivery shell, which can’t have them, are told', () => {
  const text = (delivery: string, end: string) =>
    `defaults: {end: ${end}}\nwaiter: {delivery: ${delivery}}\n${rules(`name: a, match: {container: a}, tier: 1, end: ${end}`)}`
  assert.deepEqual(notices(text('shell', 'last')), [
    "1:11 defaults.end: last asks for what the delivery shell can't do",
    "4:3 rules[0].end: last asks for what the delivery shell can't do",
  ])
  assert.deepEqual([...notices(text('shell', 'together')), ...notices(text('image-volume', 'last'))], [])
})
