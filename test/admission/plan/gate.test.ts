import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../src/admission/words/json.ts'
import { after, app, type Container, decided, type Fields, pod, ready, reasonsOf, specOf } from '../pods.ts'

const envoy = (more: Fields): Container => ({ name: 'envoy', image: 'envoy', ...more })
const asking = (more: Fields, annotations: Fields = {}) =>
  pod({ sidecars: 'envoy', ...annotations }, [app, envoy(more)])

test("a chained httpGet hook keeps any host; one that isn't ASCII is written as DNS has it", () => {
  for (const [host, written] of Object.entries({
    'bücher.example': 'xn--bcher-kva.example',
    'fe80::1%eth0': 'fe80::1%eth0',
    '*': '*',
    'a b': 'a b',
    'ü/x': 'ü/x',
  })) {
    const object = asking({ readinessProbe: ready, lifecycle: { postStart: { httpGet: { port: 80, host } } } })
    const { before } = specOf(after(object), 'envoy') as { before?: { httpGet?: { host?: Json } } }
    assert.equal(before?.httpGet?.host, written)
    assert.equal(decided(after(object)).verdict, 'unchanged')
  }
})

test('a path that says something else to the kubelet than in a check is handed on as it is', () => {
  for (const [path, check] of Object.entries({
    '//foo/bar': 'http://:1/bar',
    'http://o/x': 'http://:1/x',
    '/a b#c': 'http://:1/a%20b',
    ready: 'http://:1/ready',
  })) {
    const object = asking({ readinessProbe: { httpGet: { port: 1, path } } })
    const [first] = specOf(after(object), 'envoy').checks
    assert.deepEqual([first?.check, first?.path], [check, path])
  }
  const plain = asking({ readinessProbe: { httpGet: { port: 1, path: '/a%20b?c' } } })
  assert.equal(specOf(after(plain), 'envoy').checks[0]?.path, undefined)
})

test('an attempt lasts no longer than the wait', () => {
  const object = asking({ readinessProbe: { ...ready, timeoutSeconds: 36_000_000 } })
  assert.equal(specOf(after(object), 'envoy').checks[0]?.attemptTimeout, '1m')
})

test('a hook that the kernel could not start is refused, with the annotation that is to blame', () => {
  const backslashes = '\\'.repeat(40_000)
  const exec = { exec: { command: ['cat', backslashes] } }
  const refusal = (object: Json) => reasonsOf(decided(object)).join()
  const why = 'the hook of envoy would be more than 96 KiB because of'
  assert.ok(refusal(asking({ readinessProbe: exec })).includes(`${why} the check of envoy`))
  const check = asking({}, { 'check/envoy': `exec:${JSON.stringify(exec.exec.command)}` })
  assert.ok(refusal(check).startsWith(`check.sidecar-first.dev/envoy: ${why} the check of envoy`))
  const long = { postStart: { exec: { command: ['x'.repeat(200_000)] } } }
  const chained = asking({ readinessProbe: ready, lifecycle: long })
  assert.ok(refusal(chained).startsWith(`sidecar-first.dev/existing-hook: ${why} the PostStart hook`))
  // Doubled once, not twice: it still fits.
  const fits = asking({ readinessProbe: ready, lifecycle: { postStart: { exec: { command: ['x', backslashes] } } } })
  assert.equal(decided(fits).verdict, 'patched')
})

test('annotations for people stay out where the pod has no room for them', () => {
  const full = pod({ sidecars: 'envoy', 'example.com/large': 'x'.repeat(256 * 1024 - 150) }, [
    app,
    envoy({ readinessProbe: ready }),
  ])
  const patched = after(full)
  assert.deepEqual(Object.keys(patched.metadata.annotations as Fields).sort(), [
    'example.com/large',
    'kubectl.kubernetes.io/default-container',
    'sidecar-first.dev/sidecars',
  ])
  assert.equal(decided(patched).verdict, 'unchanged')
})

test("a mount's path of slashes holds nothing up", () => {
  // Minutes of work if from each the last one were looked for.
  const volumeMounts = [{ name: 'data', mountPath: `${'/'.repeat(400_000)}x` }]
  for (const annotations of [{}, { lock: 'on' }, { waiter: 'image-volume' }]) {
    const made = after(asking({ readinessProbe: ready, volumeMounts }, annotations))
    assert.equal(decided(made).verdict, 'unchanged')
  }
})

test('a directory of ours is known by its path, whatever slashes end it', () => {
  for (const [mountPath, taken] of [
    ['/.sidecar-first', true],
    ['/.sidecar-first///', true],
    ['/.sidecar-first/x', false],
    ['/.sidecar-firstly', false],
  ] as const) {
    const decision = decided(asking({ readinessProbe: ready, volumeMounts: [{ name: 'data', mountPath }] }))
    assert.equal(decision.verdict, taken ? 'refused' : 'patched', mountPath)
  }
})
