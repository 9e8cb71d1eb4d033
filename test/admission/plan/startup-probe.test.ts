import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import type { Configuration } from '../../../src/admission/intent/configuration.ts'
import { validate } from '../../../src/admission/validate.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
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

const startupProbe = { ...ready, periodSeconds: 10, failureThreshold: 6 }
const envoy: Container = { name: 'envoy', startupProbe }

const places = {
  'in-place': (annotations: Fields, sidecar = envoy) =>
    pod({ sidecars: 'envoy', ...annotations }, [app], { initContainers: [{ ...sidecar, restartPolicy: 'Always' }] }),
  'moves-in': (annotations: Fields, sidecar = envoy) =>
    pod({ sidecars: 'envoy', gate: 'native', ...annotations }, [app, sidecar]),
} as const

/** The probe and the hook that a native sidecar ends up with. */
function found(object: Pod): { probe: string; hook: boolean } {
  const natives = object.spec.initContainers as readonly Container[]
  const probe = natives.find(({ name }) => name === 'envoy')?.startupProbe as Fields | undefined
  const { periodSeconds, failureThreshold } = probe ?? {}
  return {
    probe: probe ? `${periodSeconds} s × ${failureThreshold}` : 'none',
    hook: hookOf(object, 'envoy') !== undefined,
  }
}

describe('a native sidecar with a startupProbe', () => {
  const kept = { probe: '10 s × 6', hook: false }
  const eager = { probe: '1 s × 60', hook: false }
  const hook = { probe: 'none', hook: true }
  const table = {
    'in-place': { '': kept, keep: kept, eager, hook },
    'moves-in': { '': eager, keep: kept, eager, hook },
  } as const
  for (const [place, choices] of Object.entries(table)) {
    for (const [choice, expected] of Object.entries(choices)) {
      const made = places[place as keyof typeof places]
      const annotations: Fields = choice === '' ? {} : { 'startup-probe': choice }
      test(`${place}, ${choice || 'nothing asked'}: ${expected.probe}, ${expected.hook ? 'a hook' : 'no hook'}`, () => {
        const once = after(made(annotations))
        assert.deepEqual(found(once), expected)
        assert.deepEqual(after(once), once, 'a second pass finds nothing to do')
        assert.deepEqual(reasonsOf(validate(once, configuration)), [])
      })
    }
  }
})

test('one that already waits is left alone, and the reason says so', () => {
  const given = places['in-place']({})
  const decision = decided(given)
  assert.equal(decision.verdict, 'unchanged')
  assert.deepEqual(reasonsOf(decision), [
    'already starts envoy, before app',
    'envoy: its startupProbe already holds the app (asked every 10 s)',
  ])
  assert.deepEqual(decision.warnings, [])
})

test('how long the kubelet waits before it asks for the first time is said where that stays so', () => {
  const sidecar = { ...envoy, startupProbe: { ...startupProbe, initialDelaySeconds: 30 } }
  const delayed = (annotations: Fields) => reasonsOf(decided(places['in-place'](annotations, sidecar))).join('\n')
  assert.match(delayed({}), /already holds the app \(asked every 10 s, first after 30 s\)/)
  assert.match(delayed({ 'startup-probe': 'eager' }), /holds the app \(asked every 1 s\)/)
})

test('a probe without a hook costs no waiter: no volume, no init container', () => {
  const { spec } = after(places['moves-in']({}))
  assert.equal(spec.volumes, undefined)
  assert.deepEqual(
    (spec.initContainers as Container[]).map(({ name }) => name),
    ['envoy'],
  )
})

for (const waiter of ['init-container', 'shell']) {
  test(`hook: what the removed probe asked, and for how long, survives further passes (${waiter})`, () => {
    const probe = {
      ...startupProbe,
      httpGet: { ...ready.httpGet, httpHeaders: [{ name: 'X-Who', value: 'a: b' }] },
      timeoutSeconds: 5,
      failureThreshold: 30,
    }
    const given = places['moves-in'](
      { 'startup-probe': 'hook', waiter },
      { name: 'envoy', startupProbe: probe, readinessProbe: { tcpSocket: { port: 1 } } },
    )
    const once = after(given)
    assert.deepEqual(after(once), once)
    assert.match(JSON.stringify(hookOf(once, 'envoy')), /300|5m/)
    if (waiter === 'init-container') {
      assert.deepEqual(specOf(once, 'envoy').checks, [
        {
          container: 'envoy',
          check: 'http://:8080/ready',
          timeout: '5m',
          onTimeout: 'fail',
          headers: [{ name: 'X-Who', value: 'a: b' }],
          attemptTimeout: '5s',
        },
      ])
    }
  })
}

