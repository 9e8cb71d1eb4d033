import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepest, formatJson, parseJson } from '../../src/preview/json.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { faultText } from '../../src/preview/problems.ts'
import { codePoint } from '../admission/arbitraries.ts'
import { large, runs } from '../runs.ts'

function values(text: string): unknown[] {
  const manifests = readManifests(text)
  assert(manifests.ok, manifests.ok ? '' : JSON.stringify(manifests.problems))
  return manifests.documents.map(({ value }) => value)
}

/** Each problem as `document:line:column message`. */
function problems(text: string): string[] {
  const manifests = readManifests(text)
  assert(!manifests.ok, 'it was read')
  return manifests.problems.map(
    ({ document, line, column, fault }) => `${document}:${line}:${column} ${faultText(fault)}`,
  )
}

test('JSON and YAML hold integers of any size, and write them as they were', () => {
  for (const text of ['{"a":12345678901234567890,"b":-9007199254740993,"c":1,"d":1.5,"e":1e3}']) {
    const value = { a: 12345678901234567890n, b: -9007199254740993n, c: 1, d: 1.5, e: 1000 }
    assert.deepEqual(values(text), [value])
    assert.deepEqual(values(`---\n${text}`), [value])
    assert.equal(formatJson(value), text.replace('1e3', '1000'))
  }
})

test('keys that mean something to JavaScript are data', () => {
  for (const text of ['{"__proto__":{"x":1},"constructor":2}', '__proto__: {x: 1}\nconstructor: 2\n']) {
    const [value] = values(text)
    assert(typeof value === 'object' && value !== null)
    assert.deepEqual(Object.keys(value), ['__proto__', 'constructor'])
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
    assert.equal(formatJson(value), '{"__proto__":{"x":1},"constructor":2}')
  }
})

test('YAML is read as kubectl reads it', () => {
  const text = `a: [yes, off, 0644, 0o644, 0x1F, 1_000, ~, 22:22, 2001-01-01, "yes", 089]
text: [., ._, +., e2, -E1, .e2, ..]
numbers: [.5, 1., 1e3, .5e1]
base: &base {x: 1, y z: 2}
merged: {<<: *base, x: 3}
tagged: !Ref text
`
  assert.deepEqual(values(text), [
    {
      a: [true, false, 420, 420, 31, 1000, null, '22:22', '2001-01-01', 'yes', 89],
      text: ['.', '._', '+.', 'e2', '-E1', '.e2', '..'],
      numbers: [0.5, 1, 1000, 5],
      base: { x: 1, 'y z': 2 },
      merged: { 'y z': 2, x: 3 },
      tagged: 'text',
    },
  ])
})

test('markers, empty documents, a byte order mark and CRLF are no obstacle', () => {
  assert.deepEqual(values('\uFEFF---\r\na: 1\r\n---\r\n# nothing\r\n--- # b\r\nb: 2\r\n...\r\n---\r\n'), [
    { a: 1 },
    { b: 2 },
  ])
  assert.deepEqual(values('\uFEFF{"a": 1}\r\n'), [{ a: 1 }])
  assert.deepEqual(values('{"a": 1}\n---\n{"b": 2}\n'), [{ a: 1 }, { b: 2 }])
  assert.deepEqual(values(''), [])
  assert.deepEqual(values('# nothing\n---\n\n---\nnull\n'), [])
})

test('a byte order mark before any document, and carriage returns alone, are read as kubectl reads them', () => {
  assert.deepEqual(values('\uFEFFkind: a\n---\n\uFEFFkind: b\n--- \t\r\n\uFEFF# c\r\nkind: c\r\n'), [
    { kind: 'a' },
    { kind: 'b' },
    { kind: 'c' },
  ])
  assert.deepEqual(values('# a comment\rkind: Pod\rtext: |\r  a\r  b\rquoted: "a\r  b"\r\nlast: 1\n'), [
    { kind: 'Pod', text: 'a\nb\n', quoted: 'a b', last: 1 },
  ])
  assert.deepEqual(values('text: "---\\n\uFEFF"\nblock: |\n  ---\n  \uFEFF\n'), [
    { text: '---\n\uFEFF', block: '---\n\uFEFF\n' },
  ])
})

