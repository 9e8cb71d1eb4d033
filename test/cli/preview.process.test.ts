import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { inject } from '../../src/cli/inject.ts'
import { preview } from '../../src/cli/preview.ts'
import { formatJson } from '../../src/preview/json.ts'
import { pod as anyPod } from '../admission/arbitraries.ts'
import { runs } from '../runs.ts'
import { runWith } from './inside.ts'
import { onTerminal, paste, run } from './process.ts'

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
    'shell.yaml': 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter: {delivery: shell}\n',
    'ruled.yaml':
      'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules:\n' +
      '- name: r\n  tier: 1\n  match: {container: proxy, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}\n',
    'lockless.yaml':
      'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nwaiter: {delivery: shell}\ndefaults: {lock: "off"}\n',
    'bad.yaml': 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nmod: observe\ninvalid: no\n',
  }).map(([name, content]) => writeFile(join(folder, name), content)),
)
process.chdir(folder)
process.env.LC_ALL = 'C.UTF-8'
/** In this process: what a process of its own adds is for the tests that use `run`. */
function here(call: string, input = '') {
  const [command, ...args] = call.split(' ')
  return runWith(input, command === 'inject' ? inject : preview, ...args)
}

test('preview shows the verdict, the order and a diff', async () => {
  const { code, stdout, stderr } = await here('preview -f pod.yaml secret.yaml')
  assert.deepEqual([code, stderr], [0, 'SF680 for Kubernetes 1.36; --kubernetes-version for another\n'])
  assert.match(stdout, /^Pod sample \(pod\.yaml:1\): patched\n {2}starts proxy, before app\n {2}1\. proxy/)
  assert.match(stdout, /\n {2}· SF219 the waiter adds an emptyDir/)
  assert.match(
    stdout,
    /\n {2}1\. proxy \(http:\/\/:15021\/ready, 1m, then fail\)\n {2}2\. app\n {2}gate lock: the app starts without proxy only if it isn't ready within 5s when the app starts again\n {2}· SF219 .*\n\n/,
  )
  assert.match(stdout, /\n\n--- pod\.yaml\n\+\+\+ pod\.yaml\n@@ -\d/)
  assert.match(stdout, /\n- {4}- name: app {3}# the app\n/)
  assert.match(stdout, /\n\+ {10}exec:\n/)
  assert.match(
    stdout,
    /\n\nSecret \(no name\) \(secret\.yaml:2\): skipped\n {2}a Secret has no pod template\n\n1 patched, 1 skipped\n$/,
  )
  assert(!stdout.includes('\x1b'))
})

test('preview draws the start without and with us, in ASCII where the locale wants it', async () => {
  const { stdout } = await here('preview pod.yaml')
  const [, chart] = /\n\n( {2}without sidecar-first\n.*?)\n\n---/s.exec(stdout) ?? []
  assert.equal(
    chart,
    `\
  without sidecar-first
  app                   ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓███████████████████████████████  too early for proxy
  proxy                     ░░░░░░░░░░░░░░░░░░███████████████████████████████
  with sidecar-first
  sidecar-first-waiter  ▬▬▬▬▬▬▬▬▬
  proxy                              ▒▒▒▒▒░░░░░░░░░░░░░██████████████████████  the lock waits for it
  app                                                      ░░░░░░░░░█████████  after proxy
  ▬ runs to its end   ░ not ready yet   ▒ its hook waits, nothing else starts   █ ready   ▓ runs too early
  The order is what counts: steps, not measured time.

  when the pod ends
  proxy  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
  app    ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓  without proxy
  ▒ ends: its preStop or SIGTERM   ▓ ends without its sidecar
  SF682 when the pod ends, proxy and app get SIGTERM together: what the app still sends may fail; with end: last, sidecars end last`,
  )
  const ascii = await run(['preview', 'pod.yaml'], { cwd: folder, env: { LC_ALL: 'C' } })
  assert.match(ascii.stdout, /\n {2}app +!+=+ {2}too early for proxy\n/)
  assert.match(ascii.stdout, /^[\n\x20-\x7e]*$/)
  const again = await here('preview', (await here('inject --kubernetes-version 1.36 pod.yaml')).stdout)
  assert.match(again.stdout, /: unchanged\n/)
  assert(!again.stdout.includes('without sidecar-first'), 'two equal charts')
})

test('a price has another sign than a warning, and comes after all of them', async () => {
  const text = pod
    .replace('sidecars: proxy', 'sidecars: proxy\n    sidecar-first.dev/sidecar: proxy')
    .replace('spec:\n', 'spec:\n  restartPolicy: Never\n')
  const signs = (stdout: string) =>
    [...stdout.matchAll(/^ {2}([!·-]) SF\d+ (.*)/gm)].map(([, sign, told]) => [sign, told])
  const shown = await here('preview --kubernetes-version 1.34 -', text)
  const { results } = JSON.parse((await here('preview --kubernetes-version 1.34 -o json -', text)).stdout)
  const [{ warnings, costs }] = results
  assert.match(costs.join(), /^the waiter adds an emptyDir/)
  // the API server would show it before what has no effect
  assert.deepEqual(warnings.indexOf(costs[0]), 1, warnings)
  assert.deepEqual(signs(shown.stdout), [
    ['!', warnings[0]],
    ['!', warnings[2]],
    ['·', warnings[1]],
  ])
  const ascii = await run(['preview', '--kubernetes-version', '1.34', '-'], { input: text, env: { LC_ALL: 'C' } })
  assert.deepEqual(signs(ascii.stdout)[2], ['-', costs[0]])
})

/** An escape sequence, a C1 control, one that reorders what is shown, and a line of its own. */
const hostile = '\x1b]0;owned\x07\x1b[31m\u009b2J\u202e\nPod b: patched'
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const obeyed = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]/
const own = (name: string) => `    - name: "${name}"\n      image: i\n`
const hostileFiles = {
  'kind.json': JSON.stringify({ apiVersion: 'v1', kind: `Widget${hostile}`, metadata: { name: `a${hostile}` } }),
  'names.json': JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `a${hostile}`, annotations: { 'sidecar-first.dev/sidecars': 'proxy', [hostile]: hostile } },
    spec: { containers: [{ name: `app${hostile}` }, { name: 'proxy', readinessProbe: { httpGet: { port: 1 } } }] },
  }),
  // Raw ones: a parser of YAML takes them as they are.
  'raw.yaml': pod.replace('    - name: app ', `${own('x\x1b[31m\u009b2J\u202e')}    - name: app `),
}

