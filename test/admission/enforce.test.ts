import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { validate } from '../../src/admission/validate.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import {
  after,
  app,
  type Container,
  configuration,
  type Fields,
  names,
  type Pod,
  pod,
  ready,
  reasonsOf,
  warningsOf,
} from './pods.ts'

const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
function configured(rule: string, more = ''): Configuration {
  const text = `${head}${more}rules:\n- {name: mesh, match: {container: proxy}, tier: 1, enforce: true${rule}}\n`
  const read = readConfiguration(text, '0.0.0-test')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

const proxy: Container = { name: 'proxy', image: 'proxy', readinessProbe: ready }
const migrate: Container = { name: 'migrate', image: 'migrate' }
const initNames = (object: Pod) => ((object.spec.initContainers ?? []) as readonly Container[]).map(({ name }) => name)

test('the gate that an enforced rule leaves open is the configuration’s, not the pod’s', () => {
  const native = configured('', 'defaults: {gate: native}\n')
  const given = pod({ gate: 'hook' }, [app, proxy])
  const decision = decide(given, native)
  assert.deepEqual(names(after(given, decision)), ['app'])
  assert.match(warningsOf(decision).join('\n'), /sidecar-first\.dev\/gate has no effect: the rule mesh is enforced/)

  const hook = configured('')
  assert.deepEqual(
    names(after(pod({ gate: 'native' }, [app, proxy]), decide(pod({ gate: 'native' }, [app, proxy]), hook))),
    ['proxy', 'app'],
  )
})

test('a pod can’t add a container whose unenforced rule opens the gate of an enforced one', () => {
  const text = `${head}defaults: {gate: native, nativePosition: first}\nrules:
- {name: mesh, match: {container: proxy}, tier: 1, enforce: true}
- {name: weak, match: {container: weak}, tier: 2, gate: hook, nativePosition: last}\n`
  const read = readConfiguration(text, '0.0.0-test')
  assert.ok(read.ok)
  const given = pod({}, [app, proxy, { ...proxy, name: 'weak' }], { initContainers: [migrate] })
  const admitted = after(given, decide(given, read.configuration))
  assert.deepEqual(names(admitted), ['app'])
  assert.deepEqual(initNames(admitted), ['sidecar-first-waiter', 'proxy', 'weak', 'migrate'])
})

test('so is the native position', () => {
  const first = configured('', 'defaults: {gate: native, nativePosition: first}\n')
  const given = pod({ 'native-position': 'last' }, [app, proxy], { initContainers: [migrate] })
  assert.deepEqual(initNames(after(given, decide(given, first))), ['sidecar-first-waiter', 'proxy', 'migrate'])
})

test('no key of the pod changes what an enforced rule makes of it', () => {
  const configuration = configured('')
  const plain = after(pod({}, [app, proxy]), decide(pod({}, [app, proxy]), configuration))
  for (const annotations of [
    { waiter: 'shell' },
    { waiter: 'image-volume' },
    { timeout: '1s', 'on-timeout': 'continue' },
    { 'timeout/proxy': '1s', 'on-timeout/proxy': 'continue' },
    { 'existing-hook': 'keep' },
    { gate: 'native', 'native-position': 'first' },
    { inject: 'false' },
  ]) {
    const given = pod(annotations, [app, proxy])
    const decision = decide(given, configuration)
    assert.deepEqual(after(given, decision).spec, plain.spec, JSON.stringify(annotations))
  }
})

type Spec = { [key: string]: Fields[] }
const sidecar = (spec: Spec) => spec.containers?.find(({ name }) => name === 'proxy') as { [key: string]: unknown }
const installer = (spec: Spec) =>
  spec.initContainers?.find(({ name }) => name === 'sidecar-first-waiter') as { [key: string]: unknown }
const set = (object: Pod, edit: (spec: Spec) => void): Pod => {
  const copy = structuredClone(object)
  edit(copy.spec as unknown as Spec)
  return copy
}
const mount = { name: 'sidecar-first-waiter', mountPath: '/.sidecar-first' }

/** What an author may write to have a program of his own run for the waiter; `why` is in the refusal. */
const forgeries: readonly [name: string, why: RegExp, edit: (spec: Spec) => void][] = [
  ['another image', /waiter\.mirrors/, (spec) => Object.assign(installer(spec), { image: 'evil/waiter:1' })],
  [
    'an image that only begins like ours',
    /waiter\.mirrors/,
    (spec) => Object.assign(installer(spec), { image: 'sidecar-first/waiter-evil:0.0.0-test' }),
  ],
  ['arguments', /sidecar-first-waiter/, (spec) => Object.assign(installer(spec), { args: ['x'] })],
  ['restarting', /sidecar-first-waiter/, (spec) => Object.assign(installer(spec), { restartPolicy: 'Always' })],
  [
    'another program mounted over that of the image',
    /\/wait/,
    (spec) => (installer(spec).volumeMounts as Fields[]).push({ name: 'evil', mountPath: '//wait', subPath: 'true' }),
  ],
  [
    'an installer that installs elsewhere',
    /sidecar-first-waiter/,
    (spec) => Object.assign(installer(spec), { volumeMounts: [] }),
  ],
  [
    'an image volume',
    /waiter\.mirrors/,
    (spec) => Object.assign(spec, { volumes: [{ name: 'sidecar-first-waiter', image: { reference: 'evil' } }] }),
  ],
  [
    'a subPath',
    /proxy/,
    (spec) => Object.assign(sidecar(spec), { volumeMounts: [{ ...mount, readOnly: true, subPath: 'x' }] }),
  ],
  [
    'a subPathExpr',
    /proxy/,
    (spec) => Object.assign(sidecar(spec), { volumeMounts: [{ ...mount, readOnly: true, subPathExpr: '$(X)' }] }),
  ],
  ['a writable mount', /proxy/, (spec) => Object.assign(sidecar(spec), { volumeMounts: [mount] })],
  [
    'another volume over the program',
    /proxy/,
    (spec) =>
      (sidecar(spec).volumeMounts as Fields[]).push({
        name: 'evil',
        mountPath: '/.sidecar-first/wait',
        subPath: 'true',
      }),
  ],
  [
    'another volume at our directory, in other letters',
    /proxy/,
    (spec) => (sidecar(spec).volumeMounts as Fields[]).push({ name: 'evil', mountPath: '/x/..//.sidecar-first/.' }),
  ],
  [
    'another volume at our directory, relative',
    /proxy/,
    (spec) => (sidecar(spec).volumeMounts as Fields[]).push({ name: 'evil', mountPath: '.sidecar-first/wait' }),
  ],
  [
    'the termination message over the program',
    /proxy/,
    (spec) => Object.assign(sidecar(spec), { terminationMessagePath: '/.sidecar-first/wait' }),
  ],
  [
    'an app that mounts the volume writable',
    /app/,
    (spec) =>
      Object.assign(spec.containers?.find(({ name }) => name === 'app') ?? {}, {
        volumeMounts: [{ ...mount, mountPath: '/x' }],
      }),
  ],
  [
    'an init container that replaces the program',
    /later/,
    (spec) =>
      void spec.initContainers?.push({ name: 'later', image: 'x', volumeMounts: [{ ...mount, mountPath: '/x' }] }),
  ],
  [
    'another hook',
    /hook/,
    (spec) =>
      Object.assign(sidecar(spec), {
        lifecycle: {
          postStart: { exec: { command: ['/.sidecar-first/wait', '--spec', '{"v":1,"checks":[],"message":"/m"}'] } },
        },
      }),
  ],
]

for (const [name, why, edit] of forgeries) {
  test(`under an enforced rule, a forged waiter is refused or put right: ${name}`, () => {
    const configuration = configured('')
    const right = after(pod({}, [app, proxy]), decide(pod({}, [app, proxy]), configuration))
    assert.deepEqual(reasonsOf(validate(right, configuration)), [])
    const forged = set(right, edit)
    assert.match(reasonsOf(validate(forged, configuration)).join('\n'), why)
    const decision = decide(forged, configuration)
    if (decision.verdict === 'refused') assert.match(reasonsOf(decision).join('\n'), why)
    else assert.deepEqual(after(forged, decision).spec, right.spec)
  })

  // Those change the hook, which has to be the planned one everywhere.
  if (name === 'another hook' || name.startsWith('the termination message')) continue
  test(`what is there stays where no rule is enforced: ${name}`, () => {
    const given = pod({ sidecars: 'proxy' }, [app, proxy])
    const stays = set(after(given), edit)
    assert.deepEqual(reasonsOf(validate(stays, configuration)), [])
  })
}

test('a mirror of the waiter is allowed by name, and so is its own repository at another tag', () => {
  const forgedBy = (image: string, more: string) => {
    const configuration = configured('', more)
    const right = after(pod({}, [app, proxy]), decide(pod({}, [app, proxy]), configuration))
    return reasonsOf(
      validate(
        set(right, (spec) => Object.assign(installer(spec), { image })),
        configuration,
      ),
    )
  }
  const mirrors = 'waiter: {mirrors: ["mirror.example/*/waiter"]}\n'
  assert.deepEqual(forgedBy('mirror.example/hub/waiter:0.0.0-test', mirrors), [])
  assert.equal(forgedBy('mirror.example/hub/evil:0.0.0-test', mirrors).length, 1)
  assert.equal(forgedBy('mirror.example/hub/waiter:0.0.0-test', '').length, 1)
  // While replicas of two versions answer, each writes its own.
  assert.deepEqual(forgedBy('sidecar-first/waiter:0.0.1', ''), [])
  assert.deepEqual(forgedBy(`sidecar-first/waiter@sha256:${'0'.repeat(64)}`, ''), [])
})

test('an own hook that only mentions the words of a preset is no wait under an enforced rule', () => {
  const text = `${head}rules:\n- {name: mesh, match: {preset: istio}, enforce: true}\n`
  const read = readConfiguration(text, '0.0.0-test')
  assert.ok(read.ok)
  const hooked = (command: readonly string[]) =>
    pod({}, [app, { name: 'istio-proxy', image: 'x', lifecycle: { postStart: { exec: { command } } } }])
  const made = (command: readonly string[]) =>
    JSON.stringify(after(hooked(command), decide(hooked(command), read.configuration)).spec)
  assert.match(made(['sh', '-c', 'true pilot-agent wait']), /healthz\/ready/)
  assert.doesNotMatch(made(['/usr/local/bin/pilot-agent', 'wait']), /healthz\/ready/)
})

test('an app that hides among the init containers while all others are ruled is refused', () => {
  const configuration = configured('')
  const hidden = { ...app, restartPolicy: 'Always' }
  for (const annotations of [{}, { sidecars: 'proxy' }]) {
    const given = pod(annotations, [proxy], { initContainers: [hidden] })
    assert.match(reasonsOf(decide(given, configuration)).join('\n'), /app.*starts before proxy/)
    assert.match(reasonsOf(validate(given, configuration)).join('\n'), /app.*starts before proxy/)
  }
  // No app at all, such as a gateway: nothing to hold back.
  assert.equal(decide(pod({}, [proxy], { initContainers: [migrate] }), configuration).verdict, 'skipped')
})

test('an app among the init containers is held by a sidecar that stands before it', () => {
  const configuration = configured('')
  const native = { ...proxy, restartPolicy: 'Always' }
  const given = pod({}, [{ ...proxy, name: 'other' }], {
    initContainers: [native, { ...app, restartPolicy: 'Always' }],
  })
  assert.match(JSON.stringify(after(given, decide(given, configuration)).spec.initContainers), /--spec/)
})

const mostly = <T>(value: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, fc.constantFrom(...others))
const anyRule = fc.record({
  gate: mostly('', ', gate: native', ', gate: hook'),
  position: mostly('', ', nativePosition: first'),
  defaults: mostly('', 'defaults: {gate: native}\n', 'defaults: {nativePosition: first}\n'),
})
const anyKeys = fc.record(
  {
    gate: fc.constantFrom('hook', 'native'),
    'native-position': fc.constantFrom('first', 'last'),
    sidecars: fc.constantFrom('proxy', '*'),
    waiter: fc.constantFrom('shell', 'image-volume'),
    'on-timeout': fc.constantFrom('continue'),
    'check/proxy': fc.constantFrom('none'),
    inject: fc.constantFrom('false'),
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<Fields>

test('what an enforced rule makes or lets through is accepted, and a forged pod never as it is', () => {
  fc.assert(
    fc.property(
      anyRule,
      anyKeys,
      fc.constantFrom(...forgeries),
      ({ gate, position, defaults }, annotations, [, , edit]) => {
        const configuration = configured(gate + position, defaults)
        const given = pod(annotations, [app, proxy])
        const right = after(given, decide(given, configuration))
        assert.deepEqual(reasonsOf(validate(right, configuration)), [])
        const native = names(right).length === 1
        // The forgeries are written for a sidecar among the regular containers.
        if (native) return
        const forged = set(right, edit)
        assert.equal(validate(forged, configuration).verdict, 'refused')
        const decision = decide(forged, configuration)
        if (decision.verdict === 'refused') return
        assert.deepEqual(reasonsOf(validate(after(forged, decision), configuration)), [])
      },
    ),
    { numRuns: 300 },
  )
})