test('each thing wrong is said with its place', () => {
  const helm = 'this is a Helm template; render it first: helm template RELEASE CHART'
  const cases: [string, string[]][] = [
    ['{"a":1,\n "a":2, "b":{"c":1,"c":2}}', ['1:2:2 the key "a" is there twice', '1:2:20 the key "c" is there twice']],
    [
      '\uFEFF\r\n{\r\n\r\n  "a": "\\n", "b": [{"c": 1},\n{"c": 2}],\r\n  "a"\n: {"b": {"a": 1},\n"a": 2, "a": 3},\n"b": 4}',
      ['1:6:3 the key "a" is there twice', '1:8:9 the key "a" is there twice', '1:9:1 the key "b" is there twice'],
    ],
    ['{"a\\"":"\\"{[\\\\","b":1,"a\\"":2}', ['1:1:23 the key "a\\"" is there twice']],
    ['a: 1\n---\n"b c": 1\nb: 1\n"b c": 2\n', ['2:5:1 the key "b c" is there twice']],
    ['a: 1\rb: 1\r\n---\n\uFEFFb: 1\nb: 2\n', ['2:5:1 the key "b" is there twice']],
    ['a:\n\tb: 1\n', ['1:2:1 invalid YAML: tabs are not allowed as indentation']],
    ['kind: Pod\nimage: {{ .Values.image }}\n', [`1:2:8 ${helm}`]],
    ['{{- if .Values.on }}\nkind: Pod\n{{- end }}\n', [`1:1:1 ${helm}`]],
    ['a: 1\nb:\n  {{- toYaml .x | nindent 2 }}\nc: 1\n', [`1:3:3 ${helm}`]],
    ['a:\n  {{- include "labels" . | nindent 2 }}\n', [`1:2:3 ${helm}`]],
    [
      'a: "{{ $x }}"\nb: [\n',
      ['1:3:1 invalid YAML: flow sequence in block collection must be sufficiently indented and end with a ]'],
    ],
    ['? [a]\n: 1\n', ['1:1:3 a key has to be text, not a list or an object']],
    [
      'text\n---\n- a\n',
      [
        '1:1:1 a manifest is an object with apiVersion and kind',
        '2:3:1 a manifest is an object with apiVersion and kind',
      ],
    ],
    ['a: "x\n', ['1:2:1 invalid YAML: missing closing "quote']],
    ['a: .nan\n', ["1:1:1 NaN can't be written as JSON"]],
    ['a: *b\n', ['1:1:4 there is no anchor "b" before this alias']],
  ]
  for (const [text, expected] of cases) assert.deepEqual(problems(text), expected, text)
})

test('neither nesting nor aliases exhaust anything', large, () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
    ['- ', ''],
    ['{a: ', '}'],
  ] as const) {
    const text = open.repeat(100_000) + close.repeat(100_000)
    assert.match(problems(text).join(), /^1:1:\d+ nested more than 256 levels deep$/)
  }
  const nested = `${'{"a":'.repeat(deepest - 1)}1${'}'.repeat(deepest - 1)}`
  assert.equal(values(nested).length, 1)
  assert.equal(values(`---\n${nested}`).length, 1)
  const line = (name: string, of: string) => `${name}: &${name} [${Array(10).fill(`*${of}`).join(', ')}]\n`
  const laughs = `a: &a [1, 2]\n${line('b', 'a')}${line('c', 'b')}${line('d', 'c')}${line('e', 'd')}${line('f', 'e')}`
  assert.match(problems(laughs).join(), /^1:1:1 its aliases expand to too much$/)
  const wide = `a: &a ${'x'.repeat(100_000)}\nb: [${Array(1000).fill('*a').join(', ')}]\n`
  assert.match(problems(wide).join(), /^1:1:1 its aliases expand to too much$/)
  const many = Array.from({ length: 6000 }, (_, index) => `- &a${index} {}\n- *a${index}\n`).join('')
  assert.match(problems(`a:\n${many}`).join(), /^1:1:1 more than 10000 anchors and aliases$/)
  assert.equal(values(`a: &a {x: 1}\nb: [${Array(1000).fill('*a').join(', ')}]\n`).length, 1)
  const merges = Array.from(
    { length: 30 },
    (_, index) => `a${index + 1}: &a${index + 1} {<<: [*a${index}, *a${index}]}\n`,
  )
  assert.match(problems(`a0: &a0 {x: 1}\n${merges.join('')}`).join(), /^1:1:1 its aliases expand to too much$/)
  assert.match(problems('a: &a [*a]\n').join(), /^1:1:1 its aliases expand to too much$/)
  for (const text of [`{"kind":"a","x":"${'\\n'.repeat(3_000_000)}"}`, `{${' '.repeat(7_000_000)}}`]) {
    assert.equal(values(text).length, 1)
  }
})

test('no text throws', () => {
  const piece = fc.constantFrom(
    ...['{', '}', '[', ']', '"', "'", ':', ': ', '- ', '\n', '\r\n', '\t', ' ', '  ', '&a', '*a'],
  )
  const more = fc.constantFrom(
    ...['|', '>', '?', '!', '!!x', '%YAML 1.2', '---', '...', '{{', '<<', 'kind', '\uFEFF', '\0', '#', ',', '\\'],
  )
  fc.assert(
    fc.property(
      fc.array(fc.oneof(piece, more, fc.string({ unit: codePoint, maxLength: 3 })), { maxLength: 30 }),
      (parts) => {
        readManifests(parts.join(''))
      },
    ),
    runs(3000),
  )
})

test('any JSON value is read as it was written', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = formatJson({ value })
      assert.deepEqual(values(text), [parseJson(text)])
    }),
  )
})
