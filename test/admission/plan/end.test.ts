import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import { validate } from '../../../src/admission/validate.ts'
import { coded } from '../../../src/admission/words/messages.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { after, app, type Container, configuration, decided, type Fields, type Pod, pod } from '../pods.ts'

const ready = { httpGet: { port: 8080, path: '/ready' } }
const envoy: Container = { name: 'envoy', readinessProbe: ready }
const otel: Container = { name: 'otel', readinessProbe: ready }
const drain = { exec: { command: ['sh', '-c', 'drain'] } }
const with_ = (container: Container, preStop: Fields): Container => ({ ...container, lifecycle: { preStop } })
const last = (more: Fields, containers: readonly Container[] = [app, envoy], spec: Fields = {}) =>
  pod({ sidecars: 'envoy', end: 'last', ...more }, containers, spec)

const all = ({ spec }: Pod): readonly Container[] => [
  ...((spec.initContainers ?? []) as Container[]),
  ...spec.containers,
]
/** The preStop hooks by container: of ours what the waiter is told. */
const preStops = (made: Pod): { readonly [name: string]: { readonly [kind: string]: Fields } | undefined } =>
  Object.fromEntries(
    all(made).map(({ name, lifecycle }) => {
      const preStop = (lifecycle as Fields | undefined)?.preStop as { [kind: string]: Fields } | undefined
      const [program, kind = '', flag, spec = ''] = (preStop?.exec?.command ?? []) as readonly string[]
      if (program !== '/.sidecar-first/wait') return [name, preStop]
      assert.equal(flag, '--spec')
      return [name, { [kind]: JSON.parse(spec) }]
    }),
  )
const file = (name: string) => `/.sidecar-first-ends/${name}`
const codesOf = (made: Pod, by = configuration) => decide(made, by).warnings.map((each) => coded(each).slice(0, 5))
const configured = (text: string) => {
  const read = readConfiguration(`apiVersion: sidecar-first.dev/v1\nkind: Configuration\n${text}`, '0.0.0-test')
  assert.ok(read.ok, JSON.stringify(read))
  return read.configuration
}

test('what is behind a sidecar that ends last witnesses its end, and the sidecar waits for it; tiers in reverse', () => {
  const before = last({ sidecars: 'envoy, otel' }, [with_(app, drain), with_(envoy, { sleep: { seconds: 9 } }), otel])
  const made = after(before)
  assert.deepEqual(preStops(made), {
    'sidecar-first-waiter': undefined,
    envoy: {
      others: {
        v: 1,
        files: [file('app'), file('otel')],
        ...{ appear: '5s', limit: '25s', before: { sleep: { seconds: 9 } } },
      },
    },
    otel: { others: { v: 1, file: file('otel'), files: [file('app')], appear: '5s', limit: '20s' } },
    app: { witness: { v: 1, file: file('app'), before: { exec: drain.exec.command } } },
  })
  const mounts = [
    { name: 'sidecar-first-waiter', mountPath: '/.sidecar-first', readOnly: true },
    { name: 'sidecar-first-ends', mountPath: '/.sidecar-first-ends' },
  ]
  for (const { volumeMounts } of made.spec.containers) assert.deepEqual(volumeMounts, mounts)
  assert.deepEqual((made.spec.volumes as Fields[]).at(-1), {
    name: 'sidecar-first-ends',
    emptyDir: { medium: 'Memory', sizeLimit: '1Mi' },
  })
  assert.equal(decided(made).verdict, 'unchanged')
  assert.deepEqual(validate(made, configuration).reasons, [])
  assert.deepEqual(codesOf(before), ['SF219', 'SF263'], 'its fixed sleep can go')
  assert.deepEqual(codesOf(last({ waiter: 'image-volume' })), ['SF252'])
})

test('a native sidecar that has no preStop gets nothing; one that has waits in it', () => {
  const native = { gate: 'native' }
  assert.deepEqual(after(last(native)).spec, after(last({ ...native, end: 'together' })).spec)
  const made = after(last(native, [app, with_(envoy, drain)]))
  assert.deepEqual(Object.keys(preStops(made).envoy ?? {}), ['others'])
  assert.deepEqual(Object.keys(preStops(made).app ?? {}), ['witness'])
  assert.equal(decided(made).verdict, 'unchanged')
})

test('a container that is injected later is waited for, too; without the annotation all preStops are as they were', () => {
  const given = last({}, [with_(app, drain), with_(envoy, drain)])
  const once = after(given)
  const late = { ...once, spec: { ...once.spec, containers: [otel, ...once.spec.containers] } }
  const made = after(late)
  assert.deepEqual(preStops(made).envoy?.others?.files, [file('app'), file('otel')])
  assert.deepEqual(preStops(made).otel, { witness: { v: 1, file: file('otel') } })
  const { 'sidecar-first.dev/end': _, ...annotations } = made.metadata.annotations as Fields
  const off = after({ ...made, metadata: { ...made.metadata, annotations } })
  assert.deepEqual(preStops(off), { ...preStops(given), otel: undefined, 'sidecar-first-waiter': undefined })
  assert.equal(off.spec.containers.find(({ name }) => name === 'otel')?.lifecycle, undefined)
})

