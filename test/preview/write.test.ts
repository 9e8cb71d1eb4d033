import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import fastJsonPatch from 'fast-json-patch'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import type { Operation } from '../../src/admission/words/json.ts'
import { formatJson, parseJson } from '../../src/preview/json.ts'
import { readManifests } from '../../src/preview/manifests.ts'
import { objectsOf } from '../../src/preview/objects.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { preview } from '../../src/preview/preview.ts'
import { writeManifests } from '../../src/preview/write.ts'
import { large, runs } from '../runs.ts'

/** The text of one document with a patch made. */
function write(text: string, patch: readonly Operation[]): string {
  const manifests = readManifests(text)
  assert(manifests.ok, manifests.ok ? '' : JSON.stringify(manifests.problems))
  const found = objectsOf(manifests)
  assert(found.ok)
  const [object] = found.objects
  assert(object)
  const decision = {
    verdict: 'patched',
    reasons: [],
    warnings: [],
    tiers: [],
    change: 'order',
    absent: [],
    unlocked: [],
    patch,
  } as const
  const patched = applyPatch(object.value, patch)
  return writeManifests({ ok: true, manifests, previews: [{ object, decision, outlook: 'patched', patch, patched }] })
}

function values(text: string): unknown[] {
  const manifests = readManifests(text)
  assert(manifests.ok, manifests.ok ? '' : JSON.stringify(manifests.problems))
  return manifests.documents.map(({ value }) => value)
}

const moveLastFirst: Operation[] = [{ op: 'move', from: '/spec/containers/1', path: '/spec/containers/0' }]
const addHook: Operation = { op: 'add', path: '/spec/containers/0/lifecycle', value: { postStart: { exec: {} } } }

test('a container moves with the comments of its own, and blank lines stay where they are', () => {
  const text = `kind: Pod
spec:
  containers: # in order
    # the app
    # of ours
    - name: app
      image: "app:1"   # pinned
      # resources: {}

    # the proxy
    - name: proxy
      args: [a,   b]
  # and the rest
  restartPolicy: Always
`
  assert.equal(
    write(text, [...moveLastFirst, addHook]),
    `kind: Pod
spec:
  containers: # in order
    # the proxy
    - name: proxy
      args: [a,   b]
      lifecycle:
        postStart:
          exec: {}

    # the app
    # of ours
    - name: app
      image: "app:1"   # pinned
      # resources: {}
  # and the rest
  restartPolicy: Always
`,
  )
})

test('lists at the level of their key, four spaces, CRLF and a last line without a break are kept', () => {
  const text = [
    '---',
    'kind: Pod',
    'spec:',
    '    containers:',
    '    - name: app',
    '    - name: proxy',
    '      args:',
    '      - |',
    '        # no comment',
    '          - and no item',
  ].join('\r\n')
  assert.equal(
    write(text, [
      ...moveLastFirst,
      { op: 'add', path: '/spec/containers/0/args/1', value: 'more' },
      { op: 'add', path: '/spec/volumes', value: [{ name: 'v', emptyDir: {} }] },
      { op: 'add', path: '/metadata', value: { annotations: { a: 'yes' } } },
    ]),
    [
      '---',
      'kind: Pod',
      'spec:',
      '    containers:',
      '    - name: proxy',
      '      args:',
      '      - |',
      '        # no comment',
      '          - and no item',
      '      - more',
      '    - name: app',
      '    volumes:',
      '    - name: v',
      '      emptyDir: {}',
      'metadata:',
      '  annotations:',
      '    a: "yes"',
    ].join('\r\n'),
  )
})

test('a byte order mark is no reason to format anything anew; what is formatted anew keeps its CRLF', () => {
  const text = '\uFEFFkind: Pod\r\nspec:\r\n  containers: # two\r\n  - name: app\r\n  - name: proxy\r\n'
  assert.equal(
    write(text, moveLastFirst),
    '\uFEFFkind: Pod\r\nspec:\r\n  containers: # two\r\n  - name: proxy\r\n  - name: app\r\n',
  )
  const shared = 'kind: Pod\r\nspec:\r\n  containers:\r\n  - {name: a, x: &x [1]}\r\n  - {name: b, x: *x}\r\n'
  assert(!/[^\r]\n/.test(write(shared, moveLastFirst)))
})

