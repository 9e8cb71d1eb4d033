import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionsAt } from '../../src/page/completions-at.js'
import { vocabulary } from '../../src/preview/vocabulary.ts'

const pod = (line: string) => `kind: Service
metadata: {name: other}
---
kind: Pod
metadata:
  annotations:
${line}
spec:
  initContainers:
  - name: setup
    volumeMounts:
    - name: data
  containers:
  - image: app
    name: app
    ports:
    - name: http
  - {name: envoy, image: envoy}
  volumes:
  - name: data
---
kind: Pod
spec:
  containers:
  - name: elsewhere
`

/** `|` is the cursor. */
function offered(line: string, asked = false): string[] | undefined {
  const text = pod(line)
  const offset = text.indexOf('|')
  return completionsAt(text.replace('|', ''), offset, vocabulary, asked)?.candidates.map(({ text }) => text)
}

test('keys, below annotations only', () => {
  assert.deepEqual(offered('    gat|'), ['sidecar-first.dev/gate: '])
  assert.deepEqual(offered('    check|'), ['check.sidecar-first.dev/'])
  assert(offered('    |', true)?.includes('sidecar-first.dev/sidecars: '))
  assert.equal(offered('    |'), undefined)
  assert.equal(offered('  annotations2:\n    gat|'), undefined)
  assert.equal(offered('  ga|'), undefined)
})

test('a key that is there already is not offered again', () => {
  assert.deepEqual(offered('    sidecar-first.dev/gate: hook\n    gat|'), [])
})

test("values, quoted where YAML would take them for something else; the document's own containers", () => {
  assert.deepEqual(offered('    sidecar-first.dev/gate: |', true), ['hook', 'native', 'auto'])
  assert.deepEqual(offered('    sidecar-first.dev/gate: n|'), ['native'])
  assert.deepEqual(offered('    sidecar-first.dev/lock: o|'), ['"on"', '"off"', 'auto'])
  assert.deepEqual(offered('    check.sidecar-first.dev/envoy: ht|'), ['http://:PORT/PATH', 'https://:PORT/PATH'])
  assert.deepEqual(offered('    sidecar-first.dev/sidecars: |', true), ['setup', 'app', 'envoy'])
  assert.deepEqual(offered('    sidecar-first.dev/sidecars: setup, e|'), ['envoy', 'setup'].slice(0, 1))
  assert.deepEqual(offered('    timeout.sidecar-first.dev/e|'), ['timeout.sidecar-first.dev/envoy: '])
  assert.equal(offered('    other.example/gate: n|'), undefined)
})

test('what is written whole is not offered', () => {
  assert.deepEqual(offered('    sidecar-first.dev/gate: native|'), [])
})

test('a document of megabytes has no names, and takes no time', () => {
  const huge = `${pod('    sidecar-first.dev/sidecars: |')}${'# x\n'.repeat(1)}`.replace(
    'volumes:',
    `volumes:\n${'  - name: v\n'.repeat(100_000)}`,
  )
  const offset = huge.indexOf('|')
  assert.deepEqual(completionsAt(huge.replace('|', ''), offset, vocabulary, true)?.candidates, [])
})
