import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../src/admission/decide.ts'
import { defaultConfiguration } from '../../src/admission/intent/configuration.ts'
import { review } from '../../src/admission/review.ts'
import { textOf } from '../../src/admission/words/messages.ts'
import { readConfiguration } from '../../src/configuration/read.ts'
import { app, type Container, configuration, type Fields, pod, ready } from './pods.ts'

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const sidecar = (more: Fields): Container => ({ name: 's', image: 's', ...more })
const reasonsOf = (object: unknown, by = configuration) => {
  const { verdict, reasons } = decide(object, by)
  return [verdict, ...reasons.map(textOf)]
}
const ruled = (more = '') => {
  const read = readConfiguration(
    `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: [{name: a, match: {container: s}, tier: 1${more}}]\n`,
    '0.0.0-test',
  )
  assert.ok(read.ok)
  return read.configuration
}

test('a probe whose command expands to more than a hook can hold is refused, and never expanded', () => {
  for (const [words, value] of [
    [many(10_000, () => '$(A)'), 'x'.repeat(20_000)],
    [['$(A)'.repeat(100_000)], 'x'.repeat(1000)],
    [many(20_000, () => '$(A)'), 'x'.repeat(1000)],
    [['x'.repeat(100_000)], ''],
  ] as const) {
    const probed = sidecar({ env: [{ name: 'A', value }], readinessProbe: { exec: { command: words } } })
    const [verdict, reason = ''] = reasonsOf(pod({ sidecars: 's' }, [app, probed]))
    assert.equal(verdict, 'refused')
    assert.match(reason, /the hook of s would be more than 96 KiB because of its readinessProbe/)
  }
})

test('probes that expand to more than an answer holds are refused, and no more of them is expanded', () => {
  const env = [{ name: 'A', value: 'x'.repeat(900) }]
  const names = many(500, (index) => `s${index}`)
  const probed = names.map((name) =>
    sidecar({ name, env, readinessProbe: { exec: { command: many(100, () => '$(A)') } } }),
  )
  for (const separator of [',', '+']) {
    const [verdict, reason] = reasonsOf(pod({ sidecars: names.join(separator) }, [app, ...probed]))
    assert.equal(verdict, 'refused')
    assert.equal(
      reason,
      'the answer about this pod would have at least 1,080,000 bytes; sidecar-first sends at most 1,048,576',
    )
  }
})

test('sidecars that end last name all behind them, and no more of their hooks are written than an answer holds', () => {
  const sidecars = many(4, (index) => sidecar({ name: `s${index}` }))
  const apps = many(400, (index): Container => ({ name: `a${index}`.padEnd(2000, 'x') }))
  const list = sidecars.map(({ name }) => name).join()
  const { reasons } = decide(pod({ sidecars: list, end: 'last' }, [...apps, ...sidecars]), configuration)
  assert.ok(reasons.some(({ kind }) => kind === 'answer-too-large'))
  assert.ok(reasons.length < 8, `${reasons.length} problems`)
})

test('a path that is longer than a hook can hold is refused', () => {
  const probed = sidecar({ readinessProbe: { httpGet: { port: 1, path: `/${'é'.repeat(100_000)}` } } })
  assert.match(
    reasonsOf(pod({ sidecars: 's' }, [app, probed])).join(),
    /^refused,.*96 KiB because of its readinessProbe/,
  )
})

test('more names than a pod can have containers are refused, in one tier or in many', () => {
  for (const separator of [',', '+']) {
    const names = many(513, (index) => `c${index}`)
    const [verdict, reason = ''] = reasonsOf(pod({ sidecars: names.join(separator) }, [app]))
    assert.equal(verdict, 'refused')
    assert.match(reason, /^sidecar-first.dev\/sidecars: more than 512 names/)
    assert.notEqual(reasonsOf(pod({ sidecars: names.slice(1).join(separator) }, [app]))[0], 'refused')
  }
})

