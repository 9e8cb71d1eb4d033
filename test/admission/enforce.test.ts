import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import type { Configuration } from '../../src/admission/intent/configuration.ts'
import { validate } from '../../src/admission/validate.ts'
import type { Json } from '../../src/admission/words/json.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { setOf } from '../../src/webhooks/set.ts'
import { runs } from '../runs.ts'
import { admit } from './admit.ts'
import {
  after,
  app,
  type Container,
  configuration,
  type Fields,
  hookOf,
  names,
  type Pod,
  pod,
  ready,
  reasonsOf,
  specOf,
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

const two = (optional: string, more = '') => {
  const text = `${head}${more}rules:
- {name: optional, match: {container: s}, ${optional}}
- {name: mesh, match: {container: proxy}, tier: 1, enforce: true}\n`
  const read = readConfiguration(text, '0.0.0-test')
  assert.ok(read.ok)
  return read.configuration
}

test('what a pod says of a sidecar in the tier of an enforced one doesn’t open the gate of that', () => {
  const s: Container = { ...proxy, name: 's' }
  for (const annotations of [
    { 'check/s': 'tcp://:1', 'timeout/s': '100ms' },
    { 'check/s': 'exec:["false"]' },
    { 'check/s': 'hook:["false"]' },
    { 'check/s': 'none' },
    { sidecars: '*', 'timeout/s': '100ms' },
    {},
  ]) {
    const given = pod(annotations, [app, s, proxy])
    const made = after(given, decide(given, two('tier: 1')))
    assert.deepEqual(names(made), ['proxy', 's', 'app'], JSON.stringify(annotations))
    assert.deepEqual(
      specOf(made, 'proxy').checks.map(({ container }) => container),
      ['proxy'],
    )
  }
  const hooked = pod({}, [app, { ...s, lifecycle: { postStart: { exec: { command: ['false'] } } } }, proxy])
  assert.equal(specOf(after(hooked, decide(hooked, two('tier: 1'))), 'proxy').before, undefined)
})

test('an app that has the name of another rule’s sidecar is held back where nothing else is', () => {
  const given = pod({}, [{ name: 's', image: 'the app' }, proxy])
  for (const [rule, more] of [
    ['tier: 0', ''],
    ['tier: 2', ''],
  ] as const) {
    const made = after(given, decide(given, two(rule, more)))
    assert.deepEqual(names(made), ['proxy', 's'])
    assert.match(JSON.stringify(made.spec.containers[0]), /--spec/)
  }
  const native = two('tier: 0', 'defaults: {gate: native}\n')
  assert.deepEqual(initNames(after(given, decide(given, native))), ['sidecar-first-waiter', 'proxy'])
  assert.equal(validate(given, native).verdict, 'refused')
})

test('under an enforced position `first`, nothing that the author lists runs before the sidecar', () => {
  const configuration = configured(', gate: native, nativePosition: first')
  const wanted = ['sidecar-first-waiter', 'proxy', 'migrate']
  const moved = after(
    pod({}, [app, proxy], { initContainers: [migrate] }),
    decide(pod({}, [app, proxy], { initContainers: [migrate] }), configuration),
  )
  assert.deepEqual(initNames(moved), wanted)
  const [waiter] = moved.spec.initContainers as Container[]
  assert.ok(waiter)
  const native: Container = { ...proxy, restartPolicy: 'Always' }
  for (const [containers, initContainers] of [
    [
      [app, proxy],
      [migrate, waiter],
    ],
    [[app], [migrate, native]],
    [[app], [migrate, waiter, native]],
    [[app], [waiter, migrate, native]],
  ] as const) {
    const given = pod({}, containers, { initContainers })
    const made = after(given, decide(given, configuration))
    assert.deepEqual(initNames(made), wanted)
    assert.equal(decide(made, configuration).verdict, 'unchanged')
    assert.equal(validate(given, configuration).verdict, 'refused')
  }
})

type Spec = { [key: string]: Fields[] }
test('a native sidecar that is listed late stays there where no enforced rule has the gate `native` and the position `first`', () => {
  const given = pod({}, [app], { initContainers: [migrate, { ...proxy, restartPolicy: 'Always' }] })
  for (const configuration of [
    configured(', gate: hook, nativePosition: first'),
    configured(', gate: native, nativePosition: last'),
  ]) {
    assert.deepEqual(initNames(after(given, decide(given, configuration))).slice(-2), ['migrate', 'proxy'])
  }
  const asking = pod({ sidecars: 'proxy', gate: 'native', 'native-position': 'first' }, [app], given.spec)
  assert.deepEqual(initNames(after({ ...asking, spec: given.spec })).slice(-2), ['migrate', 'proxy'])
})

/** The one that carries the hook which waits for the enforced sidecar. */
const sidecar = ({ containers = [], initContainers = [] }: Spec) =>
  [...containers, ...initContainers].find((each) => {
    const command: unknown = hookOf({ metadata: {}, spec: { containers: [each as Container] } }, `${each.name}`)?.[2]
    return typeof command === 'string' && command.includes('"container":"proxy"')
  }) as { [key: string]: unknown }
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
  ['arguments', /it has args;/, (spec) => Object.assign(installer(spec), { args: ['x'] })],
  ['restarting', /it has a restartPolicy;/, (spec) => Object.assign(installer(spec), { restartPolicy: 'Always' })],
  [
    'another program mounted over that of the image',
    /\/wait/,
    (spec) => (installer(spec).volumeMounts as Fields[]).push({ name: 'evil', mountPath: '//wait', subPath: 'true' }),
  ],
  [
    'an installer that installs elsewhere',
    /no mount of the whole volume at/,
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

/** The forms in which an enforced sidecar carries the waiter. */
const carriers: readonly [form: string, rule: string, given: Pod][] = [
  ['a regular one', '', pod({}, [app, proxy])],
  ['one that moves in', ', gate: native', pod({}, [app, proxy])],
  [
    'one that moves in before the others',
    ', gate: native, nativePosition: first',
    pod({}, [app, proxy], { initContainers: [migrate] }),
  ],
  ['a native one in place', '', pod({}, [app], { initContainers: [migrate, { ...proxy, restartPolicy: 'Always' }] })],
]

for (const [name, why, edit] of forgeries) {
  for (const [form, rule, given] of carriers) {
    test(`under an enforced rule, a forged waiter of ${form} is refused or put right: ${name}`, () => {
      const configuration = configured(rule)
      const right = after(given, decide(given, configuration))
      assert.deepEqual(reasonsOf(validate(right, configuration)), [])
      const forged = set(right, edit)
      assert.match(reasonsOf(validate(forged, configuration)).join('\n'), why)
      const decision = decide(forged, configuration)
      if (decision.verdict === 'refused') assert.match(reasonsOf(decision).join('\n'), why)
      else assert.deepEqual(after(forged, decision).spec, right.spec)
    })
  }

  // Those change the hook, which has to be the planned one everywhere.
  if (name === 'another hook' || name.startsWith('the termination message')) continue
  test(`what is there stays where no rule is enforced: ${name}`, () => {
    const given = pod({ sidecars: 'proxy' }, [app, proxy])
    const stays = set(after(given), edit)
    assert.deepEqual(reasonsOf(validate(stays, configuration)), [])
  })
}

test('where an enforced rule waits for nothing, what has the name of the waiter is nobody’s business', () => {
  const configuration = configured(', check: none')
  const given = pod({}, [app, proxy], {
    initContainers: [{ name: 'sidecar-first-waiter', image: 'another' }],
    volumes: [{ name: 'sidecar-first-waiter', emptyDir: {} }],
  })
  const made = after(given, decide(given, configuration))
  assert.deepEqual(names(made), ['proxy', 'app'])
  assert.deepEqual(reasonsOf(validate(made, configuration)), [])
})

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

test('no rule takes a container from an enforced one, wherever it stands in the file', () => {
  const own = '{name: mesh, match: {container: proxy}, tier: 1, enforce: true}'
  for (const first of [
    '{name: lax, match: {container: proxy}, tier: 1, check: none}',
    '{name: stricter, match: {container: "*"}, tier: 1, enforce: audit}',
    '{name: exempt, match: {container: proxy}, tier: 1, enforce: true, exempt: ["team/*"]}',
  ]) {
    const read = readConfiguration(`${head}rules:\n- ${first}\n- ${own}\n`, '0.0.0-test')
    assert.ok(read.ok, JSON.stringify(read))
    const given = pod({ inject: 'false' }, [app, proxy])
    const made = after(given, decide(given, read.configuration, { job: false, into: 'team' }))
    assert.deepEqual(names(made), ['proxy', 'app'], first)
  }
})

test('an app that has the name of a later enforced sidecar waits for the earlier ones', () => {
  const text = `${head}rules:
- {name: mesh, match: {container: proxy}, tier: 1, enforce: true}
- {name: agents, match: {container: "*-agent"}, tier: 2, enforce: true}\n`
  const read = readConfiguration(text, '0.0.0-test')
  assert.ok(read.ok)
  const given = pod({}, [{ name: 'x-agent', image: 'the app' }, proxy])
  const made = after(given, decide(given, read.configuration))
  assert.deepEqual(names(made), ['proxy', 'x-agent'])
  assert.match(JSON.stringify(made.spec.containers[0]), /--spec/)
  assert.equal(validate(given, read.configuration).verdict, 'refused')
})

interface Slots {
  [key: string | number]: unknown
}

test('whatever can’t be read in a pod, an enforced rule isn’t passed over for it', () => {
  const configuration = configured(', lock: on')
  const given = after(pod({}, [app, proxy], { initContainers: [migrate] }), {
    ...decide(pod({}, [app, proxy], { initContainers: [migrate] }), configuration),
  })
  const places = (value: Json, way: readonly (string | number)[] = []): (readonly (string | number)[])[] =>
    typeof value !== 'object' || value === null
      ? [way]
      : [
          way,
          ...Object.entries(value).flatMap(([key, each]) =>
            places(each, [...way, Array.isArray(value) ? Number(key) : key]),
          ),
        ]
  for (const way of places(given.spec).slice(1)) {
    for (const value of [3e9, 2 ** 60, -1, 1.5, '', 'x', true, null, [], {}, [[]], [null], [1]]) {
      const copy = structuredClone(given)
      const last = way.at(-1) ?? ''
      const holder = way.slice(0, -1).reduce<Slots>((at, key) => at[key] as Slots, copy.spec as unknown as Slots)
      holder[last] = value
      const decision = decide(copy, configuration)
      const { containers } = copy.spec as { containers: unknown }
      const isThere = Array.isArray(containers) && containers.some((each) => each?.name === 'proxy')
      const isHeld = decision.verdict !== 'skipped' || !isThere
      assert.ok(isHeld, `${way.join('.')} ${JSON.stringify(value)}: ${reasonsOf(decision).join('; ')}`)
    }
  }
})

const mostly = <T>(value: T, ...others: readonly T[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, fc.constantFrom(...others))
const a = setOf({ matchLabels: { A: '1' } })
const b = setOf({ matchLabels: { B: '1' } })
const inA = ', namespaceSelector: {matchLabels: {A: "1"}}'
const inB = ', namespaceSelector: {matchLabels: {B: "1"}}'

/** An enforced rule, and others that may have a say in its pods; in any order. */
const anyRules = fc
  .tuple(
    fc.tuple(
      mostly('', inA),
      mostly('', ', gate: native', ', gate: hook'),
      mostly('', ', nativePosition: first'),
      mostly('', ', lock: on'),
    ),
    fc.array(
      fc.tuple(
        fc.constantFrom('s', 'proxy'),
        mostly('', inA, inB),
        mostly('', ', gate: native', ', check: none', ', enforce: true', ', timeout: 30s'),
        fc.integer({ min: 0, max: 2 }),
      ),
      { maxLength: 3 },
    ),
    mostly(
      '',
      'defaults: {gate: native}\n',
      'defaults: {nativePosition: first}\n',
      'defaults: {gate: native, nativePosition: first}\n',
    ),
    fc.boolean(),
  )
  .map(([[selector, gate, position, lock], others, defaults, last]) => {
    const own = `- {name: enforced, match: {container: proxy${selector}}, tier: 1, enforce: true${gate}${position}${lock}}\n`
    const rest = others.map(
      ([name, where, more, tier], at) =>
        `- {name: r${at}, match: {container: ${name}${where}}, tier: ${tier}${more}}\n`,
    )
    const read = readConfiguration(
      `${head}${defaults}rules:\n${(last ? [...rest, own] : [own, ...rest]).join('')}`,
      '0.0.0-test',
    )
    assert.ok(read.ok, JSON.stringify(read))
    return read.configuration
  })
const anyKeys = fc.record(
  {
    gate: fc.constantFrom('hook', 'native'),
    'native-position': fc.constantFrom('first', 'last'),
    sidecars: fc.constantFrom('proxy', '*', 's', 's, proxy', '*, s'),
    waiter: fc.constantFrom('shell', 'image-volume'),
    'on-timeout': fc.constantFrom('continue'),
    'check/proxy': fc.constantFrom('none'),
    'check/s': fc.constantFrom('none', 'tcp://:1', 'exec:["false"]'),
    'timeout/s': fc.constantFrom('100ms'),
    'existing-hook': fc.constantFrom('keep'),
    'startup-probe': fc.constantFrom('keep', 'eager', 'hook'),
    lock: fc.constantFrom('on', 'off'),
    inject: fc.constantFrom('false'),
    sets: fc.constantFrom(a, `${a},${b}`, 'nonsense'),
  },
  { requiredKeys: [], noNullPrototype: true },
) as fc.Arbitrary<Fields>
const hooked: Container = { ...proxy, lifecycle: { postStart: { exec: { command: ['false'] } } } }
const anyShape = fc.constantFrom<(annotations: Fields) => Pod>(
  (annotations) => pod(annotations, [app, proxy, { ...proxy, name: 's' }]),
  (annotations) => pod(annotations, [app, { ...hooked, name: 's' }, proxy]),
  (annotations) => pod(annotations, [app, { ...proxy, name: 's' }, proxy], { initContainers: [migrate] }),
  (annotations) =>
    pod(annotations, [app, { ...proxy, name: 's' }], {
      initContainers: [migrate, { ...proxy, restartPolicy: 'Always' }],
    }),
)

/** The author's own hook goes where he replaces it. */
const withoutOwnHook = ({ spec }: Pod) =>
  JSON.stringify(spec).replaceAll(String.raw`\"before\":{\"exec\":[\"false\"]},`, '')

test('sets, other rules, keys, reinvocation: a pod under an enforced rule is made right, and a forged one refused or put right', () => {
  const seen = { refused: 0, right: 0, free: 0 }
  fc.assert(
    fc.property(
      anyRules,
      fc.constantFrom<readonly string[]>([], [a], [b], [a, b]),
      fc.tuple(anyKeys, anyShape),
      fc.constantFrom(...forgeries),
      fc.boolean(),
      (configuration, sets, [annotations, shape], [name, , edit], byAnother) => {
        const given = shape(annotations)
        const made = admit(given, configuration, sets)
        if (made.decision.verdict === 'refused') return
        assert.deepEqual(made.refusals, [])
        // The rule that has the say about a container: the first enforced one, else the first.
        const ruleOf = (container: string) => {
          const matching = configuration.rules.rules.filter(
            ({ match, set }) => match.containers?.includes(container) && (set === undefined || sets.includes(set)),
          )
          return matching.find(({ enforce }) => enforce) ?? matching[0]
        }
        const inits = (made.pod.spec.initContainers ?? []) as readonly Container[]
        const all = [...inits, ...made.pod.spec.containers]
        const hooks = all.filter(({ name }) => hookOf(made.pod, name)?.[1] === '--spec')
        const carrier = hooks.find(({ name }) =>
          specOf(made.pod, name).checks.some(({ container }) => container === 'proxy'),
        )
        if (ruleOf('proxy')?.enforce !== true) {
          seen.free++
          return
        }
        // Nothing but enforced sidecars has a say in the hook, and the app stands behind it.
        assert.ok(carrier !== undefined && ruleOf(carrier.name)?.enforce, 'an enforced sidecar carries the hook')
        const spec = specOf(made.pod, carrier.name)
        assert.ok(spec.checks.every(({ container }) => ruleOf(`${container}`)?.enforce))
        assert.ok(all.findIndex(({ name }) => name === 'app') > all.indexOf(carrier))
        const late = ruleOf('s')
        if (late && !late.enforce && late.tier >= (ruleOf('proxy')?.tier ?? 0))
          assert.ok(all.findIndex(({ name }) => name === 's') > all.indexOf(carrier))
        // By the author, who knows what would be made; or by another webhook that comes after ours.
        const forge = (object: Pod) => set(object, edit)
        const forged = byAnother
          ? admit(given, configuration, sets, forge)
          : admit(forge(made.pod), configuration, sets)
        if (forged.decision.verdict === 'refused' || forged.refusals.length > 0) {
          seen.refused++
          return
        }
        assert.equal(withoutOwnHook(forged.pod), withoutOwnHook(made.pod), name)
        seen.right++
      },
    ),
    runs(500),
  )
  // Fewer may miss one.
  if (runs(500).numRuns >= 500) assert.ok(Math.min(...Object.values(seen)) > 0, JSON.stringify(seen))
})
