import { setTimeout as sleep } from 'node:timers/promises'
import {
  type KubeConfig,
  PatchStrategy,
  type V1EndpointSliceList,
  type V1MutatingWebhookConfiguration,
  type V1Secret,
  type V1ValidatingWebhookConfiguration,
  Watch,
} from '@kubernetes/client-node'
import { versionOf } from '../src/kubernetes/call.ts'
import { createClock } from '../src/kubernetes/clock.ts'
import { connection } from '../src/kubernetes/connection.ts'
import { writeEvent } from '../src/kubernetes/event.ts'
import { leaseStore } from '../src/kubernetes/lease-store.ts'
import { labelsOf, objectKeys, objectNames } from '../src/kubernetes/names.ts'
import { rawCalls } from '../src/kubernetes/raw.ts'
import { watched } from '../src/kubernetes/watch.ts'
import type { Cluster, Endpoint, StoredConfiguration } from './cluster.ts'

/** The names of our objects; the Secret, the Lease and the Service live in `namespace`. */
export type Names = Readonly<Record<Named, string>>
type Named = 'namespace' | 'secret' | 'lease' | 'service' | 'mutating' | 'validating' | 'workloads'

export interface Connecting {
  readonly kubeconfig: KubeConfig
  readonly names: Names
  /** Used until the API server's own clock is known. */
  readonly wallClock?: () => number
  /** How long a call to the API server may take, in ms. */
  readonly callTimeout?: number
}

type Stored = V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration

const at = (collection: string, name: string) => `${collection}/${encodeURIComponent(name)}`
const within = (group: string, namespace: string, plural: string) =>
  `${at(`/${group}/namespaces`, namespace)}/${plural}`
const configurationsOfKind = (kind: StoredConfiguration['kind']) =>
  `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations`
const configurationsOf = ({ mutating, validating, workloads }: Names) =>
  [
    { kind: 'mutating', name: mutating },
    { kind: 'validating', name: validating },
    { kind: 'validating', name: workloads },
  ] as const

/** The real cluster of a kubeconfig, and its Lease. */
export function kubernetes({ kubeconfig, names, wallClock, callTimeout }: Connecting) {
  const clock = createClock(wallClock)
  const configuration = connection(kubeconfig, { timeout: callTimeout, heard: clock.heard })
  const calls = rawCalls(configuration)
  const { namespace } = names
  const { now } = clock
  const ofSecrets = rawCalls(configuration, { secret: true })
  const secrets = within('api/v1', namespace, 'secrets')

  const cluster: Cluster = {
    now,

    async readSecret() {
      const secret = await ofSecrets.find<V1Secret>(at(secrets, names.secret))
      return (
        secret && {
          version: versionOf(secret),
          data: decoded(secret.data),
          annotations: secret.metadata?.annotations ?? {},
        }
      )
    },

    async createSecret(data) {
      const metadata = { name: names.secret, namespace, labels: labelsOf() }
      await ofSecrets.create(secrets, { metadata, data: encoded(data) })
    },

    async updateSecret(version, { data, annotations = {} }) {
      const body = { metadata: { resourceVersion: version, annotations }, data: encoded(data) }
      await ofSecrets.patch(at(secrets, names.secret), body, PatchStrategy.MergePatch)
    },

    async readConfigurations() {
      const all: StoredConfiguration[] = []
      for (const { kind, name } of configurationsOf(names)) {
        const found = await calls.find<Stored>(at(configurationsOfKind(kind), name))
        if (found) all.push(stored(kind, found))
      }
      return all
    },

    async writeBundle({ kind, name, version, bundles }, bundle) {
      const caBundle = Buffer.from(bundle).toString('base64')
      // Field by field: a field that this client doesn't know stays. The version makes an outdated write a conflict.
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: version },
        ...bundles.map((_, i) => ({ op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value: caBundle })),
      ]
      // GitOps tools are told by this name whose field it is.
      const path = `${at(configurationsOfKind(kind), name)}?fieldManager=${objectNames.certs}`
      await calls.patch(path, body, PatchStrategy.JsonPatch)
    },

    async readEndpoints() {
      const labelSelector = `kubernetes.io/service-name=${names.service}`
      const slices = within('apis/discovery.k8s.io/v1', namespace, 'endpointslices')
      const { items } = await calls.get<V1EndpointSliceList>(slices, { labelSelector })
      if (items.length === 0) return undefined
      return items.flatMap(({ endpoints, ports }): Endpoint[] => {
        const port = ports?.[0]?.port
        if (port === undefined) return []
        const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false)
        return ready.flatMap(({ addresses: [host], targetRef }) => (host ? [{ host, port, pod: targetRef?.name }] : []))
      })
    },

    report(report) {
      const about = { apiVersion: 'v1', kind: 'Secret', namespace, name: names.secret }
      return writeEvent(calls, about, report, { component: objectNames.certs, now: now() })
    },
  }

  return { cluster, lease: leaseStore(configuration, { namespace, name: names.lease, now }) }
}

/**
 * Calls `changed` whenever one of our objects may have changed, until `signal` aborts. It is only a hint: a watch that goes silent or fails is
 * restarted, and nothing depends on what it says.
 */
export async function watchChanges(
  kubeconfig: KubeConfig,
  names: Names,
  { signal, changed }: { signal: AbortSignal; changed: () => void },
): Promise<void> {
  const objects = [
    { path: within('api/v1', names.namespace, 'secrets'), name: names.secret },
    ...configurationsOf(names).map(({ kind, name }) => ({ path: configurationsOfKind(kind), name })),
  ]
  const watch = new Watch(kubeconfig)
  await Promise.all(
    objects.map(async ({ path, name }) => {
      while (!signal.aborted) {
        await watched(watch, path, { fieldSelector: `metadata.name=${name}` }, changed, signal)
        await sleep(1000, undefined, { signal }).catch(() => {})
      }
    }),
  )
}

function stored(kind: StoredConfiguration['kind'], found: Stored): StoredConfiguration {
  const webhooks: { clientConfig: { caBundle?: string } }[] = found.webhooks ?? []
  const bundles = webhooks.map(({ clientConfig }) => text(clientConfig.caBundle ?? ''))
  const foreign = found.metadata?.annotations?.[objectKeys.certManager] !== undefined
  return {
    kind,
    name: found.metadata?.name ?? '',
    version: versionOf(found),
    bundles,
    ...(foreign && { keptBy: 'cert-manager' }),
  }
}

const text = (base64: string) => Buffer.from(base64, 'base64').toString()

const decoded = (data: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, text(value)]))

const encoded = <T extends string | null>(data: Readonly<Record<string, T>>) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, value === null ? value : Buffer.from(value).toString('base64')]),
  ) as Record<string, T>
