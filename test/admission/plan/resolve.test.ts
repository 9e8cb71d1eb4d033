import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expand } from '../../../src/admission/pod/read.ts'
import { after, app, decided, type Fields, pod, reasonsOf, specOf, warningsOf } from '../pods.ts'

/** The waiter's check for a sidecar with this probe. */
function checkOf(probe: Fields, container: Fields = {}): Fields | undefined {
  const object = pod({ sidecars: 'envoy' }, [app, { name: 'envoy', readinessProbe: probe, ...container }])
  return specOf(after(object), 'envoy').checks[0]
}
const base = { container: 'envoy', timeout: '1m', onTimeout: 'fail' }
const ports = {
  ports: [{ containerPort: 1 }, { name: 'http', containerPort: 8080 }, { name: 'admin', containerPort: 9901 }],
}

test('an httpGet probe keeps scheme, host, path, query and headers', () => {
  const httpHeaders = [
    { name: 'Host', value: 'x' },
    { name: 'X', value: '$(A) "q"' },
  ]
  const probe = { httpGet: { port: 'admin', scheme: 'HTTPS', host: '10.0.0.1', path: '/a?b=c', httpHeaders } }
  assert.deepEqual(checkOf(probe, ports), { ...base, check: 'https://10.0.0.1:9901/a?b=c', headers: httpHeaders })
})

test('a path is asked for from the root, escaped, without a fragment', () => {
  for (const [path, asked] of Object.entries({
    ready: '/ready',
    '': '/',
    '?x=1': '/?x=1',
    '/a b#c': '/a%20b',
    '/ä\n': '/%C3%A4%0A',
    '/%41': '/%41',
  })) {
    assert.equal(checkOf({ httpGet: { port: 1, path } })?.check, `http://:1${asked}`)
  }
})

test('a port may be a number, a name or a number as text', () => {
  for (const [port, number] of [
    [80, 80],
    ['http', 8080],
    ['81', 81],
  ] as const) {
    assert.equal(checkOf({ tcpSocket: { port } }, ports)?.check, `tcp://:${number}`)
  }
})

test('IPv6 hosts get brackets, once', () => {
  for (const host of ['::1', '[::1]']) assert.equal(checkOf({ tcpSocket: { port: 1, host } })?.check, 'tcp://[::1]:1')
})

test('a grpc probe keeps its service', () => {
  assert.equal(checkOf({ grpc: { port: 1, service: 'a.B' } })?.check, 'grpc://:1/a.B')
  assert.equal(checkOf({ grpc: { port: 1 } })?.check, 'grpc://:1')
  assert.equal(checkOf({ grpc: { port: 1, service: null } })?.check, 'grpc://:1')
})

test('an exec probe is expanded as the kubelet does: values as written, empty from elsewhere, no second time', () => {
  const env = [
    { name: 'A', value: 'a b' },
    { name: 'B', value: '$(A)' },
    { name: 'C', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'A', value: 'last' },
  ]
  const command = ['x', '$(A)', '$(B)', '[$(C)]', '$$(A)', '$(D)', '$(A']
  assert.equal(checkOf({ exec: { command } }, { env })?.check, 'exec:["x","last","$(A)","[]","$(A)","$(D)","$(A"]')
})

test('$(NAME) is read as Kubernetes reads it', () => {
  const env = new Map([
    ['A', '1'],
    ['$', '2'],
    ['', '3'],
    ['a(b', '4'],
    ['__proto__', '5'],
  ])
  const cases = {
    '$(A)$(A)': '11',
    $: '$',
    $$: '$',
    '$$$(A)': '$1',
    '$(': '$(',
    '$(A': '$(A',
    $A: '$A',
    '$()': '3',
    '$($)': '2',
    '$(a(b)': '4',
    '$(__proto__)': '5',
    '$(constructor)': '$(constructor)',
    a$: 'a$',
    '$(A)$$': '1$',
    "$(A)$&$1$'": "1$&$1$'",
  }
  for (const [text, expanded] of Object.entries(cases)) assert.deepEqual(expand([text], env, 100), [expanded], text)
})

