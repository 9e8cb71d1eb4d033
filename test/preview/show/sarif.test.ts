import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { catalogue } from '../../../src/messages/catalogue.ts'
import { preview } from '../../../src/preview/preview.ts'
import { sarif } from '../../../src/preview/show/sarif.ts'
import { configuration } from '../../admission/pods.ts'
import { runs } from '../../runs.ts'
import { faultsOf } from '../schema.ts'
import { shape } from './sarif-shape.ts'

interface Rule {
  readonly id: string
  readonly help: { readonly text: string; readonly markdown: string }
  readonly helpUri?: string
}

/** Of SARIF, what is looked at here. */
interface Log {
  readonly runs: readonly [
    {
      readonly tool: {
        readonly driver: { readonly rules: readonly Rule[] }
      }
      readonly results: readonly {
        readonly ruleId: string
        readonly ruleIndex: number
        readonly level: string
        readonly locations: readonly [
          {
            readonly physicalLocation?: {
              readonly artifactLocation: { readonly uri: string; readonly uriBaseId?: string }
              readonly region: { readonly startLine: number; readonly startColumn: number }
            }
          },
        ]
      }[]
    },
  ]
}

function logOf(text: string, { name = '/checkout/k8s/pods.yaml', home }: { name?: string; home?: string } = {}) {
  const previewed = preview(text, configuration)
  const found = previewed.ok
    ? { files: [{ name, previewed }], problems: [] }
    : { files: [], problems: previewed.problems.map((problem) => ({ name, ...problem })) }
  const log = JSON.parse(sarif(found, catalogue, '/checkout', home)) as Log
  assert.deepEqual(
    faultsOf(log, shape({ files: name !== 'standard input' }), () => assert.fail()),
    [],
  )
  const [{ results, tool }] = log.runs
  for (const { ruleId, ruleIndex } of results) assert.equal(tool.driver.rules[ruleIndex]?.id, ruleId)
  return { results, rules: tool.driver.rules }
}

const where = ({ results }: ReturnType<typeof logOf>) =>
  results.map(({ ruleId, level, locations: [{ physicalLocation }] }) => {
    const { startLine, startColumn } = physicalLocation?.region ?? {}
    return `${ruleId} ${level} ${startLine}:${startColumn}`
  })

const pod = (sidecars: string) =>
  `kind: Pod\nmetadata: {name: web, annotations: {sidecar-first.dev/sidecars: ${sidecars}}}\nspec:\n  containers: [{name: app}, {name: bare}]\n`