test('the grace period bounds all waits; below 5 s a warning says so, and up to 3 s nothing is written', () => {
  const times = (seconds: number | undefined, more: Fields = {}) => {
    const spec = seconds === undefined ? {} : { terminationGracePeriodSeconds: seconds }
    const { others } = preStops(after(last(more, undefined, spec))).envoy ?? {}
    return others && [others.limit, others.appear]
  }
  assert.deepEqual(times(undefined), ['20s', '5s'])
  assert.deepEqual(times(6, { 'end-appear': '10s' }), ['3s', '2s'])
  assert.deepEqual(times(4), ['1s', '1s333ms'])
  assert.deepEqual([times(3), times(0), times(-1)], [undefined, undefined, undefined])
  assert.deepEqual(times(1e300), ['480h', '5s'])
  const warned = (seconds: number) => codesOf(last({}, undefined, { terminationGracePeriodSeconds: seconds }))
  assert.deepEqual([warned(3).includes('SF264'), warned(4).includes('SF264')], [true, true])
  assert.ok(!warned(5).includes('SF264'))
})

test('a preStop that the kubelet always fails is left out, and said; one that cannot be read is refused', () => {
  for (const [preStop, why] of [
    [{ tcpSocket: { port: 1 } }, 'no tcpSocket hooks'],
    [{ exec: { command: [''] } }, 'its program is empty'],
    [{ httpGet: { port: 'missing' } }, "a port that isn't there"],
  ] as const) {
    const given = last({}, [with_(app, preStop), envoy])
    const said = decided(given).warnings.map(coded)
    assert.ok(
      said.some((each) => each.startsWith('SF261') && each.includes(why)),
      said.join(),
    )
    assert.deepEqual(preStops(after(given)).app, { witness: { v: 1, file: file('app') } })
  }
  const refusal = (given: Pod, by = configuration) => decide(given, by).reasons.map(coded).join()
  const enforcedLast = 'rules: [{name: r, match: {container: envoy}, tier: 1, end: last, enforce: true}]'
  assert.match(refusal(last({}, [with_(app, { ping: {} }), envoy])), /SF101 spec\.containers\[0\]\.lifecycle\.preStop/)
  assert.equal(decided(pod({ sidecars: 'envoy' }, [with_(app, { ping: {} }), envoy])).verdict, 'patched')
  const odd = { exec: { command: ['/.sidecar-first/wait', 'witness', '--spec', '{'] } }
  assert.match(refusal(last({}, [with_(app, odd), envoy])), /SF122 .*lifecycle\.preStop/)
  const long = { exec: { command: ['x'.repeat(98 * 1024)] } }
  assert.match(refusal(last({}, [with_(app, long), envoy])), /SF128 .* because of the preStop hook that it already has/)
  // Each sidecar names all that is behind it.
  const many = (name: string, count: number) =>
    Array.from({ length: count }, (_, n): Container => ({ ...envoy, name: `${name.repeat(50)}${n}` }))
  const sidecars = many('s', 40)
  const list = sidecars.map(({ name }) => name).join()
  assert.match(refusal(last({ sidecars: list }, [...many('a', 400), ...sidecars])), /SF180 .*16780 ends; at most 2048/)
  assert.match(refusal(last({ waiter: 'shell' })), /SF177/)
  const name = 'sidecar-first-ends'
  for (const mount of [{ name: 'data' }, { name, subPath: 'x' }, { name, readOnly: true }]) {
    const taken = { ...app, volumeMounts: [{ ...mount, mountPath: '/.sidecar-first-ends/' }] }
    assert.match(refusal(last({}, [taken, envoy])), /SF133/)
  }
  // What lies over a file in it is what a hook would find there.
  const over = '/x/..//.sidecar-first-ends/app'
  for (const more of [{ volumeMounts: [{ name: 'data', mountPath: over }] }, { terminationMessagePath: over }]) {
    for (const pair of [
      [{ ...app, ...more }, envoy],
      [app, { ...envoy, ...more }],
    ]) {
      assert.match(refusal(last({}, pair)), /SF133/)
      assert.match(refusal(pod({}, pair), configured(enforcedLast)), /SF133/)
    }
  }
  assert.match(refusal(last({}, undefined, { volumes: [{ name: 'sidecar-first-ends', secret: {} }] })), /SF132/)
})

