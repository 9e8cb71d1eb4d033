import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { app, type Container, type Fields, type Pod, pod, ready, specOf } from '../admission/pods.ts'
import { both, keysOf, type Replicas, startReplicas } from './replicas.ts'

// Replicas from before the lease, which know neither its fields nor the order of the variables, beside those of today with a configuration that has them.
let replicas: Replicas
before(async () => {
  replicas = await startReplicas(
    'unleased',
    [
      'lock: {lease: on}',
      'defaults: {lockRestarts: 10s}',
      'rules: [{name: bound, match: {container: bound}, tier: 1, enforce: true, lock: on, lockRestarts: always}]\n',
    ].join('\n'),
  )
})
after(() => replicas?.[Symbol.asyncDispose]())

const path = '/mutate/lock-by-name'
const sidecar = (name: string): Container => ({ name, image: name, readinessProbe: ready })
const samples = ['init-container', 'image-volume', 'shell'].flatMap((waiter): readonly Pod[] =>
  [
    { sidecars: 'vault, envoy' },
    { sidecars: 'otel, vault, envoy', gate: 'native' },
    { sidecars: 'vault, envoy', lock: 'on', 'lock-restarts': '0s' },
  ].map((annotations: Fields) => pod({ ...annotations, waiter }, [app, ...['envoy', 'vault', 'otel'].map(sidecar)])),
)
const restartsOf = (made: Pod, name: string) => (specOf(made, name) as { lock?: { restarts?: string } }).lock?.restarts
const ascending = (keys: readonly string[]) => keys.toSorted()

test('either replica accepts what either has made, and neither undoes what the other has put in order', async () => {
  for (const given of samples) {
    for (const first of both) {
      const made = await replicas.patched(first, path, given)
      for (const judge of both) await replicas.assertAllowed(judge, made, `made by ${first}`)
      for (const again of both) {
        const final = await replicas.patched(again, path, made)
        for (const judge of both) await replicas.assertAllowed(judge, final, `${first}, then ${again}`)
        const keys = keysOf(final, 'app')
        // Whoever asks last: the waiter of before refuses what it doesn't know. A shell takes anything.
        const told = JSON.stringify(final).includes('\\"restarts\\":')
        assert.ok(!told || first === 'new', `${first}, then ${again}`)
        const isPutRight = first === 'new' || again === 'new'
        assert.deepEqual(keys, isPutRight ? ascending(keys).toReversed() : ascending(keys))
        assert.deepEqual(await replicas.patched(again, path, final), final, 'a third call changes nothing')
      }
    }
  }
})

test('a hook of a replica of before, which says nothing of a lease, stands under an enforced rule, too', async () => {
  const template = pod({}, [app, sidecar('bound')])
  const made = await replicas.patched('new', path, template)
  assert.equal(restartsOf(made, 'bound'), 'always')
  // As such a replica would have written it, had it known of the rule.
  const before = JSON.parse(JSON.stringify(made).replace(/,\\"restarts\\":\\"always\\"/, ''))
  assert.equal(restartsOf(before, 'bound'), undefined)
  await replicas.assertAllowed('new', before, 'without the fields')
  const lowered = JSON.parse(JSON.stringify(made).replace('\\"always\\"', '\\"0s\\"'))
  assert.equal(restartsOf(lowered, 'bound'), '0s')
  const { allowed, status } = await replicas.ask('new', '/validate', lowered)
  assert.equal(allowed, false)
  assert.match(status?.message ?? '', /SF176/)
})
