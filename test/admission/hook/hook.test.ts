import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unwrap } from '../../../src/admission/hook/unwrap.ts'
import {
  after,
  app,
  type Container,
  decided,
  type Fields,
  hookOf,
  type Pod,
  pod,
  postStartOf,
  ready,
  reasonsOf,
  specOf,
} from '../pods.ts'

const exec = { exec: { command: ['init', 'a\nb', `'"$(x)`] } }
const sleep = { sleep: { seconds: 3 } }
const httpGet = {
  httpGet: { path: '/x', port: 80, host: 'a', scheme: 'HTTPS', httpHeaders: [{ name: 'n', value: 'v' }] },
}

/** A sidecar with a hook of its own, waited for; and beside it one that comes later. */
function hooked(postStart: Fields, waiter: string): Pod {
  const envoy = { name: 'envoy', readinessProbe: ready, lifecycle: { postStart } }
  return pod({ sidecars: 'envoy', waiter }, [app, envoy])
}

for (const [waiter, hooks] of Object.entries({ 'init-container': { exec, sleep, httpGet }, shell: { exec, sleep } })) {
  for (const [kind, hook] of Object.entries(hooks)) {
    test(`${kind} is wrapped by ${waiter}, read back, and restored when nothing waits any more`, () => {
      const wrapped = after(hooked(hook, waiter))
      assert.notDeepEqual(postStartOf(wrapped, 'envoy'), hook)
      const annotations = { ...(wrapped.metadata.annotations as Fields), 'check.sidecar-first.dev/envoy': 'none' }
      const again = after({ ...wrapped, metadata: { annotations } })
      assert.deepEqual(postStartOf(again, 'envoy'), hook)
    })
  }
}

test('another delivery takes over the hook that the first one wrapped', () => {
  const wrapped = after(hooked(exec, 'shell'))
  const annotations = { ...(wrapped.metadata.annotations as Fields), 'sidecar-first.dev/waiter': 'init-container' }
  assert.deepEqual(specOf(after({ ...wrapped, metadata: { annotations } }), 'envoy').before, {
    exec: exec.exec.command,
  })
})

