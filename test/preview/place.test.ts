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