test('annotations that Kubernetes would not store are not read', () => {
  const [verdict, reason = ''] = reasonsOf(pod({ sidecars: 's', other: 'x'.repeat(262_144) }, [app, sidecar({})]))
  assert.equal(verdict, 'refused')
  assert.match(reason, /^the annotations have 262,\d{3} characters; Kubernetes takes 256 KiB together$/)
})

test('more containers than are looked at: refused if the pod asks or a rule is enforced, otherwise left with a warning', () => {
  const containers = [sidecar({ readinessProbe: ready }), ...many(512, (index) => ({ name: `c${index}` }))]
  const why = 'spec: the pod has 513 containers; sidecar-first looks at most at 512'
  assert.deepEqual(reasonsOf(pod({ sidecars: 's' }, containers)), ['refused', why])
  assert.deepEqual(reasonsOf(pod({}, containers), ruled(', enforce: true')), ['refused', why])
  const left = decide(pod({}, containers), ruled())
  assert.deepEqual([left.verdict, left.warnings.map(textOf)], ['skipped', [`left untouched: SF103 ${why}`]])
  assert.equal(decide(pod({}, containers), configuration).verdict, 'skipped', 'it concerns nobody')
  assert.equal(decide(pod({ sidecars: 's' }, containers.slice(0, 512)), configuration).verdict, 'patched')
})

test('of many problems a hundred are collected and twenty told', () => {
  const wrong = pod({ sidecars: 'app' }, [{ ...app, ports: many(300_000, () => 1) }])
  const request = { uid: 'u', kind: { group: '', kind: 'Pod' }, operation: 'CREATE', object: wrong }
  const reviewed = review({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }, configuration)
  assert.ok(reviewed.ok)
  assert.equal(reviewed.reasons.length, 100)
  assert.match(reviewed.response.status?.message ?? '', /^at least 100 problems: \(1\) .*; and 80 more$/)
  const keys = Object.fromEntries(many(2000, (index) => [`check/c${index}`, 'no check']))
  assert.equal(decide(pod({ sidecars: 'app', ...keys }, [app]), defaultConfiguration('t')).reasons.length, 100)
})

test('a name of 300 kB in thousands of warnings is cut before it is worded', () => {
  const ports = many(15_000, (index) => ({ name: `p${index}` }))
  const long = pod({ sidecars: 's' }, [{ name: 'x'.repeat(300_000), ports }, sidecar({ readinessProbe: ready, ports })])
  const { verdict, warnings } = decide(long, configuration)
  assert.equal(verdict, 'patched')
  assert.ok(warnings.map(textOf).every((text) => text.length <= 256))
})

test('however many keys nobody knows, the others are read', () => {
  const unknown = Object.fromEntries(many(120, (index) => [`a${index}`, 'x']))
  const asking = pod({ ...unknown, sidecars: 's' }, [app, sidecar({ readinessProbe: ready })])
  assert.equal(decide(asking, configuration).verdict, 'patched')
})

test('an app that waits by itself is noticed by what its command says at its start', () => {
  const waits = (script: string) =>
    decide(
      pod({ sidecars: 's' }, [
        { ...app, command: ['sh', '-c', script] },
        sidecar({ readinessProbe: { tcpSocket: { port: 80 } } }),
      ]),
      configuration,
    ).warnings.some(({ kind }) => kind === 'waits-by-itself')
  assert.ok(waits('until nc -z localhost 80; do sleep 1; done; exec app'))
  assert.ok(!waits('until nc -z localhost 8080; do sleep 1; done; exec app'))
  assert.ok(!waits('exec app localhost:80'))
})

test('a forged hook of ours that is longer than any of ours is not parsed', () => {
  const spec = `{"v":1,"checks":[${many(40_000, () => '{}').join(',')}]}`
  const forged = { lifecycle: { postStart: { exec: { command: ['/.sidecar-first/wait', '--spec', spec] } } } }
  assert.match(reasonsOf(pod({ sidecars: 's' }, [app, sidecar(forged)])).join(), /^refused,.*this one cannot read/)
})
