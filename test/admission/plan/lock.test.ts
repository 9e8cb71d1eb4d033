import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../../src/admission/decide.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { validate } from '../../../src/admission/validate.ts'
import type { Json } from '../../../src/admission/words/json.ts'
import { faultText } from '../../../src/configuration/faults.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { runs } from '../../runs.ts'
import { pod as anyPod } from '../arbitraries.ts'
import {
  after,
  app,
  type Container,
  configuration,
  decided,
  type Fields,
  hookOf,
  type Pod,
  pod,
  ready,
  reasonsOf,
  specOf,
  warningsOf,
} from '../pods.ts'

const envoy: Container = { name: 'envoy', image: 'envoy', readinessProbe: ready }
const locked = { sidecars: 'envoy', lock: 'on' }
const volume = 'sidecar-first-lock'

function configured(text: string): Configuration {
  const read = readConfiguration(`apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${text}`, '0.0.0-test')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

/** The gates whose locks a container of a pod waits for, in the order of its variables. */
function gatesBefore({ env = [] }: Container): readonly number[] {
  return (env as readonly Fields[]).flatMap(({ name, valueFrom }) => {
    const source = (valueFrom as { fileKeyRef?: Fields } | undefined)?.fileKeyRef
    if (source?.volumeName !== volume) return []
    const [, number] = /^SIDECAR_FIRST_READY_(\d+)(?:_[_A-Z0-9]+)?$/.exec(String(name)) ?? []
    assert.deepEqual(source, { volumeName: volume, path: `ready-${number}`, key: name })
    return [Number(number)]
  })
}

/** The gate that a container's hook opens. */
function opens(patched: Pod, { name }: Container): number | undefined {
  const [, , argument = '', shell] = hookOf(patched, name) ?? []
  const found =
    shell === 'sidecar-first'
      ? / gate=(\d+) /.exec(argument)
      : /"key":"SIDECAR_FIRST_READY_(\d+)(?:_\w+)?"/.exec(argument)
  return found === null ? undefined : Number(found[1])
}

const startOrder = ({ spec }: Pod) => [...((spec.initContainers ?? []) as readonly Container[]), ...spec.containers]

test('whatever starts behind a gate of ours waits for it, and nothing else does', () => {
  let seen = 0
  fc.assert(
    fc.property(anyPod, (before) => {
      const annotations = { ...(before.metadata.annotations as Fields), 'sidecar-first.dev/lock': 'on' }
      const given = { ...before, metadata: { ...before.metadata, annotations } }
      const decision = decided(given)
      fc.pre(decision.verdict === 'patched')
      const patched = after(given, decision)
      const passed: number[] = []
      for (const container of startOrder(patched)) {
        const latestFirst = container.name === 'sidecar-first-waiter' ? [] : passed.toReversed()
        assert.deepEqual(gatesBefore(container), latestFirst)
        const gate = opens(patched, container)
        if (gate === undefined) continue
        assert.equal(gate, passed.length + 1)
        passed.push(gate)
        seen += 1
        const mounts = (container.volumeMounts ?? []) as readonly Fields[]
        assert.ok(mounts.some((mount) => mount.name === volume && mount.readOnly === undefined))
      }
      const reasons = validate(patched, configuration).reasons.filter(
        ({ kind }) => kind !== 'container-missing' && kind !== 'container-misspelt',
      )
      assert.deepEqual(reasons, [])
    }),
    runs(300),
  )
  assert.ok(seen > 0)
})

/** A pod whose locked containers have their variables in another order, wherever else in `env` they stand. */
function shuffled(given: Pod, turns: readonly number[]): Pod {
  const isOurs = (variable: Fields) =>
    (variable.valueFrom as { fileKeyRef?: Fields } | undefined)?.fileKeyRef?.volumeName === volume
  const copy = structuredClone(given)
  for (const container of startOrder(copy) as (Container & { env?: Fields[] })[]) {
    const env = container.env ?? []
    const ours = env.filter(isOurs).map((variable, at) => ({ variable, turn: turns[at % turns.length] ?? 0 }))
    const next = ours.sort((a, b) => a.turn - b.turn).values()
    if (ours.length > 0)
      container.env = env.map((each) => (isOurs(each) ? (next.next().value?.variable ?? each) : each))
  }
  return copy
}

test('the kubelet reads the latest gate first; any other order, as replicas of before write it, is admitted, and put right', () => {
  let moved = 0
  const own = fc.constantFrom(
    [],
    [{ name: 'A', value: 'b' }],
    [
      { name: 'A', value: 'b' },
      { name: 'C', value: '$(A)' },
    ],
  )
  const tiered = fc
    .tuple(
      fc.constantFrom('envoy, vault, otel', 'otel, *, vault + envoy', 'vault, otel + envoy'),
      fc.array(own, { minLength: 4, maxLength: 4 }),
      fc.boolean(),
    )
    .map(([sidecars, env, native]) => {
      const names = ['app', 'otel', 'envoy', 'vault']
      const containers = names.map((name, at): Container => ({ ...envoy, name, env: structuredClone(env[at]) ?? [] }))
      return pod({ sidecars, gate: native ? 'native' : 'hook' }, containers)
    })
  const turns = fc.array(fc.nat(9), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(fc.oneof(anyPod, tiered), turns, (before, order) => {
      const annotations = { ...(before.metadata.annotations as Fields), 'sidecar-first.dev/lock': 'on' }
      const given = { ...before, metadata: { ...before.metadata, annotations } }
      const decision = decided(given)
      fc.pre(decision.verdict === 'patched')
      const patched = after(given, decision)
      const other = shuffled(patched, order)
      const reasons = (final: Pod) => validate(final, configuration).reasons
      assert.deepEqual(reasons(other), reasons(patched))
      const again = decided(other)
      assert.deepEqual(startOrder(after(other, again)).map(gatesBefore), startOrder(patched).map(gatesBefore))
      assert.equal(decided(after(other, again)).verdict, decided(patched).verdict)
      if (again.verdict !== 'patched') return
      moved += 1
      // A container that lost no variable isn't said to have lost its lock.
      assert.deepEqual(again.unlocked, [])
    }),
    runs(400),
  )
  assert.ok(moved > 0)
})

test('an older cluster can’t lock anything: who asks for it is told, not left with an app that starts', () => {
  const older = configured('kubernetesVersion: 1.34\n')
  const decision = decide(pod(locked, [app, envoy]), older)
  assert.equal(decision.verdict, 'refused')
  assert.match(reasonsOf(decision).join(), /sidecar-first\.dev\/lock: "on" needs Kubernetes 1\.35/)
  for (const lock of ['off', 'auto']) {
    assert.equal(decide(pod({ ...locked, lock }, [app, envoy]), older).verdict, 'patched')
  }
  assert.equal(decide(pod(locked, [app, envoy]), configured('kubernetesVersion: 1.35\n')).verdict, 'patched')
  for (const text of ['defaults: {lock: on}\n', 'rules: [{name: r, match: {container: x}, tier: 1, lock: on}]\n']) {
    const read = readConfiguration(
      `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nkubernetesVersion: 1.34\n${text}`,
      '0.0.0-test',
    )
    assert.ok(!read.ok, text)
  }
})

test('a rule and the configuration’s default can lock, and a pod can say otherwise', () => {
  const isLocked = (given: Pod, by: Configuration) =>
    startOrder(after(given, decide(given, by))).some((each) => gatesBefore(each).length > 0)
  const byRule = configured('rules: [{name: mesh, match: {container: envoy}, tier: 1, lock: on}]\n')
  const byDefault = configured('defaults: {lock: on}\n')
  assert.equal(isLocked(pod({}, [app, envoy]), byRule), true)
  assert.equal(isLocked(pod({ lock: 'off' }, [app, envoy]), byRule), false)
  assert.equal(isLocked(pod({ sidecars: 'envoy' }, [app, envoy]), byDefault), true)
  assert.equal(isLocked(pod({ sidecars: 'envoy', lock: 'off' }, [app, envoy]), byDefault), false)
})

test('a pod of 200 containers is locked as long as its variables fit, and told where they don’t', () => {
  const name = (at: number) => `${'c'.repeat(60)}${at}`
  const many = Array.from({ length: 200 }, (_, at): Container => ({ ...envoy, name: name(at) }))
  const few = pod({ sidecars: `${name(199)},${name(198)}`, lock: 'on' }, many)
  const decision = decided(few)
  assert.equal(startOrder(after(few, decision)).flatMap(gatesBefore).length, 1 + 2 * 198)
  assert.ok(JSON.stringify(decision.verdict === 'patched' && decision.patch).length < 2 ** 18)
  const tiers = many.slice(1).map(({ name }) => name)
  const all = decided(pod({ sidecars: tiers.join(), lock: 'on' }, many))
  assert.match(reasonsOf(all).join(), /the lock would add more than 2048 variables/)
})

const enforced = configured('rules: [{name: mesh, match: {container: envoy}, tier: 1, enforce: true, lock: on}]\n')
const right = after(pod({}, [app, envoy]), decide(pod({}, [app, envoy]), enforced))

function changed(edit: (containers: Container[], spec: Record<string, Json>) => void): Pod {
  const copy = structuredClone(right) as unknown as { spec: { containers: Container[] } & Record<string, Json> }
  edit(copy.spec.containers, copy.spec)
  return copy as unknown as Pod
}
const variable = { volumeName: volume, path: 'ready-1', key: 'SIDECAR_FIRST_READY_1_ENVOY' }
const withEnv = (containers: Container[], ...env: Json[]) => {
  containers[1] = { ...(containers[1] as Container), env }
}
/** Instead of the lock's. */
const withVolumes = (spec: Record<string, Json>, ...volumes: Json[]) => {
  const others = (spec.volumes as readonly Fields[]).filter(({ name }) => name !== volume)
  spec.volumes = [...volumes, ...others]
}
const fromFile = (more: Fields = {}, name: Json = 'SIDECAR_FIRST_READY_1_ENVOY'): Json => ({
  name,
  valueFrom: { fileKeyRef: { ...variable, ...more } },
})
const withKey = (key: string) => fromFile({ key }, key)

for (const [what, edit] of [
  ['the variable is dropped', (all) => withEnv(all)],
  [
    'the variable has lost its source, as behind a typed client',
    (all) => withEnv(all, { name: 'SIDECAR_FIRST_READY_1_ENVOY', valueFrom: {} }),
  ],
  ['the variable names nobody, and the hook writes a name', (all) => withEnv(all, withKey('SIDECAR_FIRST_READY_1'))],
  ['the variable names another', (all) => withEnv(all, withKey('SIDECAR_FIRST_READY_1_APP'))],
  ['the variable has the key of another', (all) => withEnv(all, fromFile({ key: 'SIDECAR_FIRST_READY_1_APP' }))],
  ['the variable is called as it likes', (all) => withEnv(all, fromFile({}, 'READY'))],
  ['there is a variable without a name beside it', (all) => withEnv(all, fromFile(), withKey('SIDECAR_FIRST_READY_1'))],
  [
    'hook and variable agree on the name of another',
    (all) => {
      all[0] = JSON.parse(JSON.stringify(all[0]).replace('READY_1_ENVOY', 'READY_1_APP'))
      withEnv(all, withKey('SIDECAR_FIRST_READY_1_APP'))
    },
  ],
  ['the variable is optional', (all) => withEnv(all, fromFile({ optional: true }))],
  ['the variable is given twice', (all) => withEnv(all, fromFile(), fromFile())],
  ['the variable reads another file', (all) => withEnv(all, fromFile({ path: 'why-1' }))],
  ['the lock is on disk', (_, spec) => withVolumes(spec, { name: volume, emptyDir: {} })],
  ['the lock is gone', (_, spec) => withVolumes(spec)],
] as readonly (readonly [string, Parameters<typeof changed>[0]])[]) {
  test(`under an enforced rule: ${what}: put right, and refused as the last word`, () => {
    const given = changed(edit)
    assert.equal(validate(given, enforced).verdict, 'refused')
    const decision = decide(given, enforced)
    assert.equal(decision.verdict, 'patched')
    assert.deepEqual(reasonsOf(validate(after(given, decision), enforced)), [])
  })
}

for (const [what, edit] of [
  ['the variable is the author’s own', (all) => withEnv(all, { name: 'SIDECAR_FIRST_READY_1_ENVOY', value: 'yes' })],
  ['a variable looks like one', (all) => withEnv(all, fromFile(), { name: 'SIDECAR_FIRST_READY_1', value: 'yes' })],
  [
    'the lock is a volume of another type',
    (_, spec) => withVolumes(spec, { name: volume, configMap: { name: 'open' } }),
  ],
  [
    'the app mounts the lock',
    (all) => {
      all[1] = { ...(all[1] as Container), volumeMounts: [{ name: volume, mountPath: '/mine' }] }
    },
  ],
  [
    'something else is mounted where the hook opens the lock',
    (all) => {
      all[0] = { ...(all[0] as Container), volumeMounts: [{ name: 'mine', mountPath: '/.sidecar-first-lock' }] }
    },
  ],
] as readonly (readonly [string, Parameters<typeof changed>[0]])[]) {
  test(`under an enforced rule: ${what}: refused`, () => {
    const given = changed(edit)
    assert.equal(decide(given, enforced).verdict, 'refused')
    assert.equal(validate(given, enforced).verdict, 'refused')
  })
}

test('no key of a pod takes off the lock of an enforced rule', () => {
  const given = pod({ lock: 'off' }, [app, envoy])
  const decision = decide(given, enforced)
  assert.deepEqual(gatesBefore(startOrder(after(given, decision)).at(-1) as Container), [1])
  assert.match(warningsOf(decision).join(), /sidecar-first\.dev\/lock has no effect: the rule mesh is enforced/)
})

test('a second look asks what a later gate can ask, and never what may run out', () => {
  const given = pod(
    {
      sidecars: 'a,b,c,d,envoy',
      lock: 'on',
      'check/a': 'tcp://:1',
      'check/b': 'file:///ready',
      'check/c': 'http://:3/',
      'on-timeout/c': 'continue',
      'check/d': 'none',
    },
    [app, ...['a', 'b', 'c', 'd'].map((name): Container => ({ name, image: name })), envoy],
  )
  const [, , spec] = hookOf(after(given), 'envoy') ?? []
  const { lock } = JSON.parse(spec ?? '') as { lock: Fields }
  assert.deepEqual(lock.earlier, [{ container: 'a', check: 'tcp://:1' }])
})

test('a hook hands over where the kubelet learns that the sidecar is ready, and blocks where it doesn’t', () => {
  const handOver = (...containers: readonly Container[]) => {
    const sidecars = containers.map(({ name }) => name).join('+')
    const checks = Object.fromEntries(containers.map(({ name }, at) => [`check/${name}`, `tcp://:${at + 1}`]))
    const given = pod({ ...checks, sidecars, lock: 'on' }, [app, ...containers])
    const [, , spec] = hookOf(after(given), containers.at(-1)?.name ?? '') ?? []
    return (JSON.parse(spec ?? '') as { lock: Fields }).lock.handOver
  }
  assert.equal(handOver(envoy), '30s')
  assert.equal(handOver({ name: 'a', image: 'a' }, envoy), undefined)
  assert.equal(handOver({ name: 'a', image: 'a', startupProbe: ready }, envoy), '30s')
})

test('a well-known sidecar’s own hook has no lock', () => {
  const mesh = configured('rules: [{name: mesh, match: {preset: istio}, lock: on}]\n')
  const hook = { postStart: { exec: { command: ['pilot-agent', 'wait'] } } }
  const given = pod({ sidecars: '*, envoy', lock: 'on' }, [
    { name: 'istio-proxy', image: 'istio/proxyv2:1.27', lifecycle: hook },
    app,
    envoy,
  ])
  const patched = after(given, decide(given, mesh))
  assert.deepEqual(startOrder(patched).map(gatesBefore), [[], [], [], [1]])
})

const new136 = configured('kubernetesVersion: 1.36\n')
const asks = { sidecars: 'envoy' }
const isLocked = (given: Pod) => startOrder(given).some((each) => gatesBefore(each).length > 0)

test('auto locks pods that ask, where every node knows the lock, and those under an enforced rule', () => {
  const given = pod(asks, [app, envoy])
  for (const [text, locks] of [
    ['kubernetesVersion: 1.36\n', true],
    ['kubernetesVersion: 1.35\n', true],
    ['kubernetesVersion: 1.34\n', false],
    ['kubernetesVersion: 1.36\ndefaults: {lock: off}\n', false],
    ['', false],
  ] as const) {
    const by = configured(text)
    const patched = after(given, decide(given, by))
    assert.equal(isLocked(patched), locks, text)
    assert.deepEqual([decide(patched, by).verdict, validate(patched, by).verdict], ['unchanged', 'allowed'], text)
  }
  const ruled = (more: string) =>
    configured(`kubernetesVersion: 1.36\nrules: [{name: mesh, match: {container: envoy}, tier: 1${more}}]\n`)
  const silent = pod({}, [app, envoy])
  for (const [more, locks] of [
    [', enforce: true', true],
    [', lock: on', true],
    ['', false],
  ] as const) {
    assert.equal(isLocked(after(silent, decide(silent, ruled(more)))), locks, more)
  }
  const decision = decide(silent, ruled(''))
  assert.match(warningsOf(decision).join(), /only a rule asks for its sidecars, and lock: on in the rule would lock it/)
})

/** A template that `inject` wrote before there were locks, with a waiter of that image. */
const injected = (image: string, waiter: string): Pod => {
  const given = pod({ ...asks, waiter }, [app, envoy])
  return after(given, decide(given, configured(`waiter: {image: ${image}}\ndefaults: {lock: off}\n`)))
}
const labelled = (given: Pod, labels: Fields): Pod => ({ ...given, metadata: { ...given.metadata, labels } })
for (const [what, given, why, locksAnyway] of [
  [
    'a pod whose dead sidecar is never restarted',
    pod(asks, [app, envoy], { restartPolicy: 'Never' }),
    /restartPolicy Never a sidecar that dies/,
    pod({ ...asks, gate: 'native' }, [app, envoy], { restartPolicy: 'Never' }),
  ],
  [
    'a runtime that nobody named',
    pod(asks, [app, envoy], { runtimeClassName: 'kata' }),
    /name it in the configuration under lock\.runtimeClasses/,
    pod(asks, [app, envoy], { runtimeClassName: 'gvisor' }),
  ],
  [
    'a virtual node',
    pod(asks, [app, envoy], { nodeSelector: { type: 'virtual-kubelet' } }),
    /a virtual node has no kubelet/,
    pod(asks, [app, envoy], { nodeSelector: { type: 'fast' } }),
  ],
  [
    'a pod of Tekton',
    labelled(pod(asks, [app, envoy]), { 'tekton.dev/taskRun': 'build' }),
    /Tekton fails a TaskRun/,
    labelled(pod(asks, [app, envoy]), { team: 'tekton' }),
  ],
  [
    'a sidecar whose own hook waits',
    pod({ ...asks, 'check/envoy': 'hook:["wait"]' }, [app, envoy]),
    /the sidecar's own hook waits, and the lock would need the waiter/,
    pod({ sidecars: 'a,envoy', 'check/a': 'tcp://:1', 'check/envoy': 'hook:["wait"]' }, [
      app,
      { name: 'a', image: 'a' },
      envoy,
    ]),
  ],
  ...(['init-container', 'image-volume'] as const).map(
    (waiter) =>
      [
        `a template with another waiter, by ${waiter},`,
        injected('mirror.example/waiter:0.1.0', waiter),
        /the pod brings a waiter of another image, which may be too old to unlock it; write its template again with inject/,
        injected(new136.waiter.image, waiter),
      ] as const,
  ),
] as const) {
  test(`auto leaves ${what} unlocked and says why; lock: on locks it`, () => {
    const by = configured('kubernetesVersion: 1.36\nlock: {runtimeClasses: [gvisor]}\n')
    const decision = decide(given, by)
    const patched = after(given, decision)
    assert.equal(isLocked(patched), false)
    assert.match(warningsOf(decision).join(), why)
    assert.equal(validate(patched, by).verdict, 'allowed')
    const { annotations } = given.metadata
    const on = { ...(annotations as Fields), 'sidecar-first.dev/lock': 'on' }
    const asking = { ...given, metadata: { ...given.metadata, annotations: on } }
    assert.equal(isLocked(after(asking, decide(asking, by))), true)
    assert.equal(isLocked(after(locksAnyway, decide(locksAnyway, by))), true)
  })
}

test('auto gives way to a variable of the author, which only refuses the pod where a lock is asked for', () => {
  const given = pod(asks, [{ ...app, env: [{ name: 'SIDECAR_FIRST_READY_1', value: 'mine' }] }, envoy])
  const decision = decide(given, new136)
  assert.match(warningsOf(decision).join(), /the app isn't locked: the variable/)
  assert.equal(validate(after(given, decision), new136).verdict, 'allowed')
  const on = pod(locked, given.spec.containers)
  assert.equal(decide(on, new136).verdict, 'refused')
})

test('called by webhook configurations of 0.1, auto locks nothing: its servers would refuse the pod', () => {
  const given = pod(asks, [app, envoy])
  assert.equal(isLocked(after(given, decide(given, new136, { job: false, asker: 'unlocked' }))), false)
  const on = pod(locked, [app, envoy])
  assert.equal(isLocked(after(on, decide(on, new136, { job: false, asker: 'unlocked' }))), true)
})

/** The lock's keys, as each container waits for them. */
const keysOf = (patched: Pod) =>
  Object.fromEntries(
    startOrder(patched).flatMap(({ name, env = [] }) => {
      const found = (env as readonly Fields[]).filter(({ valueFrom }) => valueFrom !== undefined)
      return found.length > 0 ? [[name, found.map((each) => each.name)] as const] : []
    }),
  )

test('a lock names the first sidecar that it waits for, so that the kubelet’s message does', () => {
  const long = `a-${'b'.repeat(60)}c`
  const given = pod({ sidecars: 'vault-agent, quiet + envoy + otel', 'check/quiet': 'none', lock: 'on' }, [
    app,
    ...['quiet', 'envoy', 'otel', 'vault-agent'].map((name): Container => ({ ...envoy, name })),
  ])
  const [one, two] = ['SIDECAR_FIRST_READY_1_VAULT_AGENT', 'SIDECAR_FIRST_READY_2_ENVOY']
  assert.deepEqual(keysOf(after(given)), { quiet: [one], envoy: [one], otel: [one], app: [two, one] })
  const native = pod({ sidecars: long, gate: 'native', lock: 'on', waiter: 'shell' }, [app, { ...envoy, name: long }])
  assert.deepEqual(keysOf(after(native)), { app: [`SIDECAR_FIRST_READY_1_A_${'B'.repeat(38)}`] })
})

test('where a replica of before may be asked, a lock names nobody', () => {
  for (const waiter of ['shell', 'image-volume']) {
    const given = pod({ ...asks, waiter }, [app, envoy])
    const unnamed = after(given, decide(given, new136, { job: false, asker: 'unnamed' }))
    assert.deepEqual(keysOf(unnamed), { app: ['SIDECAR_FIRST_READY_1'] })
    const on = pod({ ...locked, waiter }, [app, envoy])
    const unlocked = after(on, decide(on, new136, { job: false, asker: 'unlocked' }))
    assert.deepEqual(keysOf(unlocked), { app: ['SIDECAR_FIRST_READY_1'] })
    // What such a replica, or `inject` of before, has written stays as it is, and what a newer one has is put right for it.
    assert.equal(decide(unnamed, new136).verdict, 'unchanged')
    assert.equal(validate(unnamed, new136).verdict, 'allowed')
    const named = after(given, decide(given, new136))
    assert.equal(validate(named, new136).verdict, 'allowed')
    const again = after(named, decide(named, new136, { job: false, asker: 'unnamed' }))
    assert.deepEqual(keysOf(again), keysOf(unnamed))
    assert.equal(validate(again, new136).verdict, 'allowed')
  }
})

test('replicas that differ about auto refuse nothing that one of them has made', () => {
  const old = configured('kubernetesVersion: 1.34\n')
  const off = configured('kubernetesVersion: 1.36\ndefaults: {lock: off}\n')
  const mesh = 'rules: [{name: mesh, match: {container: envoy}, tier: 1, enforce: true}]\n'
  const [enforcing, lax] = [configured(`kubernetesVersion: 1.36\n${mesh}`), configured(mesh)]
  let seen = 0
  fc.assert(
    fc.property(
      anyPod,
      fc.constantFrom([new136, old], [old, new136], [new136, off], [off, new136], [enforcing, lax], [lax, enforcing]),
      (given, [one, other]) => {
        const { 'sidecar-first.dev/lock': _, ...annotations } = given.metadata.annotations as Fields
        const before = { ...given, metadata: { ...given.metadata, annotations } } as Pod
        const decision = decide(before, one as Configuration)
        fc.pre(decision.verdict === 'patched')
        const patched = after(before, decision)
        for (const each of [one, other]) {
          const reasons = validate(patched, each as Configuration).reasons.filter(
            ({ kind }) => kind !== 'container-missing' && kind !== 'container-misspelt',
          )
          assert.deepEqual(reasons, [])
        }
        if (isLocked(patched)) seen += 1
      },
    ),
    runs(500),
  )
  assert.ok(seen > 0)
})

test('what auto has locked has to be locked as a whole', () => {
  const given = pod(asks, [app, envoy])
  const patched = after(given, decide(given, new136))
  const [first, second] = patched.spec.containers as readonly [Container, Container]
  const dropped = { ...patched, spec: { ...patched.spec, containers: [first, { ...second, env: [] }] } }
  assert.match(reasonsOf(validate(dropped, new136)).join(), /app hasn't exactly the variables/)
})

test('a lock that nothing opens is refused, whoever took it from the hook: a replica of 0.1 rewrites the hook and keeps the variable', () => {
  for (const waiter of ['shell', 'image-volume']) {
    const given = pod({ ...asks, waiter }, [app, envoy])
    const patched = after(given, decide(given, new136))
    const open = pod({ ...asks, waiter, lock: 'off' }, [app, envoy])
    const [first, second] = patched.spec.containers as readonly [Container, Container]
    const [{ lifecycle }] = after(open, decide(open, new136)).spec.containers as readonly [Container]
    const rewritten = { ...patched, spec: { ...patched.spec, containers: [{ ...first, lifecycle }, second] } }
    const status = 'sidecar-first.dev/status'
    const written = JSON.parse(String((patched.metadata.annotations as Fields)[status]))
    for (const version of [written.version, '0.0.1']) {
      const annotations = {
        ...(patched.metadata.annotations as Fields),
        [status]: JSON.stringify({ ...written, version }),
      }
      const stuck = { ...rewritten, metadata: { ...patched.metadata, annotations } } as Pod
      assert.match(
        reasonsOf(validate(stuck, new136)).join(),
        /app hasn't exactly the variables/,
        `${waiter} ${version}`,
      )
      assert.equal(validate({ ...stuck, spec: patched.spec }, new136).verdict, 'allowed')
    }
  }
})

/** What the hook of envoy says of the lock. */
const lockOf = (given: Pod) => (specOf(given, 'envoy') as { lock?: Record<string, Json> }).lock
const texts = ['0s', '1s500ms', '5s', '30s', 'always'] as const
const maybeText = fc.option(fc.constantFrom(...texts), { nil: undefined })
const saying = fc.record({
  enforce: fc.boolean(),
  lease: fc.constantFrom('on', 'off'),
  waiter: fc.constantFrom('init-container', 'image-volume'),
  gate: fc.constantFrom('hook', 'native'),
  rule: maybeText,
  standard: maybeText,
  own: maybeText,
})

test('how long later starts wait is the pod’s to say, but where the rule is enforced; waiters of before never hear of the default', () => {
  fc.assert(
    fc.property(saying, ({ enforce, lease, waiter, gate, rule, standard, own }) => {
      const said = (text: string | undefined) => (text === undefined ? '' : `, lockRestarts: ${text}`)
      const by = configured(
        [
          `lock: {lease: ${lease}}`,
          `waiter: {delivery: ${waiter}}`,
          `defaults: {gate: ${gate}${said(standard)}}`,
          `rules: [{name: r, match: {container: envoy}, tier: 1, lock: on, enforce: ${enforce}${said(rule)}}]\n`,
        ].join('\n'),
      )
      const given = pod(own === undefined ? {} : { 'lock-restarts': own }, [app, envoy])
      const decision = decide(given, by)
      const made = after(given, decision)
      const wanted = (enforce ? undefined : own) ?? rule ?? standard ?? '5s'
      const fields = lease === 'off' ? { lease } : wanted === '5s' ? {} : { restarts: wanted }
      const { file, key, handOver, ...more } = lockOf(made) ?? {}
      assert.deepEqual(more, fields)
      assert.deepEqual(validate(made, by).reasons, [])
      assert.equal(decide(made, by).verdict, 'unchanged')
      // What has no effect is told.
      const unused = own !== undefined && (enforce || lease === 'off')
      assert.equal(/lock-restarts has no effect/.test(warningsOf(decision).join()), unused)
    }),
    runs(300),
  )
})

test('a hook of a replica that knows no lease is admitted; one that says otherwise than an enforced rule isn’t', () => {
  const fields = fc.record({ lease: fc.constantFrom('off', undefined), restarts: maybeText }, { noNullPrototype: true })
  const altered = fc.oneof({ weight: 1, arbitrary: fc.constant({ lease: undefined, restarts: undefined }) }, fields)
  fc.assert(
    fc.property(fc.boolean(), maybeText, altered, (enforce, rule, other) => {
      const text = `rules: [{name: r, match: {container: envoy}, tier: 1, lock: on, enforce: ${enforce}${rule ? `, lockRestarts: ${rule}` : ''}}]\n`
      const by = configured(text)
      const made = after(pod({}, [app, envoy]), decide(pod({}, [app, envoy]), by))
      const written = JSON.stringify(lockOf(made))
      const { lease, restarts, ...rest } = lockOf(made) ?? {}
      const said = JSON.stringify({ ...rest, ...JSON.parse(JSON.stringify(other)) })
      const final = JSON.parse(
        JSON.stringify(made).replace(JSON.stringify(written).slice(1, -1), JSON.stringify(said).slice(1, -1)),
      )
      assert.equal(JSON.stringify(lockOf(final)), said)
      const kinds = validate(final, by).reasons.map(({ kind }) => kind)
      const isOlder = other.lease === undefined && other.restarts === undefined
      const isRight = !enforce || isOlder || said === written
      assert.deepEqual(kinds, isRight ? [] : ['lease-differs', 'changed-later'])
      // And put right, whoever wrote it.
      assert.deepEqual(lockOf(after(final, decide(final, by))), lockOf(made))
    }),
    runs(200),
  )
})

test('a lease is held only where there is something to ask again, and no later start is said to wait for what isn’t', () => {
  let leased = 0
  fc.assert(
    fc.property(anyPod, ({ metadata, ...rest }) => {
      const annotations: Fields = { ...(metadata.annotations as Fields), 'sidecar-first.dev/lock': 'on' }
      const before: Pod = { ...rest, metadata: { ...metadata, annotations } }
      const decision = decide(before, new136)
      if (decision.verdict !== 'patched') return
      const made = after(before, decision)
      const all = [...made.spec.containers, ...((made.spec.initContainers ?? []) as readonly Container[])]
      const specs = all.flatMap(({ name }): ReturnType<typeof specOf>[] => {
        const [program] = hookOf(made, name) ?? []
        return program === '/.sidecar-first/wait' ? [specOf(made, name)] : []
      })
      const asking = specs.filter((each) => {
        const { handOver, lease } = (each as { lock?: Fields }).lock ?? {}
        return handOver !== undefined && lease === undefined
      })
      leased += asking.length
      for (const { checks } of asking) assert.ok(checks.length > 0, JSON.stringify(asking))
      const asked = new Set(asking.flatMap(({ checks }) => checks.map((each) => each.container)))
      for (const { name, gate } of decision.tiers.flat()) {
        if (gate?.restarts !== undefined && gate.restarts !== '0s') assert.ok(asked.has(name), name)
      }
    }),
    runs(500),
  )
  assert.ok(leased > 0)
})

test('the longest of a tier counts, and only a hook that hands over leases', () => {
  const by = configured(
    `rules:\n${['a: 0s', 'b: 10s', 'c: always', 'envoy: 5s']
      .map((each) => each.split(': '))
      .map(
        ([name, text]) => `- {name: ${name}, match: {container: ${name}}, tier: 1, lock: on, lockRestarts: ${text}}\n`,
      )
      .join('')}`,
  )
  const made = (...containers: readonly Container[]) => {
    const given = pod({}, [app, ...containers, envoy])
    return lockOf(after(given, decide(given, by)))
  }
  assert.equal(made({ ...envoy, name: 'a' })?.restarts, undefined)
  assert.equal(made({ ...envoy, name: 'a' }, { ...envoy, name: 'b' })?.restarts, '10s')
  assert.equal(made({ ...envoy, name: 'b' }, { ...envoy, name: 'c' })?.restarts, 'always')
  const unprobed = pod({ sidecars: 'envoy', lock: 'on', 'lock-restarts': '0s', 'check/envoy': 'tcp://:1' }, [
    app,
    { name: 'envoy', image: 'envoy' },
  ])
  assert.deepEqual(Object.keys(lockOf(after(unprobed)) ?? {}), ['file', 'key'])
  const unused = /lock-restarts has no effect: nothing in the pod waits for a lock with a lease/
  const hooked = { 'check/envoy': 'hook:["ready"]' }
  for (const annotations of [{ 'check/envoy': 'tcp://:1' }, hooked, { lock: 'off' }, { waiter: 'shell' }]) {
    const container = annotations !== hooked && 'check/envoy' in annotations ? { name: 'envoy', image: 'envoy' } : envoy
    const decision = decided(pod({ ...locked, 'lock-restarts': 'always', ...annotations }, [app, container]))
    assert.match(warningsOf(decision).join(), unused)
  }
  // Nothing is behind the only tier, whose hook leases all the same.
  const alone = pod({ ...locked, sidecars: 'otel + envoy', 'lock-restarts': 'always' }, [
    envoy,
    { ...envoy, name: 'otel' },
  ])
  assert.equal(lockOf(after(alone))?.restarts, 'always')
  assert.match(warningsOf(decided(alone)).join(), unused)
})

test('what can’t be is a problem that names what is meant, in a pod and in a configuration', () => {
  const reasons = reasonsOf(decided(pod({ ...locked, 'lock-restarts': '45s' }, [app, envoy])))
  assert.match(
    reasons.join(),
    /lock-restarts: "45s" is neither a duration from 0s to 30s nor always; did you mean 30s\?/,
  )
  const faultsIn = (text: string) => {
    const read = readConfiguration(`apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${text}`, '0.0.0-test')
    return (read.ok ? read.notices : read.problems).map(({ fault }) => faultText(fault))
  }
  assert.match(faultsIn('defaults: {lockRestarts: 5}\n').join(), /^defaults\.lockRestarts: "5".*did you mean 5s\?$/)
  assert.match(faultsIn('lock: {lease: maybe}\n').join(), /^lock\.lease: "maybe" is not one of on, off/)
  const off =
    'lock: {lease: off}\ndefaults: {lockRestarts: 0s}\nrules: [{name: r, match: {container: x}, tier: 1, lockRestarts: always}]\n'
  assert.deepEqual(faultsIn(off), [
    'defaults.lockRestarts changes nothing: lock.lease is off',
    'rules[0].lockRestarts changes nothing: lock.lease is off',
  ])
  assert.deepEqual(faultsIn(off.replace('lease: off', 'lease: on')), [])
})