test('what a manifest names, a terminal never obeys: neither its kind nor its containers, and it cannot begin a line', async () => {
  for (const [name, content] of Object.entries(hostileFiles)) await writeFile(join(folder, name), content)
  for (const name of Object.keys(hostileFiles)) {
    const { stdout, stderr } = await here(`preview ${name}`)
    assert.doesNotMatch(stdout + stderr, obeyed, name)
    assert.doesNotMatch(stdout, /^Pod b: patched/m, name)
  }
})

test('a file named by somebody else does not write to the terminal either', async () => {
  const name = `f\x1b[31m.yaml`
  await writeFile(join(folder, name), 'a: [')
  const { stdout, stderr } = await run(['preview', name], { cwd: folder })
  assert.doesNotMatch(stdout + stderr, obeyed)
})

test('yaml, diff and inject are exact in a pipe, and harmless on a terminal', async () => {
  await writeFile(join(folder, 'raw.yaml'), hostileFiles['raw.yaml'])
  for (const args of ['preview -o yaml raw.yaml', 'preview -o diff raw.yaml', 'inject raw.yaml']) {
    const piped = await here(args)
    assert(piped.stdout.includes('\x1b[31m\u009b2J\u202e'), args)
    const shown = await onTerminal(args, folder)
    assert.match(shown, /name: "x\?\[31m\?2J\?"/, args)
    assert.doesNotMatch(stripVTControlCharacters(shown).replaceAll('\r\n', '\n'), obeyed, args)
  }
})

