import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from './process.ts'

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: sample
  annotations:
    sidecar-first.dev/sidecars: proxy
spec:
  containers:
    - name: app   # the app
      image: app:1
    - name: proxy
      image: proxy:1
      readinessProbe:
        httpGet: {path: /ready, port: 15021}
`
const secret = '# as it is\nkind:   Secret\n'
const wrong = pod.replace('sidecars: proxy', 'sidecars: "a,,b"')

const folder = await mkdtemp(join(tmpdir(), 'sidecar-first-'))
after(() => rm(folder, { recursive: true }))
await Promise.all(
  Object.entries({
    'pod.yaml': pod,
    'secret.yaml': secret,
    'wrong.yaml': `${secret}---\n${wrong}`,
    'broken.yaml': 'kind: Pod\n---\na: [\n',
    'empty.yaml': '# nothing\n',
    'latin.yaml': Buffer.from([0x61, 0x3a, 0x20, 0xe4]),
    'shell.yaml': 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter: {delivery: shell}\n',
    'bad.yaml': 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmod: observe\ninvalid: no\n',
  }).map(([name, content]) => writeFile(join(folder, name), content)),
)
const here = (args: string, input?: string) =>
  run(args.split(' '), { cwd: folder, ...(input === undefined ? {} : { input }) })

test('preview shows the verdict, the order and a diff', async () => {
  const { code, stdout, stderr } = await here('preview -f pod.yaml secret.yaml')
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Pod sample \(pod\.yaml:1\): patched\n/)
  assert.match(stdout, /\n {2}! .*emptyDir/)
  assert.match(
    stdout,
    /\n {2}1\. proxy \(http:\/\/:15021\/ready, 1m, then fail\)\n {2}2\. app\n--- pod\.yaml\n\+\+\+ pod\.yaml\n@@ -\d/,
  )
  assert.match(stdout, /\n- {4}- name: app {3}# the app\n/)
  assert.match(stdout, /\n\+ {10}exec:\n/)
  assert.match(stdout, /\n\nSecret \(no name\) \(secret\.yaml:2\): skipped\n {2}a Secret has no pod template\n$/)
  assert(!stdout.includes('\x1b'))
})

test('preview in other formats', async () => {
  const [json, yaml, patch, diff] = await Promise.all(
    ['json', 'yaml', 'patch', 'diff'].map((format) => here(`preview --output ${format}`, pod)),
  )
  const { results } = JSON.parse(json?.stdout ?? '')
  assert.deepEqual([results.length, results[0].verdict], [1, 'patched'])
  assert.deepEqual(JSON.parse(patch?.stdout ?? ''), results[0].patch)
  assert.equal(yaml?.stdout, (await here('inject', pod)).stdout)
  assert.match(diff?.stdout ?? '', /^--- standard input\n\+\+\+ standard input\n@@ /)
})

test('inject prints manifests of several files as one stream, and changes again nothing', async () => {
  const { code, stdout, stderr } = await here('inject -f secret.yaml -f - empty.yaml', pod)
  assert.equal(code, 0)
  assert.match(stderr, /^standard input:1: Pod sample: warning: .*emptyDir.*\n$/)
  assert(stdout.startsWith(`${secret}---\napiVersion: v1\n`))
  assert.match(stdout, /\n {4}- name: app {3}# the app\n/)
  const again = await here('inject', stdout)
  assert.deepEqual([again.code, again.stdout], [0, stdout])
})

test('one refusal: nothing is printed but the reasons, with file and line', async () => {
  for (const command of ['inject', 'preview -o yaml', 'preview -o diff']) {
    const { code, stdout, stderr } = await here(`${command} pod.yaml wrong.yaml`)
    assert.equal(code, 1, command)
    if (command.endsWith('diff')) continue
    assert.equal(stdout, '', command)
    assert.match(stderr, /^wrong\.yaml:4: Pod sample is refused: .*sidecar-first\.dev\/sidecars/)
  }
  const shown = await here('preview wrong.yaml')
  assert.equal(shown.code, 1)
  assert.match(shown.stdout, /\nPod sample \(wrong\.yaml:4\): refused\n/)
})

test('manifests and configurations that can not be read are told by file, line and column', async () => {
  const broken = await here('inject pod.yaml broken.yaml')
  assert.deepEqual([broken.code, broken.stdout], [1, ''])
  assert.match(broken.stderr, /^broken\.yaml:4:1: document 2: no valid YAML: .*\n$/)
  const bad = await here('preview --config bad.yaml pod.yaml')
  assert.deepEqual([bad.code, bad.stdout], [1, ''])
  assert.match(
    bad.stderr,
    /^bad\.yaml:3:1: there is no key "mod"; did you mean mode\?\nbad\.yaml:4:10: invalid: "no" .*\n$/,
  )
  const empty = await here('preview empty.yaml')
  assert.deepEqual([empty.code, empty.stderr], [1, 'empty.yaml: there is no manifest in it\n'])
})

test('the configuration holds', async () => {
  const { stdout } = await here('inject --config shell.yaml pod.yaml')
  assert.match(stdout, /sh\n/)
  assert(!stdout.includes('emptyDir'))
})

test('a wrong call is one line and exit code 2', async () => {
  for (const [args, expected] of [
    ['inject nowhere.yaml', 'cannot read nowhere.yaml: there is no such file'],
    ['inject .', 'cannot read .: it is a directory; name its files'],
    ['inject latin.yaml', 'latin.yaml is not UTF-8 text; save it as UTF-8'],
    ['inject - -', 'standard input can be read once'],
    ['preview --config nowhere.yaml pod.yaml', 'cannot read nowhere.yaml: there is no such file'],
    ['preview -o xml pod.yaml', '--output takes text, diff, json, yaml, patch'],
    ['preview -o patch pod.yaml secret.yaml', '--output patch is for one object'],
    ['inject --filname x', "Unknown option '--filname'"],
  ] as const) {
    const { code, stdout, stderr } = await here(args)
    assert.deepEqual([code, stdout], [2, ''], args)
    assert(stderr.startsWith(`sidecar-first ${args.split(' ')[0]}: ${expected}`), stderr)
    assert.equal(stderr.split('\n').length, 3, stderr)
  }
})

test('the examples in --help work when pasted', async () => {
  const { code, stdout } = await here('preview --help')
  assert.equal(code, 0)
  const [, manifest] = /<<'EOF'\n([\s\S]*)EOF\n$/.exec(stdout) ?? []
  assert.match((await here('preview -f -', manifest ?? '')).stdout, /^Pod sample \(standard input:1\): patched\n/)
  assert.match((await here('inject --help')).stdout, /Example:\nkubectl /)
})
