import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { faultText } from '../../src/configuration/faults.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { withSettings } from '../../src/preview/settings.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'

function problems(text: string): string[] {
  const read = readConfiguration(text, '1.2.3')
  assert(!read.ok, 'it was read')
  return read.problems.map(({ line, column, fault }) => `${line}:${column} ${faultText(fault)}`)
}

test('a file that says nothing gives the standard', () => {
  for (const rest of ['', 'defaults:\nwaiter: {}\n']) {
    assert.deepEqual(readConfiguration(head + rest, '1.2.3'), {
      ok: true,
      configuration: defaultConfiguration('1.2.3'),
      notices: [],
    })
  }
})

test('everything it may say', () => {
  const text = `# ours
${head}mode: observe
invalid: warn
kubernetesVersion: 1.30
waiter: {image: "registry:5000/waiter@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a", imagePullPolicy: Always, delivery: image-volume, mirrors: ["mirror/*"]}
defaults:
  check: tcp://:80
  timeout: 1m30s
  onTimeout: continue
  gate: auto
  nativePosition: first
  lock: off
  lockRestarts: always
  end: last
  endAppear: 2s
  existingHook: keep
  startupProbe: eager
annotations: {checks: [probe, http]}
lock: {lease: on, runtimeClasses: [gvisor, kata.example]}
`
  const standard = defaultConfiguration('1.2.3')
  assert.deepEqual(readConfiguration(text, '1.2.3'), {
    ok: true,
    configuration: {
      ...standard,
      mode: 'observe',
      invalid: 'warn',
      kubernetesVersion: { major: 1, minor: 30 },
      waiter: {
        image: 'registry:5000/waiter@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a',
        imagePullPolicy: 'Always',
        delivery: 'image-volume',
        mirrors: ['mirror/*'],
      },
      defaults: {
        check: { kind: 'tcp', host: '', port: 80 },
        timeout: 90_000,
        onTimeout: 'continue',
        gate: 'auto',
        nativePosition: 'first',
        lock: 'off',
        lockRestarts: 'always',
        end: 'last',
        endAppear: 2000,
        existingHook: 'keep',
        startupProbe: 'eager',
      },
      lease: 'on',
      runtimeClasses: new Set(['gvisor', 'kata.example']),
      annotations: { checks: new Set(['probe', 'http']) },
    },
    notices: [],
  })
  for (const version of ['"1.36"', 'v1.36.3', '1.36+', 'v1.36.3-gke.1']) {
    const read = readConfiguration(`${head}kubernetesVersion: ${version}\n`, '1.2.3')
    assert.deepEqual(read.ok && read.configuration.kubernetesVersion, { major: 1, minor: 36 })
  }
})

test('all problems at once, each at its place', () => {
  const text = `apiVersion: sidecar-first.dev/v2
mod: observe
invalid: [refuse]
kubernetesVersion: latest
waiter:
  image: "a b"
  delivery: shel
defaults:
  timeout: 5
  onTimeOut: fail
  check: "http://x"
annotations:
  checks: [probe, htp, 1]
lock: {runtimeClasses: ["Kata"]}
zebra: 1
`
  assert.deepEqual(
    problems(text).map((line) => line.replace(/(defaults\.check: ).*/, '$1…')),
    [
      '1:1 kind is missing; write kind: Configuration',
      '1:13 apiVersion: "sidecar-first.dev/v2" is not sidecar-first.dev/v1',
      '2:1 unknown key "mod"; did you mean mode?',
      '3:10 invalid: takes text, not a list',
      '4:20 kubernetesVersion: "latest" is not a version; write it like 1.36',
      '6:10 waiter.image: "a b" is not an image',
      '7:13 waiter.delivery: "shel" is not one of init-container, image-volume, shell; did you mean shell?',
      '9:12 defaults.timeout: "5" is not a duration; use 100ms to 10m, such as 1m30s',
      '10:3 unknown key "onTimeOut" in defaults; did you mean onTimeout?',
      '11:10 defaults.check: …',
      '13:19 annotations.checks: "htp" is not one of probe, none, http, https, tcp, grpc, unix, file, exec, hook; did you mean http?',
      '13:24 annotations.checks: "1" is not one of probe, none, http, https, tcp, grpc, unix, file, exec, hook',
      '14:25 lock.runtimeClasses: "Kata" is not the name of a RuntimeClass',
      '15:1 unknown key "zebra"; known are apiVersion, kind, defaults, mode, invalid, kubernetesVersion, waiter, lock, injected, annotations, enforced, rules',
    ],
  )
})

