import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/admission/decide.ts'
import { defaultConfiguration } from '../../../src/admission/intent/configuration.ts'
import { readConfiguration } from '../../../src/configuration/read.ts'
import { after, app, type Fields, type Pod, pod, reasonsOf, specOf } from '../pods.ts'

const envoy = { name: 'envoy', readinessProbe: { httpGet: { port: 8080, path: '//ready' } } }
const before = defaultConfiguration('0.1.0')

/** As `inject` of 0.1 wrote it into a template: what its waiter doesn't know isn't in the hook. */
function template(annotations: Fields = {}, waiter: Fields = {}): Pod {
  const made = after(
    pod({ sidecars: 'envoy', ...annotations, ...waiter }, [app, envoy]),
    decide(pod({ sidecars: 'envoy', ...annotations, ...waiter }, [app, envoy]), before),
  )
  return JSON.parse(JSON.stringify(made).replace(/,\\"path\\":\\"\/\/ready\\"/, ''))
}

for (const waiter of [{}, { waiter: 'image-volume' }]) {
  test(`a waiter of before 0.2 that stays in a template isn't asked for what it doesn't know: ${JSON.stringify(waiter)}`, () => {
    const given = template({}, waiter)
    assert.equal(specOf(given, 'envoy').checks[0]?.path, undefined)
    const made = after(given)
    assert.deepEqual(specOf(made, 'envoy'), specOf(given, 'envoy'))
    assert.deepEqual(after(made), made)

    const slower: Pod = {
      ...given,
      metadata: {
        ...given.metadata,
        annotations: { ...(given.metadata.annotations as Fields), 'sidecar-first.dev/timeout': '3m' },
      },
    }
    const [check] = specOf(after(slower), 'envoy').checks
    assert.deepEqual([check?.timeout, check?.path], ['3m', undefined], 'other changes are made')
  })
}

test('with its own waiter the path is asked as the kubelet does; under an enforced rule, an older one that can’t is refused', () => {
  assert.equal(specOf(after(pod({ sidecars: 'envoy' }, [app, envoy])), 'envoy').checks[0]?.path, '//ready')
  const read = readConfiguration(
    'apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: [{name: a, match: {container: envoy}, tier: 1, enforce: true}]\n',
    '0.0.0-test',
  )
  assert.ok(read.ok)
  const given = template()
  const decision = decide(given, read.configuration)
  assert.equal(decision.verdict, 'refused')
  assert.match(reasonsOf(decision).join(), /"sidecar-first\/waiter:0\.1\.0".*write the template again with inject/)
  const plain: Pod = JSON.parse(JSON.stringify(given).replaceAll('//ready', '/ready'))
  assert.equal(decide(plain, read.configuration).verdict, 'patched', 'its waiter knows all of this')
  // Minutes of work if from each beginning the end were looked for.
  for (const image of [`a${':0.1.'.repeat(300_000)}/x`, `a${':0.1.@'.repeat(300_000)}/x`]) {
    const strange: Pod = JSON.parse(JSON.stringify(given).replaceAll('sidecar-first/waiter:0.1.0', image))
    assert.doesNotMatch(reasonsOf(decide(strange, read.configuration)).join(), /write the template again/)
  }
  const digested: Pod = JSON.parse(JSON.stringify(given).replaceAll('waiter:0.1.0', 'waiter:v0.1.0@sha256:abc'))
  assert.match(reasonsOf(decide(digested, read.configuration)).join(), /write the template again/)
})

// It refuses a field that it doesn't know, and its sidecar would be restarted for ever.
test('a waiter of another image, which may be older than leases, is told of them only if it was before', () => {
  const today = (lock: string) => {
    const read = readConfiguration(
      `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nkubernetesVersion: 1.36\n${lock}`,
      '0.0.0-test',
    )
    assert.ok(read.ok)
    return read.configuration
  }
  const lockOf = (made: Pod) => (specOf(made, 'envoy') as { lock?: Fields }).lock
  const known = (made: Pod) => ['lease', 'restarts'].filter((field) => lockOf(made)?.[field] !== undefined)
  for (const waiter of ['init-container', 'image-volume']) {
    const plain = pod({ sidecars: 'envoy', lock: 'on', waiter }, [app, envoy])
    for (const changed of ['lock: {lease: off}', 'defaults: {lockRestarts: 10s}']) {
      const template = after(plain, decide(plain, today('waiter: {image: "example/waiter:older"}')))
      assert.ok(lockOf(template))
      const made = after(template, decide(template, today(changed)))
      assert.deepEqual(known(made), [], `${waiter}, ${changed}`)
      const own = after(plain, decide(plain, today(changed)))
      const mirrored: Pod = JSON.parse(JSON.stringify(own).replaceAll('sidecar-first/waiter', 'mirror/waiter'))
      assert.notDeepEqual(known(own), [])
      assert.deepEqual(lockOf(after(mirrored, decide(mirrored, today(changed)))), lockOf(own), 'a mirror of its own')
    }
  }
})

test('under an enforced rule that has a sidecar end last, a waiter of before 0.2 is refused: its preStop hooks would fail', () => {
  const rule = (end: string) => {
    const read = readConfiguration(
      `apiVersion: sidecar-first.dev/v1\nkind: Configuration\nrules: [{name: a, match: {container: envoy}, tier: 1, end: ${end}, enforce: true}]\n`,
      '0.0.0-test',
    )
    assert.ok(read.ok)
    return read.configuration
  }
  const given: Pod = JSON.parse(JSON.stringify(template()).replaceAll('//ready', '/ready'))
  assert.match(reasonsOf(decide(given, rule('last'))).join(), /write the template again with inject/)
  assert.equal(decide(given, rule('together')).verdict, 'patched')
})