test('hook: a probe that no check can say is asked by the kubelet all the same', () => {
  const startupProbe = { httpGet: { port: 8080, httpHeaders: [{ name: 'a b', value: '' }] }, periodSeconds: 10 }
  const once = after(places['in-place']({ 'startup-probe': 'hook' }, { name: 'envoy', startupProbe }))
  assert.deepEqual(found(once), { probe: '1 s × 30', hook: false })
})

test('hook: a livenessProbe that nothing holds off any more is a warning', () => {
  const given = places['in-place']({ 'startup-probe': 'hook' }, { ...envoy, livenessProbe: ready })
  assert.match(warningsOf(decided(given)).join('\n'), /the livenessProbe of envoy may kill it/)
  assert.deepEqual(decided(places['in-place']({}, { ...envoy, livenessProbe: ready })).warnings, [])
})

test('a check that says something else is asked by a hook, beside the probe', () => {
  const once = after(places['in-place']({ 'check/envoy': 'tcp://:1' }))
  assert.deepEqual(found(once), { probe: '10 s × 6', hook: true })
  assert.deepEqual(found(after(places['in-place']({ 'check/envoy': 'http://:8080/ready' }))).hook, false, 'the same')
})

test('a timeout of ours has no effect where the probe holds the app', () => {
  const [warning] = warningsOf(decided(places['moves-in']({ timeout: '5s' })))
  assert.match(warning ?? '', /timeout has no effect on envoy: its startupProbe .* restarts envoy after 60 s/)
})

test('eager asks from the start: an initial delay counts as part of the total time', () => {
  const late = { name: 'envoy', startupProbe: { ...startupProbe, initialDelaySeconds: 261 } }
  for (const object of [places['in-place']({ 'startup-probe': 'eager' }, late), places['moves-in']({}, late)]) {
    const once = after(object)
    assert.deepEqual(found(once), { probe: '1 s × 321', hook: false })
    assert.equal(JSON.stringify(once).includes('initialDelaySeconds'), false)
    assert.equal(decided(once).verdict, 'unchanged')
  }
})

test('eager asks from the start where the probe is asked every second already', () => {
  const late = {
    name: 'envoy',
    startupProbe: { ...ready, periodSeconds: 1, failureThreshold: 60, initialDelaySeconds: 20 },
  }
  for (const object of [places['in-place']({ 'startup-probe': 'eager' }, late), places['moves-in']({}, late)]) {
    const decision = decided(object)
    const once = after(object)
    assert.deepEqual(found(once), { probe: '1 s × 80', hook: false })
    assert.equal(JSON.stringify(once).includes('initialDelaySeconds'), false)
    assert.match(reasonsOf(decision).join('\n'), /holds the app \(asked every 1 s\)/)
    assert.ok(decision.verdict === 'patched')
    assert.ok(
      decision.patch.every(({ path }) => !path.endsWith('/periodSeconds')),
      'what is so already is not written',
    )
    assert.equal(decided(once).verdict, 'unchanged')
  }
  assert.equal(decided(places['in-place']({}, late)).verdict, 'unchanged', 'left alone unless asked')
})

test('eager keeps to what the API takes as a threshold', () => {
  const startupProbe = { ...ready, periodSeconds: 2 ** 31 - 1, failureThreshold: 2 ** 31 - 1 }
  assert.deepEqual(found(after(places['in-place']({ 'startup-probe': 'eager' }, { name: 'envoy', startupProbe }))), {
    probe: `1 s × ${2 ** 31 - 1}`,
    hook: false,
  })
})

test('a tier of two: the one with the probe is waited for by the kubelet, the other by a hook', () => {
  const otel: Container = { name: 'otel', readinessProbe: { httpGet: { port: 13_133 } } }
  const given = pod({ sidecars: 'otel + envoy', gate: 'native' }, [app, otel, envoy])
  const once = after(given)
  assert.deepEqual(
    specOf(once, 'otel').checks.map(({ container }) => container),
    ['otel'],
  )
  assert.equal(hookOf(once, 'envoy'), undefined)
  assert.deepEqual(after(once), once)
})