test('a waiter of another image, which may be older, is told of ends only if it was before', () => {
  const older = configured('waiter: {image: "example/waiter:older"}')
  const plain = pod({ sidecars: 'envoy' }, [app, envoy])
  const template = after(plain, decide(plain, older))
  const annotations = { ...(template.metadata.annotations as Fields), 'sidecar-first.dev/end': 'last' }
  const asking = { ...template, metadata: { ...template.metadata, annotations } }
  assert.ok(codesOf(asking).includes('SF262'))
  assert.equal(preStops(after(asking)).app, undefined)
  const mirrored: Pod = JSON.parse(JSON.stringify(after(last({}))).replaceAll('sidecar-first/waiter', 'mirror/waiter'))
  assert.equal(decided(mirrored).verdict, 'unchanged')
})

test('rules and defaults say it, too; the final check wants it where the pod or an enforced rule says it', () => {
  const rule = (more: string) =>
    configured(`rules: [{name: r, match: {container: envoy}, tier: 1, end: last, endAppear: 1s${more}}]`)
  const plain = pod({ sidecars: 'envoy' }, [app, envoy])
  for (const by of [rule(''), configured('defaults: {end: last, endAppear: 1s}')]) {
    const made = after(plain, decide(plain, by))
    assert.equal(preStops(made).envoy?.others?.appear, '1s')
    assert.equal(preStops(after(last({ end: 'together' }), decide(last({ end: 'together' }), by))).envoy, undefined)
    // A replica with another configuration may have patched it.
    assert.deepEqual(validate(made, configuration).reasons, [])
    assert.deepEqual(validate(after(plain), by).reasons, [])
  }
  const enforced = rule(', enforce: true')
  const together = last({ end: 'together' })
  const bound = after(together, decide(together, enforced))
  assert.equal(preStops(bound).envoy?.others?.limit, '20s')
  const codes = (final: Pod, by = enforced) => validate(final, by).reasons.map((each) => coded(each).slice(0, 5))
  assert.deepEqual(codes(bound), [])
  const without = (key: string, made: Pod): Pod => ({
    ...made,
    spec: {
      ...made.spec,
      containers: made.spec.containers.map((each) =>
        each.name === 'app' ? (Object.fromEntries(Object.entries(each).filter(([k]) => k !== key)) as Container) : each,
      ),
    },
  })
  for (const by of [enforced, configuration]) {
    const made = by === enforced ? bound : after(last({}))
    assert.deepEqual(codes(without('lifecycle', made), by), ['SF178', 'SF146'])
    assert.ok(codes(without('volumeMounts', made), by).includes('SF179'))
  }
  const rules = 'rules: [{name: r, match: {container: envoy}, tier: 1, end: last, enforce: true}]'
  // A replica that no longer has it end last sees hooks that wait for nothing.
  const asked = after(last({}, [with_(app, drain), envoy]), decide(last({}, [with_(app, drain), envoy]), enforced))
  assert.deepEqual(codes(asked, configured(rules.replace('last', 'together'))), [])
  // In detail an enforced rule is exact, and a pod's own wish isn't.
  const shorter = (made: Pod): Pod =>
    JSON.parse(JSON.stringify(made).replaceAll('"20s', '"2s').replaceAll('\\"20s', '\\"2s'))
  assert.deepEqual(codes(shorter(bound)), ['SF178', 'SF146'])
  assert.deepEqual(codes(shorter(after(last({}))), configuration), [])
  // Nor by what a status says of another version.
  const otherwise = after(pod({ sidecars: 'envoy' }, [app, envoy]))
  const forged: Pod = JSON.parse(JSON.stringify(otherwise).replaceAll(configuration.version, '0.9.0'))
  assert.ok(codes(forged).includes('SF178'))
  // Another version that knows no ends patched it, or planned it last.
  const of = (version: string, made: Pod): Pod =>
    JSON.parse(JSON.stringify(made).replaceAll(configuration.version, version))
  assert.deepEqual(codes(of('0.0.1', after(pod({ sidecars: 'envoy' }, [app, envoy]))), configuration), [])
  assert.deepEqual(validate(after(last({})), defaultConfiguration('0.0.9')).reasons, [])
})

test('a preStop of a sidecar that only sleeps is said to be superfluous', () => {
  const exec = (...command: string[]) => ({ exec: { command } })
  const isTold = (preStop: Fields) => codesOf(last({}, [app, with_(envoy, preStop)])).includes('SF263')
  const sleeps = [exec('sleep', '15'), exec('/bin/sh', '-c', 'sleep 15s'), exec('bash', '-c', 'sleep 5')]
  assert.deepEqual(sleeps.map(isTold), [true, true, true])
  const others = [{ sleep: { seconds: 0 } }, exec('sh', '-c', 'sleep 5; quit'), exec('sleep', '5', 'x', 'y'), exec('x')]
  assert.deepEqual(others.map(isTold), [false, false, false, false])
})