describe('-o sarif', () => {
  test('errors, warnings and notes, each with its rule and its place', () => {
    const log = logOf(
      `# of the shop\r\n${pod('bare').replaceAll('\n', '\r\n')}---\r\n${pod('"a,,b"')}---\n${pod('proxy').replace('bare', 'proxy, readinessProbe: {tcpSocket: {port: 1}}')}`,
    )
    assert.deepEqual(where(log), ['SF204 warning 5:30', 'SF112 error 8:37', 'SF219 note 13:37'])
  })

  test('a file that cannot be read has its problems in it', () => {
    assert.deepEqual(where(logOf('kind: Pod\n---\nkind: Pod\na: 1\na: 2\n')), ['SF409 error 5:1'])
  })

  test('a path is relative to the checkout, and absolute outside of it; standard input has none', () => {
    const uri = (name: string) =>
      logOf(pod('bare'), { name }).results[0]?.locations[0].physicalLocation?.artifactLocation
    assert.deepEqual(uri('/checkout/a b/ü%.yaml'), { uri: 'a%20b/%C3%BC%25.yaml', uriBaseId: '%SRCROOT%' })
    assert.deepEqual(uri('/elsewhere/..pods.yaml'), { uri: 'file:///elsewhere/..pods.yaml' })
    assert.deepEqual(uri('/checkout/..pods.yaml'), { uri: '..pods.yaml', uriBaseId: '%SRCROOT%' })
    assert.equal(uri('standard input'), undefined)
  })

  test('a rule brings its entry along, and links to it where the repository can be read', () => {
    const entry = catalogue.find(({ code }) => code === 'SF112')
    assert.ok(entry)
    for (const home of [undefined, 'https://example.com/sidecar-first']) {
      const [rule] = logOf(pod('"a,,b"'), home === undefined ? {} : { home }).rules
      assert.equal(rule?.helpUri, home && `${home}/blob/main/docs/messages.md#sf112`)
      for (const help of [rule?.help.text, rule?.help.markdown])
        assert.ok(help?.startsWith(entry.means) && help.endsWith(entry.next), help)
    }
  })

  test('the shape that is asked for here refuses what code scanning could not use', () => {
    const faults = (change: (log: string) => string) => {
      const previewed = preview(pod('bare'), configuration)
      assert.ok(previewed.ok)
      const text = sarif({ files: [{ name: '/checkout/a.yaml', previewed }], problems: [] }, catalogue, '/checkout')
      return faultsOf(JSON.parse(change(text)), shape({ files: true }), () => assert.fail())
    }
    assert.deepEqual(
      faults((log) => log),
      [],
    )
    for (const [there, instead] of [
      ['"2.1.0"', '"2.0.0"'],
      ['"ruleId"', '"rule"'],
      ['"level": "warning"', '"level": "high"'],
      ['"startLine": ', '"startLine": -'],
      ['"uri": "a', '"uri": "http://['],
      ['"help"', '"advice"'],
      ['"physicalLocation"', '"location"'],
    ] as const) {
      assert.notDeepEqual(
        faults((log) => log.replaceAll(there, instead)),
        [],
        there,
      )
    }
  })

  test('every mistake is marked where it stands, whatever stands around it', () => {
    const filler = fc.array(fc.constantFrom('# a comment: { not yaml', '', '  # ümlaut 🚀'), { maxLength: 4 })
    const piece = fc.record({
      filler,
      // a pod alone, in a List, or a Deployment's
      form: fc.constantFrom('pod' as const, 'list' as const, 'deployment' as const, 'secret' as const),
      before: fc.constantFrom('', '"ü🚀": x, '),
    })
    const file = fc.record({
      pieces: fc.array(piece, { minLength: 1, maxLength: 5 }),
      newline: fc.constantFrom('\n', '\r\n'),
      bom: fc.boolean(),
    })
    fc.assert(
      fc.property(file, ({ pieces, newline, bom }) => {
        const lines = pieces.flatMap(({ filler, form, before }, index) => {
          const metadata = (mark: string) =>
            `metadata: {annotations: {${before}sidecar-first.dev/gate: ${mark}, sidecar-first.dev/sidecars: proxy}}`
          const spec = 'spec: {containers: [{name: app}, {name: proxy, readinessProbe: {tcpSocket: {port: 1}}}]}'
          const separator = index === 0 ? [] : ['---']
          switch (form) {
            case 'pod':
              return [...separator, ...filler, `{kind: Pod, ${metadata(`z${index}`)}, ${spec}}`]
            case 'list':
              return [
                ...[...separator, ...filler, 'kind: List', 'items:'],
                ...['a', 'b'].flatMap((item) => [...filler, `- {kind: Pod, ${metadata(`z${index}${item}`)}, ${spec}}`]),
              ]
            case 'deployment':
              return [
                ...[...separator, 'kind: Deployment', ...filler, 'spec:', '  template:'],
                ...[`    ${metadata(`z${index}`)}`, ...filler, `    ${spec}`],
              ]
            case 'secret':
              return [...separator, ...filler, 'kind: Secret']
            default:
              return form satisfies never
          }
        })
        const marks = [...lines.entries()].flatMap(([index, line]) => {
          const at = line.search(/sidecar-first\.dev\/gate: z/)
          return at < 0 ? [] : [`SF105 error ${index + 1}:${at + 1}`]
        })
        const text = `${bom ? '\uFEFF' : ''}${lines.join(newline)}${newline}`
        assert.deepEqual(
          where(logOf(text)).filter((each) => each.startsWith('SF1')),
          marks,
          text,
        )
      }),
      runs(300),
    )
  })
})