test('byte order marks between documents and carriage returns alone stay where nothing changes', () => {
  const kept = 'kind: ConfigMap\r\n---\n\uFEFFkind: Secret\r\n--- \r\n\uFEFF# of a pod\rkind: Pod\r'
  const text = `${kept}metadata: {annotations: {sidecar-first.dev/sidecars: b}}\rspec:\r  containers: [{name: a}, {name: b}]\r`
  const written = (text: string) => {
    const previewed = preview(text, defaultConfiguration('0.0.0'))
    assert(previewed.ok, previewed.ok ? '' : JSON.stringify(previewed.problems))
    return writeManifests(previewed)
  }
  assert(written(text).startsWith(kept))
  const usual = text.replace(/\r\n?/g, '\n').replaceAll('\uFEFF', '')
  assert.deepEqual(values(written(text)), values(written(usual)))
  assert.notDeepEqual(values(written(text)), values(usual))
})

test('empty and flow parts become block parts', () => {
  const text =
    'kind: Pod\nmetadata: {annotations: {a: b}} # c\nspec: # d\n  volumes: []\n  initContainers:\n  containers: [{name: a}, {name: b}]\n'
  const patch: Operation[] = [
    { op: 'add', path: '/metadata/annotations/c', value: 'd' },
    { op: 'add', path: '/spec/volumes/0', value: { name: 'v' } },
    { op: 'add', path: '/spec/initContainers', value: [{ name: 'i' }] },
    ...moveLastFirst,
  ]
  assert.equal(
    write(text, patch),
    `kind: Pod
metadata:
  annotations:
    a: b
    c: d
spec: # d
  volumes:
    - name: v
  initContainers:
    - name: i
  containers:
    - name: b
    - name: a
`,
  )
})

test('a key that goes takes its lines along', () => {
  const text = 'kind: Pod\nspec:\n  containers:\n  - name: a\n    lifecycle: # x\n      preStop: {}\n    image: i\n'
  assert.equal(
    write(text, [{ op: 'remove', path: '/spec/containers/0/lifecycle' }]),
    'kind: Pod\nspec:\n  containers:\n  - name: a\n    image: i\n',
  )
})

test('anchors outside the patched part stay; inside of it the values are right', () => {
  const outside = `kind: Pod
metadata:
  labels: &labels {a: b}
spec:
  selector: *labels
  containers:
  - &base
    name: app
    env: &env
    - {name: x, value: "1"}
  - <<: *base
    name: proxy
    env: *env
`
  const moved = write(outside, [{ op: 'add', path: '/spec/volumes', value: [] }])
  assert.equal(moved, `${outside}  volumes: []\n`)
  for (const patch of [
    moveLastFirst,
    [{ ...addHook }],
    [{ op: 'add', path: '/spec/containers/1/env/0', value: 'y' }],
  ]) {
    const [now] = values(outside)
    assert.deepEqual(values(write(outside, patch as Operation[])), [applyPatch(now as never, patch as Operation[])])
  }
})

test('JSON keeps its indentation, and integers of any size', () => {
  const pod = { kind: 'Pod', spec: { containers: [{ name: 'a', x: 'BIG' }, { name: 'b' }] } }
  for (const indent of [undefined, 2, '\t']) {
    const big = (value: object) => `${JSON.stringify(value, null, indent).replace('"BIG"', '12345678901234567890')}\n`
    const [a, b] = pod.spec.containers
    assert.equal(write(big(pod), moveLastFirst), big({ ...pod, spec: { containers: [b, a] } }))
  }
})

test('text that another reader might take for a number or a truth is quoted', () => {
  const value = [
    'yes',
    'n',
    '0644',
    '0o17',
    '1_000',
    '22:22',
    '2001-01-01',
    'null',
    '~',
    '1e3',
    '<<',
    ' a',
    '# a',
    'a: b',
  ]
  const text = 'kind: Pod\nspec:\n  a: 1\n'
  assert.deepEqual(values(write(text, [{ op: 'add', path: '/spec/b', value }])), [
    { kind: 'Pod', spec: { a: 1, b: value } },
  ])
})

// A manifest as somebody may have typed it: the same pod in many forms.
interface Style {
  readonly step: number
  readonly dent: boolean
  readonly eol: string
  readonly end: boolean
  readonly marker: string
}