test('preview in other formats', async () => {
  const [json, yaml, patch, diff] = await Promise.all(
    ['json', 'yaml', 'patch', 'diff'].map((format) => here(`preview --output ${format}`, pod)),
  )
  const { results } = JSON.parse(json?.stdout ?? '')
  assert.deepEqual([results.length, results[0].verdict], [1, 'patched'])
  assert.deepEqual(JSON.parse(patch?.stdout ?? ''), results[0].patch)
  assert.equal(yaml?.stdout, (await here('inject --kubernetes-version 1.36', pod)).stdout)
  assert.match(diff?.stdout ?? '', /^--- standard input\n\+\+\+ standard input\n@@ /)
})

test('inject prints manifests of several files as one stream, and changes again nothing', async () => {
  const { code, stdout, stderr } = await here('inject -f secret.yaml -f - empty.yaml', pod)
  assert.equal(code, 0)
  assert.match(stderr, /^standard input:6: Pod sample: costs: SF219 .*emptyDir.*\nSF681 not locked: .*\n$/)
  assert(stdout.startsWith(`${secret}---\napiVersion: v1\n`))
  assert.match(stdout, /\n {4}- name: app {3}# the app\n/)
  const again = await here('inject', stdout)
  assert.deepEqual([again.code, again.stdout], [0, stdout])
})

test('one refusal: nothing is printed but the reasons, with file and line', async () => {
  for (const command of ['inject', 'preview -o yaml', 'preview -o diff']) {
    const { code, stdout, stderr } = await here(`${command} pod.yaml wrong.yaml`)
    assert.equal(code, 1, command)
    // A diff shows the others all the same.
    if (!command.endsWith('diff')) assert.equal(stdout, '', command)
    assert.match(stderr, /^wrong\.yaml:9: Pod sample is refused: SF\d+ .*sidecar-first\.dev\/sidecars/)
  }
  const shown = await here('preview wrong.yaml')
  assert.equal(shown.code, 1)
  assert.match(shown.stdout, /\nPod sample \(wrong\.yaml:4\): refused\n/)
})

test('manifests and configurations that can not be read are told by file, line and column', async () => {
  const broken = await here('inject pod.yaml broken.yaml')
  assert.deepEqual([broken.code, broken.stdout], [1, ''])
  assert.match(broken.stderr, /^broken\.yaml:4:1: document 2: SF405 invalid YAML: .*\n$/)
  const bad = await here('preview --config bad.yaml pod.yaml')
  assert.deepEqual([bad.code, bad.stdout], [1, ''])
  assert.match(
    bad.stderr,
    /^bad\.yaml:3:1: SF319 unknown key "mod"; did you mean mode\?\nbad\.yaml:4:10: SF105 invalid: "no" .*\n$/,
  )
  for (const command of ['preview', 'inject']) {
    const empty = await here(`${command} empty.yaml`)
    const shown = command === 'inject' ? '# nothing\n' : ''
    assert.deepEqual([empty.code, empty.stdout, empty.stderr], [0, shown, 'SF416 there is no manifest in empty.yaml\n'])
    // A chart that renders nothing doesn't break a pipeline.
    const piped = await here(`${command} -`, '')
    assert.deepEqual(
      [piped.code, piped.stdout, piped.stderr],
      [0, '', 'SF416 there is no manifest in standard input\n'],
    )
  }
  assert.deepEqual(JSON.parse((await here('preview -o json -', '')).stdout).results, [])
  assert.equal((await here('preview -o patch -', '')).stdout, '[]\n')
})

const istio = `kind: Deployment # web
apiVersion: apps/v1
metadata:
  name: web
spec:
  template:
    spec:
      containers:
        - name: web # the app
        - name: istio-proxy
          readinessProbe: {httpGet: {path: /healthz/ready, port: 15021}}
`

test('a pod that says nothing is told what its sidecar does today, and the line that mends it', async () => {
  const { stdout, code } = await here('preview -', istio)
  assert.equal(code, 0)
  assert.match(
    stdout,
    / {2}today: istio-proxy \(Istio\) starts behind web: .*\n {2}add to spec\.template\.metadata\.annotations:\n {4}sidecar-first\.dev\/sidecars: istio-proxy {2}# /,
  )
  const many = Array.from({ length: 10 }, () => secret).join('---\n')
  assert.match((await here('preview -', `${many}---\n${istio}`)).stdout, /today: istio-proxy/, 'not hidden by others')
  const hostile = istio.replaceAll('istio-proxy', '"envoy\\e[31m"')
  assert.ok(!(await here('preview -', hostile)).stdout.includes('\u001b'))
})

test('inject --suggest writes the lines, keeps comments, and leaves alone what already waits', async () => {
  const waits = istio
    .replace('containers:\n        - name: web # the app', 'initContainers:')
    .replace('readinessProbe', 'restartPolicy: Always\n          startupProbe')
    .concat('      containers:\n        - name: web # the app\n')
  const { code, stdout, stderr } = await here('inject --suggest -', `${istio}---\n${waits}---\n${pod}`)
  const line = '    metadata:\n      annotations:\n        sidecar-first.dev/sidecars: istio-proxy\n'
  // A pod that asks isn't patched either.
  assert.equal(stdout, `${istio}${line}---\n${waits}---\n${pod}`)
  assert.equal(code, 0)
  assert.match(stderr, /^standard input:1: Deployment web: added sidecar-first\.dev\/sidecars: istio-proxy \(.*\)\n/)
  assert.match(stderr, /Deployment web: unchanged: istio-proxy: its startupProbe already holds the app/)
  assert.match((await here('inject --suggest -', pod)).stderr, /^SF421 nothing to suggest/)
})

test('what if: flags stand for annotations and rules, and the patch has what is tried', async () => {
  const results = async (flags: string, text = istio) =>
    JSON.parse((await here(`preview -o json ${flags} -`, text)).stdout).results[0]
  const said = await results('--sidecars istio-proxy --gate native')
  assert.equal(said.verdict, 'patched')
  assert.equal(said.patched.spec.template.metadata.annotations['sidecar-first.dev/gate'], 'native')
  assert.equal(said.patched.spec.template.spec.initContainers.at(-1).name, 'istio-proxy')
  assert.equal(said.purposes.length, said.patch.length)
  assert.equal((await results('--preset istio')).tiers[0][0].rule, 'what if: istio')
  assert.equal((await results('--preset linkerd')).verdict, 'skipped')
  const other = pod.replace('sidecars: proxy', 'sidecars: proxy\n    sidecar-first.dev/gate: hook')
  assert.equal((await results('--gate native --kubernetes-version 1.34', other)).gates[0].form, 'native')
  assert.ok(!JSON.stringify((await results('--delivery shell', pod)).patched).includes('sidecar-first-waiter'))
  assert.match(
    (await here('preview --sidecars istoi-proxy -', istio)).stderr,
    /^SF420 --sidecars: no pod here has istoi-proxy$/m,
  )
  assert.equal((await here('preview --sidecars a,,b -', istio)).code, 1)
  for (const wrong of ['--gate nativ', '--delivery x', '--preset istoi']) {
    assert.equal((await here(`preview ${wrong} -`, istio)).code, 2, wrong)
  }
})

test('a name that YAML takes for a truth value is told, as is JSON that breaks off', async () => {
  for (const name of ['n', 'on', '1e3', '{a: b}']) {
    const { code, stderr } = await here('preview -', pod.replace('name: sample', `name: ${name}`))
    assert.equal(code, 1)
    assert.match(stderr, /^standard input:4:9: document 1: SF415 metadata\.name is .*, not text/)
  }
  assert.equal((await here('preview -', pod.replace('name: sample', 'name: "n"'))).code, 0)
  assert.match((await here('preview -', '{"kind": "Pod",')).stderr, /SF405 invalid JSON/)
  assert.match((await here('preview -', 'kind: Ingress\nmetadata: {name: i}\n')).stdout, /an Ingress has no pod/)
})

test('--ignore leaves out warnings and notes, never refusals, and a code that does not exist is a wrong call', async () => {
  const bare = pod.replace(/ {6}readinessProbe:[\s\S]*$/, '')
  assert.equal((await here('preview --fail-on warning -', bare)).code, 1)
  const silent = await here('preview --fail-on warning --ignore SF204 --ignore sf219,SF216,SF682 -', bare)
  assert.equal(silent.code, 0)
  assert.doesNotMatch(silent.stdout, /SF\d/)
  for (const [codes, why] of [
    ['SF999', /no message has the code "SF999"/],
    ['SF204,SF105', /SF105 is a refusal, which can't be ignored/],
  ] as const) {
    const { code, stderr } = await here(`inject --ignore ${codes} -`, bare)
    assert.equal(code, 2)
    assert.match(stderr, why)
  }
})

test('the configuration holds', async () => {
  const { stdout } = await here('inject --config shell.yaml pod.yaml')
  assert.match(stdout, /sh\n/)
  assert(!stdout.includes('emptyDir'))
})

test('a wrong call is one line and exit code 2', async () => {
  for (const [args, expected] of [
    ['inject nowhere.yaml', 'SF006 cannot read nowhere.yaml: no such file'],
    ['inject - -', 'SF005 standard input can be read once'],
    ['preview --config nowhere.yaml pod.yaml', 'SF006 cannot read nowhere.yaml: no such file'],
    ['preview -o xml pod.yaml', 'SF003 --output takes text, diff, json, yaml, patch, github or sarif, not "xml"'],
    ['preview --fail-on all pod.yaml', 'SF003 --fail-on takes refused or warning, not "all"'],
    ['preview -o patch pod.yaml secret.yaml', 'SF004 --output patch is for one object'],
    ['inject --filname x', "SF002 Unknown option '--filname'; did you mean --filename?\n"],
  ] as const) {
    const { code, stdout, stderr } = await here(args)
    assert.deepEqual([code, stdout], [2, ''], args)
    assert(stderr.startsWith(`sidecar-first ${args.split(' ')[0]}: ${expected}`), stderr)
    assert.equal(stderr.split('\n').length, 3, stderr)
  }
})

test('the examples in --help work when pasted', async () => {
  const example = async (command: string) => {
    const { stdout: help } = await run([command, '--help'])
    return paste(/\nExample[^\n]*\n(.*)$/s.exec(help)?.[1] ?? '', folder)
  }
  const [shown, injected] = await Promise.all(['preview', 'inject'].map(example))
  assert.match(shown?.stdout ?? '', /^Pod sample \(standard input:1\): patched\n/)
  assert.match(injected?.stdout ?? '', /\n {6}lifecycle:\n/)
})

test('--fail-on warning: a warning that somebody should act on ends with 1, mere costs do not', async () => {
  const unwaited = pod.replace(/ {6}readinessProbe:.*/s, '')
  for (const [input, flags, code] of [
    [pod, '--fail-on warning', 0],
    [unwaited, '', 0],
    [unwaited, '--fail-on refused', 0],
    [unwaited, '--fail-on warning', 1],
    [unwaited, '--fail-on warning -o json', 1],
    [wrong, '--fail-on warning', 1],
    [secret, '--fail-on warning', 0],
    [pod.replace(/ {2}annotations:\n.*\n/, '  namespace: prod\n'), '--fail-on warning --config ruled.yaml', 0],
  ] as const) {
    assert.equal((await here(`preview ${flags}`.trim(), input)).code, code, `${flags}\n${input}`)
  }
})

test('a release of many documents: the skipped on one line, the others to be found, comments kept', async () => {
  const text = release(90)
  const [shown, injected] = await Promise.all([here('preview -', text), here('inject -', text)])
  assert.deepEqual([shown.code, injected.code], [0, 0])
  assert.match(
    shown.stdout,
    /\n\nskipped: a Service has no pod template \(30\), a ConfigMap has no pod template \(30\)\n\n/,
  )
  assert.match(shown.stdout, /\n30 patched, 60 skipped\n$/)
  assert.equal(shown.stdout.match(/not ready yet/g)?.length, 1, 'the marks are explained once')
  assert.equal(shown.stdout.match(/^Deployment .*: patched$/gm)?.length, 30)
  const given = new Set(text.split('\n'))
  const kept = new Set(injected.stdout.split('\n'))
  for (const line of given) assert(kept.has(line), line)
  assert.equal(injected.stdout.match(/ # first, or nothing works$/gm)?.length, 30)
  const again = await here('inject -', injected.stdout)
  assert.deepEqual([again.code, again.stdout === injected.stdout], [0, true])
})

/** What `helm template` prints: every third document is a Deployment that asks for its sidecar first. */
function release(count: number): string {
  const documents = Array.from({ length: count }, (_, index) => {
    const [kind, body] = [
      ['Deployment', deployment],
      ['Service', 'spec:\n  ports:\n    - {port: 80, targetPort: http}\n'],
      ['ConfigMap', 'data:\n  app.conf: |\n    # no comment\n    a = "b"\n'],
    ][index % 3] ?? ['', '']
    const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1'
    return `---
# Source: shop/templates/${kind}-${index}.yaml
apiVersion: ${apiVersion}
kind: ${kind}
metadata:
  name: shop-${index}
  labels:
    helm.sh/chart: "shop-1.${index}"
${body}`
  })
  return documents.join('')
}

const deployment = `spec:
  replicas: 2
  template:
    metadata:
      annotations:
        sidecar-first.dev/sidecars: envoy # first, or nothing works
    spec:
      containers:
        # the app
        - name: app
          image: "registry.example/shop:1"   # pinned
          args:
            - |
              a block
                with: { indent }

        - name: envoy
          image: envoy:1
          readinessProbe: {httpGet: {path: /ready, port: 15021}}
      volumes:
        - name: config
          configMap: {name: shop}
`

test('a container that is misspelt has the pod refused, in every form of output', async () => {
  await writeFile(join(folder, 'misspelt.yaml'), pod.replace('sidecars: proxy', 'sidecars: proxyy'))
  const { code, stdout } = await here('preview misspelt.yaml')
  assert.equal(code, 1)
  assert.match(stdout, /^Pod sample \(misspelt.yaml:1\): refused\n {2}SF173 .*did you mean proxy\?/)
  const annotated = await here('preview -o github misspelt.yaml')
  assert.match(annotated.stdout, /^::error file=misspelt.yaml,line=6,col=5,title=SF173 Pod sample::.*\n1 refused\n$/)
  assert.equal((await here('inject misspelt.yaml')).code, 1)
  assert.equal((await here('inject --expect proxyy misspelt.yaml')).code, 0)
})

test('a container that is not there is a condition: refused unless an injector adds it', async () => {
  await writeFile(join(folder, 'absent.yaml'), pod.replace('sidecars: proxy', 'sidecars: proxy, vaultt'))
  const { code, stdout } = await here('preview absent.yaml')
  assert.equal(code, 0)
  assert.match(stdout, /^Pod sample \(absent.yaml:1\): refused unless an injector adds vaultt\n/)
  assert.match(stdout, /! SF259 /)
  const json = JSON.parse((await here('preview -o json absent.yaml')).stdout)
  assert.deepEqual([json.results[0].verdict, json.results[0].awaits], ['refused-unless-injected', ['vaultt']])
  assert.match(
    (await here('preview -o github absent.yaml')).stdout,
    /::warning .*SF259.*\n1 refused unless injected\n$/s,
  )
  assert.equal((await here('preview --fail-on warning absent.yaml')).code, 1)
  const expected = await here('preview --fail-on warning --expect vaultt absent.yaml')
  assert.equal(expected.code, 0)
  assert.match(expected.stdout, /: patched\n.*\n {2}vaultt isn't there yet; an injector has to add it/)
  assert.equal((await here('preview --expect Vault absent.yaml')).code, 2)
})

test('preview --kubernetes-version shows the lock that such nodes have, and what opens the gate without it', async () => {
  const locked = await here('preview --kubernetes-version 1.36 pod.yaml')
  assert.equal(locked.stderr, '')
  assert.doesNotMatch(locked.stdout, /it crashes/)
  assert.match(
    locked.stdout,
    /gate lock: the app starts without proxy only if it isn't ready within 5s when the app starts again/,
  )
  const unlocked = await here('preview --kubernetes-version 1.34 pod.yaml')
  assert.match(unlocked.stdout, /gate hook: the app starts without proxy if it crashes/)
  assert.equal((await here('preview --kubernetes-version latest pod.yaml')).code, 2)
  assert.equal((await here('inject --kubernetes-version latest pod.yaml')).code, 2)
  for (const version of ['1.20', '1.036', '0.36'])
    assert.equal((await here(`inject --kubernetes-version ${version} pod.yaml`)).code, 2, version)
})

test('without a version, preview assumes the newest Kubernetes, and inject none: both say so, unless a configuration has one', async () => {
  await writeFile(join(folder, 'old.yaml'), `${await readFile(join(folder, 'shell.yaml'))}kubernetesVersion: "1.34"\n`)
  for (const [call, said, lock] of [
    ['preview -o diff pod.yaml', 'SF680', true],
    ['preview -o yaml pod.yaml', 'SF680', true],
    ['preview --ignore SF680 -o yaml pod.yaml', '', true],
    ['preview --config old.yaml -o yaml pod.yaml', '', false],
    ['preview --config shell.yaml --kubernetes-version 1.35 -o yaml pod.yaml', '', true],
    ['preview secret.yaml', '', false],
    ['inject pod.yaml', 'SF681', false],
    ['inject --ignore SF681 pod.yaml', '', false],
    ['inject --kubernetes-version 1.36 pod.yaml', '', true],
    ['inject --config old.yaml pod.yaml', '', false],
    ['inject secret.yaml', '', false],
  ] as const) {
    const { code, stdout, stderr } = await here(call)
    assert.equal(code, 0, call)
    assert.deepEqual([/SF68\d/.exec(stderr)?.[0] ?? '', stdout.includes('fileKeyRef')], [said, lock], call)
  }
  const { kubernetes } = JSON.parse((await here('preview -o json pod.yaml')).stdout)
  assert.deepEqual(kubernetes, { version: '1.36', assumed: true })
})

test('inject names the newest Kubernetes only where that locks an app which isn’t locked without', async () => {
  const settings = fc.record({
    config: fc.constantFrom('', ' --config shell.yaml', ' --config lockless.yaml'),
    kind: fc.constantFrom('Pod', 'Job'),
    runtimeClassName: fc.constantFrom(undefined, undefined, 'gvisor'),
    others: fc.constantFrom('', secret, pod),
  })
  const seen = { said: 0, unsaid: 0 }
  await fc.assert(
    fc.asyncProperty(anyPod, settings, async (one, { config, kind, runtimeClassName, others }) => {
      const spec = { ...one.spec, ...(runtimeClassName && { runtimeClassName }) }
      const template = { metadata: one.metadata, spec }
      const object = kind === 'Pod' ? { ...one, spec } : { apiVersion: 'batch/v1', kind, spec: { template } }
      const text = `${formatJson(object)}\n${others && `---\n${others}`}`
      const plain = await here(`inject${config} -`, text)
      if (plain.code !== 0) return
      const newest = await here(`inject${config} --kubernetes-version 1.36 -`, text)
      // Of several objects, it refuses another one.
      if (newest.code !== 0 && others !== '') return
      const locked = ({ stdout }: typeof plain) => stdout.split('\n---\n').map((each) => each.includes('fileKeyRef'))
      const isLocked = newest.code === 0 && locked(newest).some((each, nth) => each && !locked(plain)[nth])
      seen[isLocked ? 'said' : 'unsaid'] += 1
      assert.equal(/^SF681 /m.test(plain.stderr), isLocked, text)
      assert.doesNotMatch(newest.stderr, /^SF681 /m)
    }),
    runs(200),
  )
  assert.ok(seen.said > 0 && seen.unsaid > 0, JSON.stringify(seen))
})
