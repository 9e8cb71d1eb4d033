import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { answerPreview } from '../../src/preview/answer.ts'
import { applyEdits } from '../../src/preview/edit.ts'
import type { PreviewResult } from '../../src/preview/preview.ts'

const configuration = defaultConfiguration('0.0.0-test')

function previewed(body: string, query = 'include=edits'): readonly PreviewResult[] {
  const answer = answerPreview({ body, query, contentType: undefined, wanted: 'application/json' }, configuration)
  assert.equal(answer.status, 200, answer.body)
  return JSON.parse(answer.body).results
}

/** The input with the lines of one suggestion, as a page would add them. */
function added(body: string, at = 0): string {
  const { suggestion } = previewed(body)[at] ?? {}
  assert.ok(suggestion?.edits, JSON.stringify(suggestion))
  return applyEdits(body, suggestion.edits)
}

const istio = `# the shop
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop # its name
spec:
  template:
    metadata:
      labels:
        app: shop
    spec:
      containers:
        - name: shop # the app
          image: shop
        - name: istio-proxy
          image: istio/proxyv2
          readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}
`

describe('the edits of a suggestion', () => {
  test('add the lines to the template, and nothing else', () => {
    const text = added(istio)
    const line = '      annotations:\n        sidecar-first.dev/sidecars: istio-proxy\n'
    assert.equal(text, istio.replace('    spec:\n      containers', `${line}    spec:\n      containers`))
    assert.equal(previewed(text)[0]?.verdict, 'patched')
  })

  test('keep line breaks, a byte order mark, comments and what else stands in the input', () => {
    const others = '# first\napiVersion: v1\nkind: Service\nmetadata:\n  name: s\n---\n'
    for (const [body, at] of [
      [istio.replaceAll('\n', '\r\n'), 0],
      [`\uFEFF${istio}`, 0],
      [others + istio, 1],
      [istio.trimEnd(), 0],
      [`${istio}---\n${others.slice(0, -4)}`, 0],
    ] as const) {
      const text = added(body, at)
      const eol = body.includes('\r') ? '\r\n' : '\n'
      const lines = [`      annotations:`, `        sidecar-first.dev/sidecars: istio-proxy`]
      assert.deepEqual(
        text.split(eol).filter((line) => !lines.includes(line)),
        body.split(eol),
      )
      assert.equal(previewed(text)[at]?.verdict, 'patched')
    }
  })

  test('join annotations that are there, also empty ones and none at all', () => {
    const pod = (metadata: string) =>
      `kind: Pod\napiVersion: v1\n${metadata}spec:\n  containers: [{name: app}, {name: envoy, readinessProbe: {tcpSocket: {port: 1}}}]\n`
    const all = [
      'metadata:\n  name: a\n  annotations:\n    mine: "1" # kept\n',
      'metadata:\n  name: a\n  annotations: {}\n',
      'metadata:\n  name: a\n  annotations:\n',
      'metadata: {name: a}\n',
      '',
    ]
    for (const metadata of all) {
      const text = added(pod(metadata))
      assert.equal(previewed(text)[0]?.verdict, 'patched', text)
      assert.ok(!metadata.includes('# kept') || text.includes('mine: "1" # kept'))
    }
  })

  test('fit JSON, lists and reviews', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'app' }, { name: 'envoy', readinessProbe: { tcpSocket: { port: 1 } } }] },
    }
    const list = { apiVersion: 'v1', kind: 'List', items: [{ kind: 'Secret', apiVersion: 'v1' }, pod, pod] }
    const text = added(JSON.stringify(list, null, 2), 2)
    assert.deepEqual(
      previewed(text).map(({ verdict }) => verdict),
      ['skipped', 'skipped', 'patched'],
    )
    assert.match(text, /^\{\n {2}"/)
  })

  test('also come with what serves only if the sidecar is configured for it', () => {
    const body = `kind: Pod
apiVersion: v1
spec:
  containers:
    - {name: app}
    - {name: telemetry, image: 'otel/opentelemetry-collector-contrib:1', args: [--config=/conf/a.yaml]} # configured
`
    const { suggestion } = previewed(body)[0] ?? {}
    assert.ok(suggestion?.edits && suggestion.conditionalEdits)
    const [plain, all] = [suggestion.edits, suggestion.conditionalEdits].map((edits) => applyEdits(body, edits))
    assert.equal(plain?.includes('check.sidecar-first.dev'), false)
    assert.match(all ?? '', /sidecars: telemetry\n {4}check\.sidecar-first\.dev\/telemetry: http:\/\/:13133\/\n/)
    assert.deepEqual(
      previewed(all ?? '')[0]
        ?.tiers.flat()
        .map(({ check }) => check),
      ['http://:13133/'],
    )
    assert.equal(previewed(istio)[0]?.suggestion?.conditionalEdits, undefined)
  })

  test('never come with a check of which a part is still to be filled in: it would wait for a file called NAME', () => {
    const body = `kind: Pod
apiVersion: v1
spec:
  containers:
    - {name: app}
    - {name: vault-agent, image: 'hashicorp/vault:1.21.1', args: [agent, -config=/etc/vault/agent.hcl]}
`
    const { suggestion } = previewed(body)[0] ?? {}
    assert.deepEqual(
      suggestion?.conditional.map(({ value }) => value),
      ['file:///vault/secrets/NAME'],
    )
    assert.ok(suggestion?.edits)
    assert.equal(suggestion.conditionalEdits, undefined)
  })

  test('are there only if they are asked for, and end where it becomes too much', () => {
    assert.equal(previewed(istio, '')[0]?.suggestion?.edits, undefined)
    const long = istio.replace('# the shop', `# ${'x'.repeat(100_000)}`)
    const results = previewed(Array.from({ length: 8 }, () => long).join('---\n'))
    assert.deepEqual(
      [results[0], results[7]].map((result) => result?.suggestion?.edits !== undefined),
      [true, false],
    )
    assert.ok(results.every(({ suggestion }) => suggestion?.lines.length === 1))
  })
})