const style: fc.Arbitrary<Style> = fc.record({
  step: fc.constantFrom(2, 3, 4),
  dent: fc.boolean(),
  eol: fc.constantFrom('\n', '\r\n'),
  end: fc.boolean(),
  marker: fc.constantFrom('', '---\n', '# head\n---\n', '--- # here\n', '# head\n\n'),
})

const scalarLines = fc.constantFrom<string[][]>(
  ['v'],
  ["'single ''quoted'' # no comment'"],
  ['"double \\"quoted\\": - x"'],
  ['12345678901234567890'],
  ['0644'],
  ['{a: [1, 2],   b: "c"}'],
  ['[x,', '  y, # in flow', '  z]'],
  ['|', '  # text', '', '    deeper', '  - name: no item'],
  ['|-', '  text', ''],
  ['>', '  folded', '  text', ''],
  ['plain over', '  two lines'],
  ['v # trailing'],
  ['&anchor v'],
  [''],
  ['', '  nested: # c', '    deeper: 1', '  # comment below', '  other: 2'],
)

const above = fc.constantFrom<string[]>([], [], ['# own'], ['# two', '# lines'])
const between = fc.constantFrom<string[]>([], [], [''], ['', ''])
const fields = fc.uniqueArray(fc.constantFrom('image', 'env', 'x', '"q d"', 'zz'), { maxLength: 4 })

interface Container {
  readonly above: string[]
  readonly between: string[]
  readonly fields: [string, string[]][]
  readonly below: boolean
  readonly lead: string
}

const container: fc.Arbitrary<Container> = fc
  .record({
    above,
    between,
    keys: fields,
    values: fc.array(scalarLines, { minLength: 4, maxLength: 4 }),
    below: fc.boolean(),
  })
  .chain(({ keys, values: lines, ...rest }) =>
    fc.record({
      above: fc.constant(rest.above),
      between: fc.constant(rest.between),
      below: fc.constant(rest.below),
      lead: fc.constantFrom('- ', '-   '),
      fields: fc.constant(keys.map((key, index): [string, string[]] => [key, lines[index] ?? ['v']])),
    }),
  )

/** The lines of a manifest with these containers, named c0, c1, … */
function manifest(
  { step, dent, eol, end, marker }: Style,
  containers: readonly Container[],
  extra: readonly string[],
): string {
  const inner = ' '.repeat(step)
  const dash = dent ? inner.repeat(2) : inner
  const lines = ['kind: Pod', 'metadata:', `${inner}name: p # the name`, ...extra.map((line) => inner + line), 'spec:']
  lines.push(`${inner}containers: # in order`)
  for (const [index, each] of containers.entries()) {
    if (index > 0) lines.push(...each.between)
    lines.push(...each.above.map((line) => dash + line))
    const field = dash + ' '.repeat(each.lead.length)
    lines.push(`${dash}${each.lead}name: c${index}`)
    for (const [key, [first = '', ...more]] of each.fields) {
      const anchors = (text: string) => text.replace('&anchor', `&a${index}${key.replace(/\W/g, '')}`)
      lines.push(
        anchors(`${field}${key}: ${first}`.trimEnd()),
        ...more.map((line) => (line === '' ? '' : field + line)),
      )
    }
    if (each.below) lines.push(`${field}# off: 1`)
  }
  lines.push(`${inner}restartPolicy: Always`)
  return (marker + lines.join('\n') + (end ? '\n' : '')).replaceAll('\n', eol)
}

const extras = fc.constantFrom<string[]>([], ['annotations:', '    a: b'], ['annotations: {}'], ['labels:', '# none'])

const operations = (length: number): fc.Arbitrary<Operation[]> => {
  const index = fc.nat({ max: length - 1 })
  const json = fc.jsonValue({ maxDepth: 2 }).map((value) => parseJson(formatJson(value)))
  return fc.array(
    fc.oneof(
      fc.record({ op: fc.constant('move' as const), from: index, path: index }).map(({ op, from, path }) => {
        return { op, from: `/spec/containers/${from}`, path: `/spec/containers/${path}` }
      }),
      fc.record({ index, key: fc.constantFrom('lifecycle', 'more'), value: json }).map(({ index: at, key, value }) => {
        return { op: 'add' as const, path: `/spec/containers/${at}/${key}`, value }
      }),
      json.map((value) => ({ op: 'add' as const, path: '/spec/volumes', value })),
      json.map((value) => ({ op: 'add' as const, path: '/metadata/annotations', value: { added: value } })),
    ),
    { minLength: 1, maxLength: 5 },
  )
}

