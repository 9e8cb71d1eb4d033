import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import { preview } from '../../../src/preview/preview.ts'
import { describe, fileDiff } from '../../../src/preview/show/text.ts'

const pod = `kind: Pod
metadata: {name: web, annotations: {sidecar-first.dev/sidecars: proxy}}
spec:
  containers:
    - name: app
    - name: proxy
`
const look = { width: 100, color: true, unicode: true, terminal: false }

test('colors are those of a diff, end with their line, and change no letter', () => {
  const previewed = preview(pod, defaultConfiguration('0.0.0'))
  assert(previewed.ok)
  const file = { name: 'pod.yaml', previewed }
  const diff = fileDiff(file, look)
  assert(diff.includes('\n\x1b[31m-    - name: app\x1b[39m\n'))
  assert(diff.includes('\n\x1b[32m+    - name: app\x1b[39m\n'))
  assert.equal(stripVTControlCharacters(diff), fileDiff(file, { ...look, color: false }))
  const text = describe([file], look)
  assert(text.startsWith('\x1b[1mPod web\x1b[22m (pod.yaml:1): \x1b[32mpatched\x1b[39m\n'))
  assert.equal(stripVTControlCharacters(text), describe([file], { ...look, color: false }))
})
