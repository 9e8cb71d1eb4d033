import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { answerPreview } from '../../src/preview/answer.ts'
import { whatIfType } from '../../src/preview/what-if.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
const pod = `kind: Pod
metadata:
  name: p
  annotations: {sidecar-first.dev/sidecars: proxy}
spec:
  containers:
  - name: app
  - name: proxy
    readinessProbe: {tcpSocket: {port: 1}}
`

function ask(sent: unknown, base = defaultConfiguration('0.0.0')) {
  const body = typeof sent === 'string' ? sent : JSON.stringify(sent)
  const answer = answerPreview({ body, contentType: whatIfType, wanted: 'application/json', query: '' }, base)
  return { status: answer.status, ...JSON.parse(answer.body) }
}

test('without more than manifests it answers as the server is configured', () => {
  const { status, results } = ask({ manifests: pod })
  assert.deepEqual([status, results[0].verdict, results[0].gates[0].form], [200, 'patched', 'lock'])
})

test("a configuration takes the place of the server's", () => {
  const base = defaultConfiguration('0.0.0')
  const native = { ...base, defaults: { ...base.defaults, gate: 'native' as const } }
  const configuration = `${head}waiter: {delivery: shell}\nkubernetesVersion: "1.34"\n`
  const { results } = ask({ manifests: pod, configuration }, native)
  assert.equal(results[0].gates[0].form, 'hook')
  assert.doesNotMatch(JSON.stringify(results[0].patch), /initContainers|emptyDir/)
})

test('settings come on top: gate, delivery, version and lock, and a rule for each preset', () => {
  const settings = { gate: 'native', delivery: 'shell', kubernetesVersion: '1.36', lock: 'on' }
  const { results } = ask({ manifests: pod, configuration: `${head}invalid: warn\n`, settings })
  const patch = JSON.stringify(results[0].patch)
  assert.match(patch, /restartPolicy","value":"Always"/)
  assert.match(patch, /sidecar-first-lock/)
  assert.doesNotMatch(patch, /sidecar-first-waiter/)
  const silent = 'kind: Pod\nspec:\n  containers:\n  - name: app\n  - name: istio-proxy\n'
  const [without, withIstio] = [
    ask({ manifests: silent }),
    ask({ manifests: silent, settings: { presets: ['istio'] } }),
  ]
  assert.equal(without.results[0].verdict, 'skipped')
  assert.equal(withIstio.results[0].verdict, 'patched')
  assert.deepEqual(
    withIstio.results[0].tiers.flat().map(({ name, rule }: { name: string; rule: string }) => [name, rule]),
    [['istio-proxy', 'what if: istio']],
  )
})

test('mistakes in the configuration have a code and a place, and say that they are there', () => {
  const configuration = `${head}defaults:\n  gate: 5\n  timeout: soon\nrules: {}\n`
  const { status, error, problems, mistakes } = ask({ manifests: pod, configuration })
  assert.deepEqual([status, error], [400, 'the configuration can not be read'])
  assert.deepEqual(
    mistakes.map(({ source, line, column }: { source: string; line: number; column: number }) => [
      source,
      line,
      column,
    ]),
    [
      ['configuration', 4, 9],
      ['configuration', 5, 12],
      ['configuration', 6, 8],
    ],
  )
  assert.match(problems[0], /^line 4, column 9: SF\d{3} defaults\.gate/)
})

test("a mistake in the manifests is the manifests'", () => {
  const { mistakes } = ask({ manifests: 'kind: Pod\nkind: Pod\n', configuration: head })
  assert.deepEqual(
    mistakes.map(({ source, line, code }: { source: string; line: number; code: string }) => [source, line, code]),
    [['manifests', 2, 'SF409']],
  )
})

test('what is hardly meant in a configuration is said beside the results', () => {
  const { status, notices } = ask({ manifests: pod, configuration: `${head}enforced: {failurePolicy: Fail}\n` })
  assert.equal(status, 200)
  assert.deepEqual(
    notices.map(({ source, line, code }: { source: string; line: number; code: string }) => [source, line, code]),
    [['configuration', 3, 'SF332']],
  )
})

test('a body of another shape, and settings that can not be, are refused with the reason', () => {
  const manifests = pod
  for (const [sent, why] of [
    ['{', /invalid JSON/],
    ['[]', /not an object/],
    [{}, /^manifests: not text/],
    [{ manifests, configuration: {} }, /^configuration: not text/],
    [{ manifests, config: head }, /config is unknown; use manifests, configuration, settings/],
    [{ manifests, settings: [] }, /^settings is an object, not a list/],
    [{ manifests, settings: { gates: 'hook' } }, /unknown key "gates" in settings; did you mean gate/],
    [{ manifests, settings: { gate: 'x\u001b[31m' } }, /settings\.gate: .+ is not one of hook, native, auto/],
    [{ manifests, settings: { gate: 1 } }, /settings\.gate: takes text/],
    [{ manifests, settings: { gate: 'toString' } }, /is not one of/],
    [{ manifests, settings: {}, configuration: [] }, /^configuration: not text/],
    [`{"settings": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`, /nested more than 256 levels deep/],
    [{ manifests, settings: { presets: 'istio' } }, /settings\.presets is a list, not "istio"/],
    [{ manifests, settings: { presets: ['istio', 'isto'] } }, /"isto" is not a preset; .*istio/],
    [{ manifests, settings: { kubernetesVersion: 'new' } }, /"new"/],
    [{ manifests, settings: { kubernetesVersion: '1.30', lock: 'on' } }, /needs Kubernetes 1\.35/],
    [
      { manifests, configuration: `${head}defaults: {lock: "on"}\n`, settings: { kubernetesVersion: '1.34' } },
      /needs Kubernetes 1\.35/,
    ],
  ] as const) {
    const { status, problems } = ask(sent)
    assert.equal(status, 400, JSON.stringify(sent))
    assert.match(problems[0], why)
    assert(!problems[0].includes('\u001b'))
  }
})

test('hostile configurations are read as text, within bounds', () => {
  const laughs = `a: &a [x, x, x, x, x, x, x, x]\n${Array.from({ length: 12 }, (_, i) => {
    const [to, from] = [String.fromCharCode(98 + i), String.fromCharCode(97 + i)]
    return `${to}: &${to} [*${from}, *${from}, *${from}, *${from}, *${from}, *${from}, *${from}, *${from}]\n`
  }).join('')}`
  const many = `${head}${Array.from({ length: 5000 }, (_, i) => `key${i}: 1\n`).join('')}`
  const deep = `${head}rules: ${'['.repeat(3000)}${']'.repeat(3000)}\n`
  for (const configuration of [laughs, many, deep, '\uFEFF', '\t', '{{ x }}', '--- \n---\n', '__proto__: {}']) {
    const { status, mistakes } = ask({ manifests: pod, configuration })
    assert.equal(status, configuration.trim() === '' ? 200 : 400, configuration.slice(0, 80))
    assert((mistakes ?? []).length <= 100)
  }
})