test('whatever the form: the values are those of the patch, and no line is lost', () => {
  fc.assert(
    fc.property(
      style,
      fc
        .array(container, { minLength: 1, maxLength: 5 })
        .chain((all) => fc.tuple(fc.constant(all), operations(all.length))),
      extras,
      (form, [containers, patch], extra) => {
        const text = manifest(form, containers, extra)
        const [now] = values(text)
        const written = write(text, patch)
        assert.deepEqual(values(written), [applyPatch(now as never, patch)], text)
        const left = written.split(/\r?\n/)
        for (const line of text.split(/\r?\n/)) {
          // what a patch replaces may go
          if (/annotations|^ +a: b$/.test(line)) continue
          const at = left.indexOf(line)
          assert(at >= 0, `lost: ${line}\n${text}\n=>\n${written}`)
          left.splice(at, 1)
        }
        if (form.eol === '\r\n') assert.doesNotMatch(written, /[^\r]\n/)
      },
    ),
    runs(500),
  )
})

const native = (index: number, place: number): Operation[] => [
  { op: 'move', from: `/spec/containers/${index}`, path: `/spec/initContainers/${place}` },
  { op: 'add', path: `/spec/initContainers/${place}/restartPolicy`, value: 'Always' },
]

test('a container that becomes an init container keeps its lines and comments, and only its indentation changes', () => {
  const proxy = (indent: string) =>
    [
      '# the proxy',
      '- image:   "proxy:1"  # odd',
      '  name: proxy',
      '  args:',
      '    - |',
      '      # no comment',
      '',
      '        deeper',
    ]
      .map((line) => `${line && indent}${line}\n`)
      .join('')
  const containers = `  containers:\n    - name: app\n${proxy('    ')}      # - off: 1\n`
  const app = '  containers:\n    - name: app\n'
  const always = '  restartPolicy: Always\n'
  const text = `kind: Pod\nspec:\n  initContainers:\n  - name: i # init\n${containers}${always}`
  assert.equal(
    write(text, native(1, 1)),
    `kind: Pod\nspec:\n  initContainers:\n  - name: i # init\n${proxy('  ')}    restartPolicy: Always\n    # - off: 1\n${app}${always}`,
  )
  for (const empty of ['', '  initContainers: []\n']) {
    const written = `  initContainers:\n${proxy('    ')}      restartPolicy: Always\n      # - off: 1\n`
    assert.equal(
      write(`kind: Pod\nspec:\n${empty}${containers}${always}`, [
        { op: 'add', path: '/spec/initContainers', value: [] },
        ...native(1, 0),
      ]),
      `kind: Pod\nspec:\n${empty && written}${app}${always}${empty ? '' : written}`,
    )
  }
})

test('whatever the form: a container that changes lists loses no line', () => {
  fc.assert(
    fc.property(
      style,
      fc.array(container, { minLength: 2, maxLength: 4 }),
      fc.nat({ max: 1 }),
      fc.boolean(),
      (form, all, index, there) => {
        const inner = ' '.repeat(form.step)
        const init = `${inner}initContainers:${form.eol}${inner}- name: i${form.eol}${inner}containers:`
        const text = manifest(form, all, []).replace(`${inner}containers:`, there ? init : '$&')
        const [now] = values(text)
        const patch: Operation[] = [
          ...(there ? [] : [{ op: 'add', path: '/spec/initContainers', value: [] } as const]),
          ...native(index, there ? 1 : 0),
        ]
        const written = write(text, patch)
        assert.deepEqual(values(written), [applyPatch(now as never, patch)], text)
        const left = written.split(/\r?\n/).map((line) => line.trim())
        for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
          // blank lines between two items stay where two items are left
          if (line === '') continue
          const at = left.indexOf(line)
          assert(at >= 0, `lost: ${line}\n${text}\n=>\n${written}`)
          left.splice(at, 1)
        }
        if (form.eol === '\r\n') assert.doesNotMatch(written, /[^\r]\n/)
      },
    ),
    runs(500),
  )
})