test('a version is one that a node can have under an API server of 1.30, written as Kubernetes writes it, in a file as on a command line', () => {
  const digits = fc.oneof(
    fc.integer({ min: 0, max: 45 }).map(String),
    fc.constantFrom('027', '036', '00', '099', '30', '27', '26'),
  )
  const suffix = fc.constantFrom('', '+', '.3', '.3-gke.1', '.', '-3', ' ')
  fc.assert(
    fc.property(
      fc.constantFrom('', 'v'),
      fc.constantFrom('0', '1', '01', '2'),
      digits,
      suffix,
      (v, major, minor, rest) => {
        const text = `${v}${major}.${minor}${rest}`
        const isWritten =
          [major, minor].every((each) => String(Number(each)) === each) && !['.', '-3', ' '].includes(rest)
        const isOld = major === '0' || (major === '1' && Number(minor) < 27)
        const said = !isWritten
          ? `${JSON.stringify(text)} is not a version; write it like 1.36`
          : isOld
            ? `${JSON.stringify(text)} is too old: nodes need Kubernetes 1.27 or newer, and API servers 1.30`
            : undefined
        const read = readConfiguration(`${head}kubernetesVersion: ${JSON.stringify(text)}\n`, '1.2.3')
        const flag = withSettings(defaultConfiguration('1.2.3'), { kubernetesVersion: text })
        assert.deepEqual(
          read.ok ? [] : read.problems.map(({ fault }) => faultText(fault)),
          said === undefined ? [] : [`kubernetesVersion: ${said}`],
        )
        assert.deepEqual(flag.ok ? undefined : flag.problem, said && `settings.kubernetesVersion: ${said}`)
        const version = { major: Number(major), minor: Number(minor) }
        if (said === undefined) {
          assert.deepEqual(
            [read.ok && read.configuration.kubernetesVersion, flag.ok && flag.value.kubernetesVersion],
            [version, version],
          )
        }
      },
    ),
  )
})

test('what is no configuration at all', () => {
  const missing = [
    '1:1 apiVersion is missing; write apiVersion: sidecar-first.dev/v1',
    '1:1 kind is missing; write kind: Configuration',
  ]
  assert.deepEqual(problems(''), missing)
  assert.deepEqual(
    problems('# nothing\n').map((line) => line.slice(line.indexOf(' '))),
    missing.map((line) => line.slice(3)),
  )
  assert.match(problems('text').join(), /^1:1 the configuration is an object, not "text"/)
  assert.deepEqual(problems(`${head}---\n${head}`), ['3:1 a second document; there has to be exactly one'])
  assert.deepEqual(problems(`${head}mode: observe\nmode: enforce\n`).length, 1)
  assert.match(problems(`${head}mode: "x\n`).join(), /^4:1 .*quote/)
  assert.match(problems(`${head}defaults: {a: [`).join(), /^3:\d+ /)
  assert.deepEqual(problems(`${head}waiter: shell\n`), ['3:9 waiter is an object, not "shell"'])
  assert.deepEqual(problems(`${head}mode:\ndefaults: {timeout: }\n`), [
    '3:6 mode: takes text, not nothing',
    '4:21 defaults.timeout: takes text, not nothing',
  ])
})

test('the first mistake of a text that is no YAML, and not what follows from it', () => {
  assert.deepEqual(problems('a: |\n  text\n`b`: [\nc: {\n`d\n').length, 1)
  assert.deepEqual(problems(`${head}mode: observe\nmode: enforce\nmode: x\n`), [
    '4:1 Map keys must be unique',
    '5:1 Map keys must be unique',
  ])
})

test('no text throws', () => {
  const piece = fc.constantFrom(
    'mode',
    'waiter',
    'defaults',
    'checks',
    ': ',
    '\n',
    '  ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '&a',
    '*a',
    '!!js/function',
    '1',
    '"',
    '---\n',
    '? ',
    '<<',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string({ maxLength: 2 })), { maxLength: 20 }), (parts) => {
      readConfiguration(head + parts.join(''), '1.2.3')
      readConfiguration(parts.join(''), '1.2.3')
    }),
  )
})

test('injected takes names of containers', () => {
  const text = (names: string) => `apiVersion: sidecar-first.dev/v1\nkind: Configuration\ninjected: ${names}\n`
  const read = readConfiguration(text('[mesh, agent-2]'), '1')
  assert.deepEqual(read.ok && [...read.configuration.injected], ['mesh', 'agent-2'])
  const wrong = readConfiguration(text('[mesh, "mesh-*"]'), '1')
  assert.match(
    wrong.ok ? '' : wrong.problems.map(({ fault }) => faultText(fault)).join(),
    /injected: "mesh-\*" is not a container name/,
  )
})