test('a pod whose app already waits is unchanged, and says by what', () => {
  const native = (every: number, more = '') => `kind: Pod
apiVersion: v1
spec:
  initContainers:
  - {name: linkerd-proxy, restartPolicy: Always, startupProbe: {httpGet: {path: /ready, port: 4191}, periodSeconds: ${every}${more}}}
  containers: [{name: app}]
`
  const [result] = previewed(native(1))
  assert.equal(result?.verdict, 'unchanged')
  assert.deepEqual(result?.reasons, ['linkerd-proxy: its startupProbe already holds the app (asked every 1 s)'])
  assert.equal(result?.suggestion?.kind, 'holds')
  const [delayed] = previewed(native(10, ', initialDelaySeconds: 30'))
  assert.deepEqual(delayed?.reasons, [
    'linkerd-proxy: its startupProbe already holds the app (asked every 10 s, first after 30 s)',
  ])
  assert.match(delayed?.suggestion?.sidecars[0]?.today ?? '', /\(asked every 10 s, first after 30 s\)$/)
  const [late] = previewed(native(1, ', initialDelaySeconds: 30'))
  assert.deepEqual(late?.suggestion?.lines.map(({ key, value, why }) => [key, value, why]).at(-1), [
    'sidecar-first.dev/startup-probe',
    'eager',
    'asked every second from its start, for the same total time; now it is asked every 1 s, first after 30 s',
  ])
  const [slow] = previewed(native(10))
  assert.deepEqual([slow?.verdict, slow?.suggestion?.kind], ['unchanged', 'faster'])
})

test('a pod that asks, is ruled or opts out gets no suggestion', () => {
  const pod = (annotations: string) =>
    `kind: Pod\napiVersion: v1\nmetadata: {annotations: {${annotations}}}\nspec: {containers: [{name: app}, {name: envoy, readinessProbe: {tcpSocket: {port: 1}}}]}\n`
  for (const annotations of ['sidecar-first.dev/sidecars: envoy', 'sidecar-first.dev/inject: "false"']) {
    assert.equal(previewed(pod(annotations))[0]?.suggestion, undefined, annotations)
  }
  assert.equal(previewed(pod(''))[0]?.suggestion?.kind, 'mend')
})

test('with the lines for what an injector adds later, nothing is missed; without its annotation it is', () => {
  const text = `kind: Deployment
apiVersion: apps/v1
spec:
  template:
    metadata: {annotations: {dapr.io/enabled: "true"}}
    spec: {containers: [{name: app}]}
`
  const [said] = previewed(added(text))
  assert.deepEqual(said?.warnings, [])
  assert.deepEqual(said?.reasons, ["daprd isn't there yet; the injector that dapr.io/enabled asks for has to add it"])
  const [missed] = previewed(added(text).replace('dapr.io/enabled: "true"', 'dapr.io/enabled: "false"'))
  assert.match(missed?.warnings.join() ?? '', /no container is called that/)
})