function holdsBigint(value: unknown): boolean {
  if (typeof value === 'bigint') return true
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsBigint)
}

test('the patch is applied as fast-json-patch does it', () => {
  fc.assert(
    fc.property(fc.array(container, { minLength: 1, maxLength: 5 }), operations(1), (containers, patch) => {
      const form = { step: 2, dent: true, eol: '\n', end: true, marker: '' }
      const small = manifest(form, containers, []).replaceAll('12345678901234567890', '1')
      const [now] = values(small)
      // The library moves by a copy through JSON text, which has no bigint; ours is for manifests that may have one.
      fc.pre(!holdsBigint(patch))
      const theirs = fastJsonPatch.applyPatch(structuredClone(now), structuredClone(patch), false, false).newDocument
      assert.deepEqual(applyPatch(now as never, patch), theirs)
    }),
  )
})

test('documents that are not patched, and what stands between documents, come back byte for byte', () => {
  const text = `# start
---
apiVersion: v1
kind: ConfigMap
data:   {a:   b}
--- # two
# the pod
kind: Pod
metadata:
  annotations: {sidecar-first.dev/sidecars: proxy}
spec:
  containers:
  - name: app
  - name: proxy
...
# after
---
kind: Secret
`
  const previewed = preview(text, defaultConfiguration('0.0.0'))
  assert(previewed.ok)
  assert.deepEqual(
    previewed.previews.map(({ decision }) => decision.verdict),
    ['skipped', 'patched', 'skipped'],
  )
  const written = writeManifests(previewed)
  assert.equal(written.slice(0, text.indexOf('metadata:')), text.slice(0, text.indexOf('metadata:')))
  assert(written.endsWith(text.slice(text.indexOf('...\n'))))
  assert.deepEqual(values(written)[1], previewed.previews[1]?.patched)
})

test('objects in a list are patched where they stand, and an AdmissionReview gives way to its object', () => {
  const pod = (indent: string) =>
    [
      'kind: Pod',
      'metadata: {annotations: {sidecar-first.dev/sidecars: b}}',
      'spec:',
      '  containers:',
      '  - name: a',
      '  - name: b',
    ]
      .map((line) => `${indent}${line}\n`)
      .join('')
  const list = `kind: List\nitems:\n# first\n- kind:   Secret\n# second\n- ${pod('  ').trimStart()}# third\n- kind: Role # c\n`
  const listed = preview(list, defaultConfiguration('0.0.0'))
  assert(listed.ok)
  const written = writeManifests(listed)
  assert.deepEqual(values(written), [{ kind: 'List', items: listed.previews.map(({ patched }) => patched) }])
  assert(written.startsWith('kind: List\nitems:\n# first\n- kind:   Secret\n# second\n- kind: Pod\n'))
  assert(written.endsWith('# third\n- kind: Role # c\n'))
  assert.match(written, / {4}- name: b\n(?: {6}.*\n)* {4}- name: a\n/)

  const review = `kind: AdmissionReview\nrequest:\n  object:\n${pod('    ')}`
  for (const text of [review, `${formatJson(values(review)[0])}\n`]) {
    const reviewed = preview(text, defaultConfiguration('0.0.0'))
    assert(reviewed.ok)
    assert.equal(reviewed.previews[0]?.decision.verdict, 'patched')
    assert.deepEqual(values(writeManifests(reviewed)), [reviewed.previews[0]?.patched])
  }
})

test('a long list of pods alike is written in the time of its length', large, () => {
  const pod =
    '- kind: Pod\n  metadata: {annotations: {sidecar-first.dev/sidecars: b}}\n  spec:\n    containers:\n    - name: a\n    - name: b\n'
  const previewed = preview(`kind: List\nitems:\n${pod.repeat(1000)}`, defaultConfiguration('0.0.0'))
  assert(previewed.ok)
  const written = writeManifests(previewed)
  assert.deepEqual(values(written), [{ kind: 'List', items: previewed.previews.map(({ patched }) => patched) }])
  assert.equal(written.match(/^- kind: Pod$/gm)?.length, 1000)
})
