import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { pollsOf } from '../../../src/admission/hook/polls.ts'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import { readSpec } from '../../../src/admission/pod/read.ts'
import { after, type Pod } from '../pods.ts'

/** What is read back from the hooks of a pod whose `a + b` come before its app. */
function read(more: Record<string, string>) {
  const probe = (port: number) => ({ readinessProbe: { httpGet: { port, httpHeaders: [{ name: 'x', value: 'y' }] } } })
  const own = { lifecycle: { postStart: { exec: { command: ['/own', 'hook'] } } } }
  const pod = {
    metadata: { annotations: { 'sidecar-first.dev/sidecars': 'a + b', ...more } },
    spec: {
      containers: [
        { name: 'app', image: 'app' },
        { name: 'a', image: 'a', ...probe(1) },
        { name: 'b', image: 'b', ...probe(2), ...own },
      ],
    },
  } as unknown as Pod
  const spec = readSpec(after(pod, decide(pod, defaultConfiguration('1.0.0'))))
  assert.ok(spec.ok)
  return pollsOf(spec.value.containers.find(({ name }) => name === 'b')?.postStart)
}

describe('what a hook of ours waits for is read from the hook itself', () => {
  for (const [waiter, timeout] of [
    ['init-container', 5000],
    // It counts whole seconds by the clock.
    ['shell', 4001],
  ] as const) {
    const more = {
      'sidecar-first.dev/waiter': waiter,
      'timeout.sidecar-first.dev/a': '5s',
      'timeout.sidecar-first.dev/b': '5s',
      'on-timeout.sidecar-first.dev/b': 'continue',
    }
    for (const lock of [undefined, 'SIDECAR_FIRST_READY_1_A']) {
      test(`${waiter}, ${lock ? 'with a lock' : 'without one'}`, () => {
        assert.deepEqual(read({ ...more, 'sidecar-first.dev/lock': lock ? 'on' : 'off' }), {
          checks: [
            { container: 'a', timeout, onTimeout: 'fail' },
            { container: 'b', timeout, onTimeout: 'continue' },
          ],
          afterAnother: true,
          lock,
          lease: lock && waiter === 'init-container' ? 5000 : undefined,
        })
      })
    }
  }

  test("and nothing from one that isn't ours", () => {
    assert.equal(pollsOf({ kind: 'exec', command: ['/own'] }), undefined)
    assert.equal(pollsOf(undefined), undefined)
  })
})