describe('a namespace among the manifests', () => {
  const namespace = (name: string, metadata: string) =>
    `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}, ${metadata}}\n---\n`
  const pod = (metadata: string) =>
    `apiVersion: v1\nkind: Pod\nmetadata: {${metadata}}\nspec: {containers: [{name: app, image: 'app:1'}]}\n`
  const linesOf = (text: string) =>
    previewed(text)
      .flatMap(({ suggestion }) => suggestion?.lines ?? [])
      .map(({ key, value }) => `${key.replace(/^sidecar-first.dev./, '')}: ${value}`)

  test('asks injectors for all its pods, unless a pod says otherwise', () => {
    for (const [metadata, line] of [
      ['labels: {istio-injection: enabled}', 'sidecars: istio-proxy'],
      ['labels: {istio.io/rev: stable}', 'sidecars: istio-proxy'],
      ['annotations: {linkerd.io/inject: enabled}', 'sidecars: linkerd-proxy'],
      ['labels: {kuma.io/sidecar-injection: enabled}', 'sidecars: kuma-sidecar'],
    ] as const) {
      assert.deepEqual(linesOf(namespace('shop', metadata) + pod('namespace: shop')), [line], metadata)
    }
    const mesh = namespace('shop', 'labels: {istio-injection: enabled}')
    assert.deepEqual(linesOf(mesh + pod('namespace: shop, labels: {sidecar.istio.io/inject: "false"}')), [])
    assert.deepEqual(linesOf(mesh + pod('namespace: other')), [])
    assert.deepEqual(linesOf(mesh + pod('name: a')), [])
    assert.deepEqual(linesOf(namespace('default', 'labels: {istio-injection: enabled}') + pod('name: a')), [
      'sidecars: istio-proxy',
    ])
    assert.deepEqual(linesOf(namespace('shop', 'labels: {istio-injection: disabled}') + pod('namespace: shop')), [])
    assert.deepEqual(linesOf(namespace('shop', 'labels: 5') + pod('namespace: shop')), [])
  })

  test('and what it asks for is not missed where it is listed', () => {
    const listed = pod('namespace: shop, annotations: {sidecar-first.dev/sidecars: istio-proxy}')
    const of = (text: string) => previewed(text).find(({ kind }) => kind === 'Pod')
    const asked = of(namespace('shop', 'labels: {istio-injection: enabled}') + listed)
    assert.deepEqual(asked?.warnings, [])
    assert.match(asked?.reasons.join() ?? '', /the injector that istio-injection asks for has to add it/)
    // Its preset knows that an injector adds it.
    assert.deepEqual(of(listed)?.warnings, [])
    assert.deepEqual(of(listed)?.reasons, ["istio-proxy isn't there yet; an injector has to add it"])
    assert.deepEqual(of(listed)?.awaits, ['istio-proxy'])
  })
})

describe('a pod without a known sidecar, of whose namespace nothing is known,', () => {
  const bare = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web}]\n'
  const hint =
    'it has no sidecar that a preset knows; if its namespace has one injected (istio-proxy, linkerd-proxy, kuma-sidecar, otc-container), name that in the annotation, or preview it with its Namespace'
  const reasons = (body: string) => previewed(body).at(-1)?.reasons

  test('is told what to do if an injector adds one, and both ways lead to the line', () => {
    assert.deepEqual(reasons(bare), ['no sidecar-first.dev/sidecars annotation', hint])
    const namespace =
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {istio-injection: enabled}}\n---\n'
    const last = previewed(namespace + bare).at(-1)
    assert.deepEqual(last?.reasons, ['no sidecar-first.dev/sidecars annotation'])
    assert.deepEqual(
      last?.suggestion?.lines.map(({ key, value }) => `${key}: ${value}`),
      ['sidecar-first.dev/sidecars: istio-proxy'],
    )
    const named = bare.replace('{name: web}', '{name: web, annotations: {sidecar-first.dev/sidecars: istio-proxy}}')
    for (const text of [named, namespace + named]) assert.deepEqual(previewed(text).at(-1)?.warnings, [])
  })

  test('is told nothing of that if it would get none', () => {
    for (const [from, to] of [
      ['{name: web}', '{name: web, labels: {sidecar.istio.io/inject: "false"}}'],
      ['spec:', 'spec:\n  hostNetwork: true'],
      ['{name: web}]', '{name: istio-proxy, args: [proxy, router]}]'],
    ] as const) {
      assert.deepEqual(reasons(bare.replace(from, to)), ['no sidecar-first.dev/sidecars annotation'], to)
    }
    assert.deepEqual(reasons('apiVersion: v1\nkind: Service\nmetadata: {name: web}\n'), [
      'a Service has no pod template',
    ])
  })
})