test('a chained httpGet hook has its port looked up', () => {
  const envoy = {
    name: 'envoy',
    readinessProbe: ready,
    ports: [{ name: 'admin', containerPort: 9901 }],
    lifecycle: { postStart: { httpGet: { port: 'admin' } } },
  }
  const patched = after(pod({ sidecars: 'envoy' }, [app, envoy]))
  assert.deepEqual(specOf(patched, 'envoy').before, { httpGet: { port: 9901, scheme: 'HTTP' } })
  const lost = decided(pod({ sidecars: 'envoy' }, [app, { ...envoy, ports: [] }]))
  assert.equal(lost.verdict, 'refused')
  assert.match(reasonsOf(lost)[0] ?? '', /the port "admin", which it doesn't have/)
})

test('when the last of a tier changes, the hook moves and the one before gets its own back', () => {
  const vault: Container = { name: 'vault', readinessProbe: ready }
  const envoy: Container = { name: 'envoy', readinessProbe: ready, lifecycle: { postStart: sleep } }
  const late: Container = { name: 'late', readinessProbe: { exec: { command: ['ok'] } } }
  const annotations = { sidecars: 'vault + envoy, late' }
  const once = after(pod(annotations, [app, vault, envoy]))
  assert.ok(hookOf(once, 'envoy'))
  const again = after({ ...once, spec: { ...once.spec, containers: [late, ...once.spec.containers] } })
  assert.deepEqual(hookOf(again, 'late')?.[0], '/.sidecar-first/wait')
  assert.deepEqual(specOf(again, 'envoy').before, { sleep: { seconds: 3 } })

  const moved = after(pod({ sidecars: 'vault + otel' }, [app, vault]))
  assert.deepEqual(
    specOf(moved, 'vault').checks.map(({ container }) => container),
    ['vault'],
  )
  const otel: Container = { name: 'otel', readinessProbe: ready }
  const whole = after({ ...moved, spec: { ...moved.spec, containers: [otel, ...moved.spec.containers] } })
  assert.equal(postStartOf(whole, 'vault'), undefined)
  assert.deepEqual(
    specOf(whole, 'otel').checks.map(({ container }) => container),
    ['vault', 'otel'],
  )
})

test('where our hook goes, a preStop beside it stays', () => {
  const preStop = { sleep: { seconds: 1 } }
  const once = after(
    pod({ sidecars: 'envoy' }, [app, { name: 'envoy', readinessProbe: ready, lifecycle: { preStop } }]),
  )
  const annotations = { ...(once.metadata.annotations as Fields), 'check.sidecar-first.dev/envoy': 'none' }
  const again = after({ ...once, metadata: { annotations } })
  assert.deepEqual(again.spec.containers[0]?.lifecycle, { preStop })
})

test('a hook of ours by its form alone, whatever version wrote it', () => {
  const future = JSON.stringify({ v: 9, checks: [{ container: 'a', more: {} }], before: { exec: ['x'] }, news: true })
  assert.deepEqual(unwrap({ kind: 'exec', command: ['/.sidecar-first/wait', '--spec', future] }), {
    ours: true,
    original: { kind: 'exec', command: ['x'] },
    waitsFor: ['a'],
  })
  const shell = (...args: readonly string[]) =>
    unwrap({ kind: 'exec', command: ['sh', '-c', 'any script', 'sidecar-first', '/dev/termination-log', ...args] })
  const sleep = { kind: 'sleep', seconds: 5 } as const
  assert.deepEqual(shell('none', '0'), { ours: true, original: undefined, waitsFor: [] })
  assert.deepEqual(shell('sleep', '1', '5', 'a'), { ours: true, original: sleep, waitsFor: ['a'] })
  assert.deepEqual(shell('exec', '1', 'x'), { ours: true, original: { kind: 'exec', command: ['x'] }, waitsFor: [] })
  const foreign = { kind: 'exec', command: ['sh', '-c', 'x', 'other'] } as const
  assert.deepEqual(unwrap(foreign), { ours: false, original: foreign, waitsFor: [] })
})

test('a hook of ours that cannot be read is refused, for it may hold somebody else’s', () => {
  const forged = [
    ['/.sidecar-first/wait'],
    ['/.sidecar-first/wait', '--spec'],
    ['/.sidecar-first/wait', '--spec', '{'],
    ['/.sidecar-first/wait', '--spec', 'null'],
    ['/.sidecar-first/wait', '--spec', '{"before":{}}'],
    ['/.sidecar-first/wait', '--spec', '{"before":{"exec":[]}}'],
    ['sh', '-c', 'x', 'sidecar-first'],
    ['sh', '-c', 'x', 'sidecar-first', '/m', 'exec', '9', 'a'],
    ['sh', '-c', 'x', 'sidecar-first', '/m', 'exec', '-1'],
    ['sh', '-c', 'x', 'sidecar-first', '/m', 'tcpSocket', '0'],
  ]
  for (const command of forged) {
    const decision = decided(hooked({ exec: { command } }, 'init-container'))
    assert.equal(decision.verdict, 'refused', JSON.stringify(command))
    assert.match(reasonsOf(decision)[0] ?? '', /another version of sidecar-first wrote/)
  }
})

test('a forged shell hook with a negative count of headers ends', () => {
  const command = ['sh', '-c', 'x', 'sidecar-first', '/m', 'none', '0', ...Array.from({ length: 9 }, () => ''), '-10']
  assert.ok(unwrap({ kind: 'exec', command }))
})

test('a hook that can never run is refused, where it would have to be chained', () => {
  for (const command of [[''], ['a', '\u0000']]) {
    const decision = decided(hooked({ exec: { command } }, 'init-container'))
    assert.equal(decision.verdict, 'refused')
    assert.match(reasonsOf(decision)[0] ?? '', /PostStart hook that can't run/)
    const elsewhere = pod({ sidecars: 'envoy' }, [
      { ...app, lifecycle: { postStart: { exec: { command } } } },
      { name: 'envoy' },
    ])
    assert.equal(decided(elsewhere).verdict, 'patched', "another container's is nobody's business")
  }
})
