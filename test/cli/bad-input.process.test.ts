import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, test } from 'node:test'
import { inject } from '../../src/cli/inject.ts'
import { preview } from '../../src/cli/preview.ts'
import { run as runInside, runWith } from './inside.ts'
import { run } from './process.ts'

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))
process.chdir(folder)

const laughs = [...'bcdefghi'].map((name, index) => {
  const nine = Array(9).fill(`*${'abcdefgh'[index]}`)
  return `${name}: &${name} [${nine}]\n`
})
const wrong: Record<string, readonly [content: string | Buffer, expected: string]> = {
  tabs: [
    'kind: Pod\nspec:\n\tcontainers: []\n',
    ':3:1: document 1: SF405 invalid YAML: tabs are not allowed as indentation',
  ],
  alias: [
    'kind: Pod\n---\nkind: Pod\nspec: *nowhere\n',
    ':4:7: document 2: SF407 there is no anchor "nowhere" before this alias',
  ],
  laughs: [`kind: Pod\na: &a [lol, lol]\n${laughs.join('')}`, ':1:1: document 1: SF404 its aliases expand to too much'],
  twice: ['kind: Pod\nmetadata:\n  name: a\n  name: b\n', ':4:3: document 1: SF409 the key "name" is there twice'],
  helm: [
    'kind: Pod\nmetadata:\n  name: {{ .Values.x }}\n',
    ':3:9: document 1: SF406 this is a Helm template; render it first: helm template RELEASE CHART',
  ],
  quoted: [
    'kind: Pod\nmetadata:\n  name: "{{ .Values.x }}"\n',
    ':1:1: document 1: SF406 this is a Helm template; render it first: helm template RELEASE CHART',
  ],
  kindless: ['kind: Pod\n---\nname: a\n', ':3:1: document 2: SF413 the document has no kind'],
  inside: [
    'kind: List\nitems:\n- kind: List\n  items:\n  - name: a\n',
    ':5:5: document 1: SF413 items.0.items.0 has no kind',
  ],
  latin: [Buffer.from('kind: Pod\n# caf\xe9\n', 'latin1'), ':2 is not UTF-8 text; save it as UTF-8'],
  binary: [Buffer.from([0x0a, 0xff, 0, 1]), ':2 is binary, not text'],
  wide: [
    Buffer.from('\ufeffkind: Pod\n', 'utf16le'),
    ' is UTF-16; save it as UTF-8 (PowerShell: Out-File -Encoding utf8)',
  ],
}

test('each bad input is told what is wrong with it and where, by preview and inject alike', async () => {
  for (const [name, [content, expected]] of Object.entries(wrong)) {
    const file = `${name}.yaml`
    await writeFile(join(folder, file), content)
    const [shown, injected] = await Promise.all([preview, inject].map((command) => runInside(command, file)))
    for (const [command, ended] of Object.entries({ preview: shown, inject: injected })) {
      const told = ended?.stderr.split('\n')[0]?.replace(`sidecar-first ${command}: SF006 `, '')
      assert.equal(told, file + expected)
      assert.equal(ended?.stdout, '')
      assert.equal(ended?.code, expected.includes('document') ? 1 : 2, file)
    }
  }
})

test('one bad file among good ones: preview shows the good ones, inject prints nothing', async () => {
  const input = 'kind: ConfigMap\n'
  await writeFile(join(folder, 'bad.yaml'), 'kind: Pod\na: 1\na: 2\n')
  const shown = await runWith(input, preview, '-', 'bad.yaml')
  assert.deepEqual([shown.code, shown.stderr], [1, 'bad.yaml:3:1: document 1: SF409 the key "a" is there twice\n'])
  assert.match(shown.stdout, /^ConfigMap \(no name\) \(standard input:1\): skipped\n/)
  assert.equal((await runWith(input, inject, '-', 'bad.yaml')).stdout, '')
})

test('50 MB of YAML, of broken JSON, and what never ends: told at once what can be read', async () => {
  const line = `  a: ${'b'.repeat(1000)}\n`
  const big = Readable.from(
    (function* () {
      yield 'kind: ConfigMap\ndata:\n'
      for (let at = 0; at < 50; at++) yield line.repeat(1000)
    })(),
  )
  await pipeline(big, createWriteStream(join(folder, 'big.yaml')))
  const told = await run(['inject', 'big.yaml'], { cwd: folder })
  assert.deepEqual([told.code, told.stdout], [1, ''])
  assert.equal(told.stderr, 'big.yaml:1:1: document 1: SF402 more than 8 MB of YAML; split it, or give it as JSON\n')
  const broken = await run(['preview'], { input: `{"kind": "Pod", "a": "${'b'.repeat(9_000_000)}"` })
  assert.match(broken.stderr, /^standard input:1:1: document 1: SF402 more than 8 MB of YAML/)
  const endless = await run(['inject', '/dev/zero'])
  assert.equal(endless.code, 2)
  assert.match(endless.stderr, /^sidecar-first inject: SF006 \/dev\/zero is over 100 MB; split it\n/)
})

test('CRLF, a byte order mark, anchors, a List in a List and kinds nobody knows are no obstacle', async () => {
  const text = `\uFEFFapiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: List
  items:
  - kind: Pod
    metadata: {name: web, annotations: {sidecar-first.dev/sidecars: proxy}}
    spec:
      containers:
      - name: app   # the app
        env: &env [{name: A, value: "1"}]
        copy: *env
      - {name: proxy, readinessProbe: {tcpSocket: {port: 1}}}
---
apiVersion: example.com/v1
kind: Unheard
spec:   {of:   [1,2]}
`.replaceAll('\n', '\r\n')
  const shown = await runWith(text, preview)
  assert.match(shown.stdout, /^Pod web \(standard input:7\): patched\n/)
  assert.match(
    shown.stdout,
    /\nUnheard \(no name\) \(standard input:16\): skipped\n {2}a Unheard has no pod template\n/,
  )
  const { code, stdout } = await runWith(text, inject)
  assert.equal(code, 0)
  assert(stdout.endsWith('---\r\napiVersion: example.com/v1\r\nkind: Unheard\r\nspec:   {of:   [1,2]}\r\n'))
  assert(!/[^\r]\n/.test(stdout), 'a line without its carriage return')
  assert.match(stdout, /\n {6}- name: app {3}# the app\r\n/)
})
