import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { app, type Container, type Fields, type Pod, pod, ready } from '../admission/pods.ts'

import { both, type Replicas, startReplicas } from './replicas.ts'

// Replicas from before locks named a sidecar, beside those of today, as in an upgrade and on the way back.
let replicas: Replicas
before(async () => {
  replicas = await startReplicas('unnamed')
})
after(() => replicas?.[Symbol.asyncDispose]())
const ask = (...given: Parameters<Replicas['ask']>) => replicas.ask(...given)
const patched = (...given: Parameters<Replicas['patched']>) => replicas.patched(...given)
const assertAllowed = (...given: Parameters<Replicas['assertAllowed']>) => replicas.assertAllowed(...given)

const keysIn = (made: Pod) => [...new Set(JSON.stringify(made).match(/SIDECAR_FIRST_READY_\w+/g))].sort()

const envoy: Container = { name: 'envoy', image: 'envoy', readinessProbe: ready }
const vault: Container = { name: 'vault-agent', image: 'vault', startupProbe: ready }
const samples = ['shell', 'init-container', 'image-volume'].flatMap((waiter): readonly Pod[] =>
  [
    { sidecars: 'envoy' },
    { sidecars: 'vault-agent, envoy' },
    { sidecars: 'envoy + vault-agent', gate: 'native' },
    { sidecars: 'vault-agent, envoy', lock: 'on' },
  ].map((annotations: Fields) => pod({ ...annotations, waiter }, [app, envoy, vault])),
)

test('at the paths of before, either replica accepts what either has made', async () => {
  for (const path of ['/mutate', '/mutate/lock']) {
    for (const given of samples) {
      for (const first of both) {
        const made = await patched(first, path, given)
        for (const again of both) {
          const final = await patched(again, path, made)
          for (const judge of both) await assertAllowed(judge, final, `${path} of ${first}, then ${again}`)
          assert.ok(keysIn(final).every((key) => /^SIDECAR_FIRST_READY_\d$/.test(key)))
        }
      }
    }
  }
})

test('once a lock names its sidecar, only the new replicas take it, so only a path of their own asks for that', async () => {
  for (const given of samples) {
    const named = await patched('new', '/mutate/lock-by-name', given)
    assert.equal(keysIn(named)[0], `SIDECAR_FIRST_READY_1_${firstOf(given)}`)
    await assertAllowed('new', named, 'named')
    const { allowed, status } = await ask('old', '/validate', named)
    assert.equal(allowed, false)
    assert.match(status?.message ?? '', /hasn't exactly the variables/)
    // On the way back the webhook calls the path of before first. Templates with a name are put right there, whoever is asked.
    for (const which of both) {
      const put = await patched(which, '/mutate/lock', named)
      for (const judge of both) await assertAllowed(judge, put, `named, then at ${which}`)
    }
  }
})

test('an old replica that is called for names refuses nothing', async () => {
  for (const given of samples) {
    const { warnings = [] } = await ask('old', '/mutate/lock-by-name', given)
    assert.match(warnings.join(), /behind the configuration/)
    const made = await patched('old', '/mutate/lock-by-name', given)
    for (const judge of both) await assertAllowed(judge, made, 'called for names')
  }
})

const firstOf = ({ metadata }: Pod) => {
  const annotations = metadata.annotations as Fields
  return String(annotations['sidecar-first.dev/sidecars']).split(/[ ,+]/)[0]?.replaceAll('-', '_').toUpperCase()
}