// Looking for the end of each would take hours.
test('a million names that never end are read in one go', () => {
  const text = '$('.repeat(1_000_000)
  assert.deepEqual(expand([`$(A)${text}$$`], new Map([['A', '1']]), 1e9), [`1${text}$`])
})

test('timeoutSeconds and successThreshold hold; 0 and absent are the defaults', () => {
  assert.deepEqual(checkOf({ tcpSocket: { port: 1 }, timeoutSeconds: 5, successThreshold: 3 }), {
    ...base,
    check: 'tcp://:1',
    attemptTimeout: '5s',
    successes: 3,
  })
  assert.deepEqual(checkOf({ tcpSocket: { port: 1 }, timeoutSeconds: 0, successThreshold: 0 }), {
    ...base,
    check: 'tcp://:1',
  })
})

test('the startupProbe comes before the readinessProbe', () => {
  assert.equal(checkOf({ tcpSocket: { port: 1 } }, { startupProbe: { tcpSocket: { port: 2 } } })?.check, 'tcp://:2')
})

test('a patient startupProbe lengthens the default timeout, up to 10m, but not one that was asked for', () => {
  const startupProbe = { tcpSocket: { port: 1 }, initialDelaySeconds: 1, periodSeconds: 30, failureThreshold: 4 }
  assert.equal(checkOf({}, { startupProbe })?.timeout, '2m1s')
  assert.equal(checkOf({}, { startupProbe: { ...startupProbe, failureThreshold: 1000 } })?.timeout, '10m')
  assert.equal(checkOf({}, { startupProbe: { tcpSocket: { port: 1 } } })?.timeout, '1m')
  const asked = pod({ sidecars: 'envoy', 'timeout/envoy': '5s' }, [app, { name: 'envoy', startupProbe }])
  assert.equal(specOf(after(asked), 'envoy').checks[0]?.timeout, '5s')
})

const nothing: readonly [string, Fields, RegExp][] = [
  ['no probe', {}, /has no startupProbe or readinessProbe/],
  ['an empty probe', { readinessProbe: {} }, /its readinessProbe asks nothing/],
  [
    'a port name that is not there',
    { readinessProbe: { tcpSocket: { port: 'nope' } } },
    /has no port "nope"; it has no named ports/,
  ],
  ['a port out of range', { readinessProbe: { tcpSocket: { port: 70000 } } }, /port/],
  ['a grpc port out of range', { readinessProbe: { grpc: { port: 70000 } } }, /can't be written as a check/],
  ['a host that is none', { readinessProbe: { tcpSocket: { port: 1, host: 'a/b' } } }, /can't be written as a check/],
  ['a service that is none', { readinessProbe: { grpc: { port: 1, service: 'a b' } } }, /can't be written as a check/],
  [
    'a program that is empty',
    { readinessProbe: { exec: { command: ['$(X)'] } }, env: [{ name: 'X' }] },
    /can't be written as a check/,
  ],
  ['a word with a NUL', { readinessProbe: { exec: { command: ['a', '\u0000'] } } }, /can't be written as a check/],
]
for (const [what, container, reason] of nothing) {
  test(`${what} gives nothing to derive: ordered, not waited for, and said`, () => {
    const decision = decided(pod({ sidecars: 'envoy' }, [app, { name: 'envoy', ...container }]))
    assert.equal(decision.verdict, 'patched')
    assert.deepEqual('tiers' in decision && decision.tiers, [[{ name: 'envoy', kind: 'none', check: 'none' }]])
    assert.match(warningsOf(decision)[0] ?? '', /^envoy is started first but not waited for: /)
    assert.match(warningsOf(decision)[0] ?? '', reason)
  })
}

test("a check's port name that is not there is refused, and names its annotation", () => {
  const decision = decided(pod({ sidecars: 'envoy', 'check/envoy': 'tcp://:nope' }, [app, { name: 'envoy', ...ports }]))
  assert.equal(decision.verdict, 'refused')
  assert.deepEqual(reasonsOf(decision), [
    'check.sidecar-first.dev/envoy: envoy has no port "nope"; it has the ports http, admin',
  ])
})
