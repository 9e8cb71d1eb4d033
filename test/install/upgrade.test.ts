import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Deployment, V1MutatingWebhookConfiguration, V1Pod } from '@kubernetes/client-node'
import type { Manifest } from '../../src/install/apply.ts'
import { apply } from '../../src/install/install.ts'
import { manifests } from '../../src/install/manifests.ts'
import { render } from '../../src/install/render.ts'
import type { ClusterObject, Objects, Reference } from '../../src/kubernetes/objects.ts'
import { plansAt } from '../../src/webhooks/path.ts'

const version = '0.2.0'
const rendered = render(manifests, version, {
  mode: 'namespace-opt-in',
  namespace: 'sidecar-first',
  found: { kubernetesVersion: '1.36', delivery: 'image-volume' },
})
assert.ok(rendered.ok)
const wanted = rendered.documents.map((document): Manifest => document.toJS())
const isMutating = ({ kind }: Pick<Reference, 'kind'>) => kind === 'MutatingWebhookConfiguration'

/**
 * A cluster in memory, a fake, whose Deployments are always rolled out and whose certs has always written the caBundle.
 * @param ending how often a replica that was replaced is still seen ending
 */
function cluster(there: readonly Manifest[], ending: number) {
  const keyOf = ({ kind, metadata: { name, namespace = '' } }: Reference) => `${kind} ${namespace}/${name}`
  const stored = new Map<string, ClusterObject>(there.map((each) => [keyOf(each), each]))
  const counts = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 }
  /** Of the mutating webhook configuration: how often the replica was still to be seen ending, and what is then called. */
  const writes: { ending: number; path: string | undefined }[] = []
  const objects = {
    async read(reference: Reference) {
      const found = structuredClone(stored.get(keyOf(reference)))
      if (reference.kind !== 'Deployment' || found === undefined) return found
      const { spec } = found as V1Deployment
      return { ...found, spec: { ...spec, replicas: 2 }, status: { observedGeneration: 1, ...counts } }
    },
    async list({ kind }: Reference) {
      if (kind !== 'Pod' || ending === 0) return []
      ending -= 1
      const old: V1Pod = { metadata: { name: 'old', deletionTimestamp: new Date(Date.now() + 60_000) } }
      return [old]
    },
    create: async (pod: V1Pod) => ({ ...pod, metadata: { annotations: { 'sidecar-first.dev/status': '{}' } } }),
    async apply(object: Manifest) {
      const written = structuredClone(object) as Manifest & V1MutatingWebhookConfiguration
      for (const { clientConfig } of written.webhooks ?? []) clientConfig.caBundle = 'AAAA'
      stored.set(keyOf(object), written)
      if (isMutating(object)) writes.push({ ending, path: plansAt(written) })
      return written
    },
    remove: async () => true,
  }
  return { objects: objects as unknown as Objects, writes }
}

const upgrade = (objects: Objects) =>
  apply({
    objects,
    progress: { done() {}, waiting() {} },
    manifests: wanted,
    namespace: 'sidecar-first',
    version,
    configured: false,
    mode: { wanted: 'namespace-opt-in', said: true },
    observes: false,
    trialNamespace: 'default',
    dryRun: false,
    force: true,
    signal: AbortSignal.timeout(30_000),
  })

/** As a version before has installed it: one webhook, which plans. */
const calling = (path: string) =>
  wanted.map((each): Manifest => {
    const made = structuredClone(each) as Manifest & V1MutatingWebhookConfiguration
    if (!isMutating(each)) return made
    const [base] = made.webhooks?.slice(-1) ?? []
    assert.ok(base?.clientConfig.service)
    base.clientConfig.service.path = path
    return { ...made, webhooks: [base] } as Manifest
  })

for (const [version, path] of [
  ['0.1', '/mutate'],
  ['a version whose locks name nobody', '/mutate/lock'],
] as const) {
  test(`an upgrade from ${version} calls for locks with names once no replaced replica answers any more`, async () => {
    const { objects, writes } = cluster(calling(path), 2)
    await upgrade(objects)
    // First those that are new are made, asleep, so that they have a caBundle when they are needed.
    assert.deepEqual(writes, [
      { ending: 0, path },
      { ending: 0, path: '/mutate/lock-by-name' },
    ])
  })
}

test('where nothing was installed, or locks have names already, install waits for no replica', async () => {
  for (const there of [[], wanted]) {
    const { objects, writes } = cluster(there, 2)
    await upgrade(objects)
    assert.deepEqual(writes.at(-1), { ending: 2, path: '/mutate/lock-by-name' })
  }
})