test('existing-hook: keep beside a probe is still waited for', () => {
  const lifecycle = { postStart: { exec: { command: ['true'] } } }
  const given = places['in-place']({ 'existing-hook': 'keep' }, { ...envoy, lifecycle })
  assert.equal(decided(given).verdict, 'unchanged')
  assert.deepEqual(decided(given).warnings, [])
  const asked = places['in-place']({ 'existing-hook': 'keep', 'startup-probe': 'hook' }, { ...envoy, lifecycle })
  assert.equal(found(after(asked)).probe, '1 s × 60', 'nothing of ours could wait instead')
})

test('hook: a check of its own keeps the patience of the probe that is gone', () => {
  const once = after(
    places['in-place'](
      { 'startup-probe': 'hook', 'check/envoy': 'tcp://:1' },
      { ...envoy, startupProbe: { ...startupProbe, failureThreshold: 30 } },
    ),
  )
  assert.equal(specOf(once, 'envoy').checks[0]?.timeout, '5m')
  assert.deepEqual(after(once), once)
})

test('an unknown choice is refused by name', () => {
  assert.deepEqual(reasonsOf(decided(places['in-place']({ 'startup-probe': 'fast' }))), [
    'sidecar-first.dev/startup-probe: "fast" is not one of keep, eager, hook',
  ])
})

describe('rules and defaults', () => {
  const head = 'apiVersion: sidecar-first.dev/v1\nkind: Configuration\n'
  const configured = (text: string): Configuration => {
    const read = readConfiguration(head + text, '0.0.0-test')
    assert.ok(read.ok, JSON.stringify(read))
    return read.configuration
  }
  const rule = (more: string) => configured(`rules: [{name: mesh, match: {container: envoy}, tier: 1, ${more}}]\n`)
  const given = places['in-place']({})

  test('say it where the pod says nothing', () => {
    for (const asked of [rule('startupProbe: eager'), configured('defaults: {startupProbe: eager}\n')]) {
      assert.deepEqual(found(after(given, decide(given, asked))), { probe: '1 s × 60', hook: false })
      const own = places['in-place']({ 'startup-probe': 'keep' })
      assert.deepEqual(found(after(own, decide(own, asked))), { probe: '10 s × 6', hook: false })
    }
  })

  test('enforced: the pod has no say, and a pod that differs is refused', () => {
    const enforced = rule('startupProbe: eager, enforce: true')
    const own = places['in-place']({ 'startup-probe': 'keep' })
    assert.deepEqual(found(after(own, decide(own, enforced))), { probe: '1 s × 60', hook: false })
    assert.match(reasonsOf(validate(own, enforced))[0] ?? '', /the startupProbe of envoy isn't asked every second/)
    const hook = rule('startupProbe: hook, check: "http://:8080/ready", enforce: true')
    const once = after(own, decide(own, hook))
    assert.deepEqual(found(once), { probe: 'none', hook: true })
    assert.deepEqual(reasonsOf(validate(once, hook)), [])
    assert.match(reasonsOf(validate(own, hook)).join(), /envoy still has its startupProbe/)
  })

  test('enforced: what a forged hook says doesn’t count', () => {
    const enforced = configured(
      'defaults: {startupProbe: hook}\nrules: [{name: mesh, match: {container: envoy}, tier: 1, enforce: true}]\n',
    )
    const spec = { v: 1, checks: [{ container: 'envoy', check: 'exec:["true"]', timeout: '1m', onTimeout: 'fail' }] }
    const postStart = { exec: { command: ['/.sidecar-first/wait', '--spec', JSON.stringify(spec)] } }
    const forged = places['in-place']({}, { name: 'envoy', readinessProbe: ready, lifecycle: { postStart } })
    const once = after(forged, decide(forged, enforced))
    assert.deepEqual(
      specOf(once, 'envoy').checks.map(({ check }) => check),
      ['http://:8080/ready'],
    )
  })

  test('enforced without a check of its own, hook is a mistake in the configuration', () => {
    const text = `${head}rules: [{name: mesh, match: {container: envoy}, tier: 1, startupProbe: hook, enforce: true}]\n`
    const read = readConfiguration(text, '0.0.0-test')
    assert.match(JSON.stringify(read), /enforced-probe-gone/)
  })
})
