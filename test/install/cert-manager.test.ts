import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Manifest } from '../../src/install/apply.ts'
import { certificateState } from '../../src/install/cert-manager.ts'
import { apply } from '../../src/install/install.ts'
import { manifests } from '../../src/install/manifests.ts'
import { render } from '../../src/install/render.ts'
import { ClusterError } from '../../src/kubernetes/failure.ts'
import type { ClusterObject, Objects, Reference } from '../../src/kubernetes/objects.ts'

const version = '0.2.0'
const rendered = render(manifests, version, {
  mode: 'namespace-opt-in',
  namespace: 'sidecar-first',
  certManager: true,
  found: { kubernetesVersion: '1.36', delivery: 'image-volume' },
})
assert.ok(rendered.ok)
const wanted = rendered.documents.map((document): Manifest => document.toJS())

const notYet =
  'Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to call webhook: Post "https://…": connection refused'

/**
 * A cluster in memory, a fake, in which cert-manager makes nothing.
 * @param refusals what the API server answers to its objects, one after the other
 */
function cluster(refusals: ClusterError[]) {
  const stored = new Map<string, ClusterObject>()
  const keyOf = ({ kind, metadata: { name } }: Reference) => `${kind}/${name}`
  const applied: string[] = []
  const said: string[] = []
  const objects = {
    async read(reference: Reference) {
      const found = structuredClone(stored.get(keyOf(reference)))
      if (reference.kind === 'Certificate' && found !== undefined) {
        const condition = { type: 'Ready', status: 'False', reason: 'IssuerNotFound', message: 'Issuer "x"\nnot found' }
        return { ...found, status: { conditions: [condition] } }
      }
      return found
    },
    async list({ kind }: Reference) {
      if (kind === 'Pod') {
        const state = { waiting: { reason: 'ContainerCreating' } }
        return [{ metadata: { name: 'sf-1', namespace: 'sidecar-first' }, status: { containerStatuses: [{ state }] } }]
      }
      if (kind !== 'Event') return []
      const message = 'MountVolume.SetUp failed for volume "certificate" : secret "sidecar-first" not found'
      return [{ type: 'Warning', message, involvedObject: { name: 'sf-1' } }]
    },
    async apply(object: Manifest, { dryRun = false } = {}) {
      if (object.apiVersion === 'cert-manager.io/v1') {
        const refusal = refusals.shift()
        if (refusal !== undefined) throw refusal
      }
      if (dryRun) return object
      applied.push(keyOf(object))
      stored.set(keyOf(object), structuredClone(object))
      return object
    },
    remove: async () => true,
  }
  const progress = {
    done: (thing: string, state: string) => void said.push(`${thing}: ${state}`),
    waiting: (thing: string, state: string) => void said.push(`${thing}: ${state}`),
  }
  return { objects: objects as unknown as Objects, progress, applied, said }
}

const install = ({ objects, progress }: ReturnType<typeof cluster>, milliseconds: number) =>
  apply({
    objects,
    progress,
    manifests: wanted,
    namespace: 'sidecar-first',
    version,
    configured: false,
    mode: { wanted: 'namespace-opt-in', said: true },
    observes: false,
    trialNamespace: 'default',
    dryRun: false,
    force: true,
    signal: AbortSignal.timeout(milliseconds),
  })

test("while cert-manager's webhook isn't up yet its objects are tried again, and then it goes on", async () => {
  const fake = cluster(Array.from({ length: 4 }, () => new ClusterError('server', notYet)))
  await assert.rejects(install(fake, 4000), /it waits for the certificate/)
  assert.ok(
    fake.said.some((line) => /^cert-manager's webhook: .*connection refused$/.test(line)),
    fake.said.join('\n'),
  )
  assert.deepEqual(
    fake.applied.filter((each) => /Issuer|Certificate/.test(each)),
    [
      'Issuer/sidecar-first-self-signed',
      'Certificate/sidecar-first-ca',
      'Issuer/sidecar-first',
      'Certificate/sidecar-first',
    ],
  )
})

test('if it never is, that is told at the end of --timeout; what else refuses them is told at once', async () => {
  const refusals = Array.from({ length: 100 }, () => new ClusterError('server', notYet))
  await assert.rejects(install(cluster(refusals), 1200), /cert-manager's webhook: .*failed calling webhook.*--timeout/s)
  const denied = new ClusterError('invalid', 'admission webhook "webhook.cert-manager.io" denied the request')
  await assert.rejects(
    install(cluster([denied, denied]), 30_000),
    /issuer\/sidecar-first-self-signed: admission webhook .* denied/,
  )
})

test("a replica without its certificate: what cert-manager says of it, not the log of a Deployment that isn't there", async () => {
  const fake = cluster([])
  await assert.rejects(install(fake, 1200), (error: Error) => {
    assert.match(
      error.message,
      /ContainerCreating: it waits for the certificate from cert-manager: certificate\/sidecar-first-ca: IssuerNotFound: Issuer "x" not found\n/,
    )
    assert.doesNotMatch(error.message, /deploy\/sidecar-first-certs/)
    return true
  })
})

test('a certificate that nobody has looked at, and one that is ready', () => {
  const name = { metadata: { name: 'sidecar-first' } }
  const ready = { ...name, status: { conditions: [{ type: 'Ready', status: 'True' }] } }
  assert.match(certificateState([{ ...name }]), /certificate\/sidecar-first has no condition: does cert-manager run\?$/)
  assert.match(certificateState([ready]), /it waits for the certificate from cert-manager$/)
  assert.match(certificateState([undefined]), /it waits for the certificate from cert-manager$/)
})
