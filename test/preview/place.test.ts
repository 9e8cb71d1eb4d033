import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { messagesOf } from '../../src/preview/message.ts'
import { preview } from '../../src/preview/preview.ts'
import { configuration } from '../admission/pods.ts'

const text = `# who reads this
kind: Secret
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata:
      annotations:
        # four mistakes
        check.sidecar-first.dev/proxy: x
        sidecar-first.dev/gate: z
        sidecar-first.dev/sidecars: proxy
        sidecar-first.dev/timeout: never
        timeout.sidecar-first.dev/proxy: z
    spec:
      containers:
        - name: app
        - name: proxy
---
kind: Pod
metadata:
  annotations: {sidecar-first.dev/sidecars: proxy}
spec:
  containers:
    - {name: app}
    - name: proxy   # no probe
`

const spots = (text: string) => {
  const previewed = preview(text, configuration)
  assert.ok(previewed.ok)
  return previewed.previews.flatMap((each) =>
    messagesOf(each).map(({ path, line, column, severity }) => ({ path, at: `${line}:${column}`, severity })),
  )
}

describe('where a message belongs', () => {
  test('is the annotation or the container, in a file with comments and several documents, LF or CRLF', () => {
    const annotations = 'spec.template.metadata.annotations'
    for (const each of [text, text.replaceAll('\n', '\r\n')]) {
      assert.deepEqual(spots(each), [
        { path: `${annotations}[check.sidecar-first.dev/proxy]`, at: '12:9', severity: 'refusal' },
        { path: `${annotations}[sidecar-first.dev/gate]`, at: '13:9', severity: 'refusal' },
        { path: `${annotations}[sidecar-first.dev/timeout]`, at: '15:9', severity: 'refusal' },
        { path: `${annotations}[timeout.sidecar-first.dev/proxy]`, at: '16:9', severity: 'refusal' },
        { path: 'spec.containers[1].name', at: '28:7', severity: 'warning' },
      ])
    }
  })

  test('is found in JSON, too', () => {
    const [, , pod = ''] = text.split('---\n')
    const json = JSON.stringify(parse(pod), null, 2)
    const line = json.split('\n').findIndex((each) => each.includes('"proxy"\n') || each.trim() === '"name": "proxy"')
    assert.deepEqual(spots(json), [{ path: 'spec.containers[1].name', at: `${line + 1}:9`, severity: 'warning' }])
  })

  test('is found in a JSON list of any length, behind a byte order mark, with CRLF, and whatever its texts hold', () => {
    const pod = (name: string) => ({
      metadata: { name, annotations: { '}]"\\': '{["', 'sidecar-first.dev/sidecars': 'proxy', '1': '[' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'app', odd: ['}', '{', -1.5e3, null] }, { name: 'proxy' }],
      },
    })
    const items = Array.from({ length: 400 }, (_, index) => pod(`p${index}`))
    const json = `\uFEFF${JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items }, null, 2)}`.replaceAll(
      '\n',
      '\r\n',
    )
    assert.ok(json.length > 200_000)
    const lines = json.split('\n')
    const proxies = lines.flatMap((line, index) => (line.includes('"name": "proxy"') ? [`${index + 1}:13`] : []))
    assert.deepEqual(
      spots(json).map(({ at }) => at),
      proxies,
    )
    const previewed = preview(json, configuration)
    assert.ok(previewed.ok)
    const { name, line } = previewed.previews.at(-1)?.object ?? assert.fail()
    assert.equal(
      lines.slice(line - 1).findIndex((each) => each.includes(`"name": "${name}"`)),
      2,
    )
    const oneLine = JSON.stringify({ kind: 'PodList', items })
    assert.equal(spots(oneLine).at(-1)?.at, `1:${oneLine.lastIndexOf('"name":"proxy"') + 1}`)
  })

  test('is an outer one in JSON that is nested to make looking for it expensive', () => {
    const inner = { kind: 'Pod', metadata: { annotations: { 'sidecar-first.dev/sidecars': 'a' } }, spec: 1 }
    const nested = (times: number) =>
      `${'{"kind":"List","items":['.repeat(times)}${JSON.stringify(inner)}${']}'.repeat(times)}`
    const found = (times: number) => spots(nested(times)).map(({ at }) => Number(at.split(':')[1]))
    assert.deepEqual(found(3), [nested(3).indexOf('"spec"') + 1])
    const [deep = 0] = found(100)
    assert.ok(deep > 100 && deep < nested(100).indexOf('"spec"'))
  })

  test('is where the text of it stands: behind an anchor, a merge or an alias for a key', () => {
    const said = (annotations: string, proxy = '{name: proxy}') =>
      spots(`kind: Pod
x:
- &a
  sidecar-first.dev/sidecars: proxy
- &b {<<: *a, sidecar-first.dev/gate: z}
- &k sidecar-first.dev/gate
- &c {name: proxy}
metadata:
  annotations:
${annotations}
spec:
  containers: [{name: app}, ${proxy}]
`).map(({ path, at }) => `${at} ${path.replace('metadata.annotations', '')}`)
    const [gate, proxy] = ['[sidecar-first.dev/gate]', 'spec.containers[1].name']
    assert.deepEqual(said('    <<: *b'), [`5:15 ${gate}`, `12:30 ${proxy}`])
    assert.deepEqual(said('    x: y\n    <<: [*a, *b]'), [`5:15 ${gate}`, `13:30 ${proxy}`])
    assert.deepEqual(said('    <<: {<<: *b}\n    sidecar-first.dev/gate: q'), [`11:5 ${gate}`, `13:30 ${proxy}`])
    assert.deepEqual(said('    <<: *a\n    *k : q'), [`11:5 ${gate}`, `13:30 ${proxy}`])
    assert.deepEqual(said('    <<: *a', '*c'), [`7:7 ${proxy}`])
    assert.deepEqual(said('    <<: *a', '{image: i, <<: *c}'), [`7:7 ${proxy}`])
  })

  test('is the object where nothing else is known', () => {
    const [only] = spots('# first\nkind: Pod\nmetadata: {annotations: {sidecar-first.dev/sidecars: a}}\nspec: 1\n')
    assert.deepEqual(only, { path: 'spec', at: '4:1', severity: 'refusal' })
  })
})
