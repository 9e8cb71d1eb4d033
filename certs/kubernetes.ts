import { setTimeout as sleep } from 'node:timers/promises'
import {
  AdmissionregistrationV1Api,
  CoreV1Api,
  DiscoveryV1Api,
  type KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1MutatingWebhookConfiguration,
  type V1ValidatingWebhookConfiguration,
  Watch,
} from '@kubernetes/client-node'
import { call, versionOf } from '../src/kubernetes/call.ts'
import { createClock } from '../src/kubernetes/clock.ts'
import { connection } from '../src/kubernetes/connection.ts'
import { writeEvent } from '../src/kubernetes/event.ts'
import type { LeaseStore } from '../src/kubernetes/lease.ts'
import { leaseStore } from '../src/kubernetes/lease-store.ts'
import { labelsOf, objectNames } from '../src/kubernetes/names.ts'
import { rawCalls } from '../src/kubernetes/raw.ts'
import { watched } from '../src/kubernetes/watch.ts'
import type { Cluster, Endpoint, StoredConfiguration } from './cluster.ts'

/** The names of our objects; the Secret, the Lease and the Service live in `namespace`. */
export interface Names {
  readonly namespace: string
  readonly secret: string
  readonly lease: string
  readonly service: string
  readonly mutating: string
  readonly validating: string
  readonly workloads: string
}

const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
const json = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch)

/** The real cluster of a kubeconfig, and its Lease. */
export function kubernetes({
  kubeconfig,
  names,
  wallClock,
  callTimeout,
}: {
  kubeconfig: KubeConfig
  names: Names
  /** Used until the API server's own clock is known. */
  wallClock?: (() => number) | undefined
  /** In ms. */
  callTimeout?: number | undefined
}): { cluster: Cluster; lease: LeaseStore } {
  const clock = createClock(wallClock)
  const configuration = connection(kubeconfig, { timeout: callTimeout, heard: clock.heard })
  const core = new CoreV1Api(configuration)
  const admission = new AdmissionregistrationV1Api(configuration)
  const discovery = new DiscoveryV1Api(configuration)
  const { namespace } = names
  const { now } = clock

  const readValidating = (name: string) =>
    call(() => admission.readValidatingWebhookConfiguration({ name }), { optional: true })

  const cluster: Cluster = {
    now,

    async readSecret() {
      const secret = await call(() => core.readNamespacedSecret({ namespace, name: names.secret }), {
        optional: true,
        secret: true,
      })
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
      await call(() => core.createNamespacedSecret({ namespace, body: { metadata, data: encoded(data) } }), {
        secret: true,
      })
    },

    async updateSecret(version, { data, annotations = {} }) {
      const body = { metadata: { resourceVersion: version, annotations }, data: encoded(data) }
      await call(() => core.patchNamespacedSecret({ namespace, name: names.secret, body }, merge), { secret: true })
    },

    async readConfigurations() {
      const mutating = await call(() => admission.readMutatingWebhookConfiguration({ name: names.mutating }), {
        optional: true,
      })
      const validating = await readValidating(names.validating)
      const workloads = await readValidating(names.workloads)
      return [
        ...(mutating ? [stored('mutating', mutating)] : []),
        ...(validating ? [stored('validating', validating)] : []),
        ...(workloads ? [stored('validating', workloads)] : []),
      ]
    },

    async writeBundle({ kind, name, version, bundles }, bundle) {
      const caBundle = Buffer.from(bundle).toString('base64')
      // Field by field: a field that this client doesn't know stays. The version makes an outdated write a conflict.
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: version },
        ...bundles.map((_, i) => ({ op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value: caBundle })),
      ]
      await call(async () => {
        // GitOps tools are told by this name whose field it is.
        const patch = { name, body, fieldManager: objectNames.certs }
        if (kind === 'mutating') await admission.patchMutatingWebhookConfiguration(patch, json)
        else await admission.patchValidatingWebhookConfiguration(patch, json)
      })
    },

    async readEndpoints() {
      const labelSelector = `kubernetes.io/service-name=${names.service}`
      const { items } = await call(() => discovery.listNamespacedEndpointSlice({ namespace, labelSelector }))
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
      return writeEvent(rawCalls(configuration), about, report, { component: objectNames.certs, now: now() })
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
  { namespace, secret, mutating, validating, workloads }: Names,
  { signal, changed }: { signal: AbortSignal; changed: () => void },
): Promise<void> {
  const registration = '/apis/admissionregistration.k8s.io/v1'
  const objects: [path: string, name: string][] = [
    [`/api/v1/namespaces/${namespace}/secrets`, secret],
    [`${registration}/mutatingwebhookconfigurations`, mutating],
    [`${registration}/validatingwebhookconfigurations`, validating],
    [`${registration}/validatingwebhookconfigurations`, workloads],
  ]
  const watch = new Watch(kubeconfig)
  await Promise.all(
    objects.map(async ([path, name]) => {
      while (!signal.aborted) {
        await watched(watch, path, { fieldSelector: `metadata.name=${name}` }, changed, signal)
        await sleep(1000, undefined, { signal }).catch(() => {})
      }
    }),
  )
}

function stored(
  kind: StoredConfiguration['kind'],
  found: V1MutatingWebhookConfiguration | V1ValidatingWebhookConfiguration,
): StoredConfiguration {
  const webhooks: { clientConfig: { caBundle?: string } }[] = found.webhooks ?? []
  const bundles = webhooks.map(({ clientConfig }) => text(clientConfig.caBundle ?? ''))
  return { kind, name: found.metadata?.name ?? '', version: versionOf(found), bundles }
}

const text = (base64: string) => Buffer.from(base64, 'base64').toString()

const decoded = (data: Record<string, string> = {}) =>
  Object.fromEntries(Object.entries(data).map(([key, value]) => [key, text(value)]))

const encoded = <T extends string | null>(data: Readonly<Record<string, T>>) =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, value === null ? value : Buffer.from(value).toString('base64')]),
  ) as Record<string, T>
