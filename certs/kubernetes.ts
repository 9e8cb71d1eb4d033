import { setTimeout as sleep } from 'node:timers/promises'
import {
  AdmissionregistrationV1Api,
  ApiException,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  DiscoveryV1Api,
  type KubeConfig,
  PatchStrategy,
  ServerConfiguration,
  setHeaderOptions,
  V1MicroTime,
  type V1MutatingWebhookConfiguration,
  type V1ValidatingWebhookConfiguration,
  Watch,
} from '@kubernetes/client-node'
import {
  type Cluster,
  ClusterError,
  type Endpoint,
  type FailureKind,
  type LeaseStore,
  type StoredConfiguration,
} from './cluster.ts'

/** The names of our objects; the Secret, the Lease and the Service live in `namespace`. */
export interface Names {
  readonly namespace: string
  readonly secret: string
  readonly lease: string
  readonly service: string
  readonly mutating: string
  readonly validating: string
}

const CALL_TIMEOUT = 10_000 // ms
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch)
const json = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch)

/** The real cluster, as `kubeconfig` reaches it, and its Lease. */
export function kubernetes({
  kubeconfig,
  names,
  wallClock = Date.now,
  callTimeout = CALL_TIMEOUT,
}: {
  kubeconfig: KubeConfig
  names: Names
  /** Used until the API server's own clock is known. */
  wallClock?: () => number
  /** In ms. */
  callTimeout?: number
}): { cluster: Cluster; lease: LeaseStore } {
  const clock = createClock(wallClock)
  const configuration = connection(kubeconfig, callTimeout, clock.heard)
  const core = new CoreV1Api(configuration)
  const admission = new AdmissionregistrationV1Api(configuration)
  const coordination = new CoordinationV1Api(configuration)
  const discovery = new DiscoveryV1Api(configuration)
  const { namespace } = names
  const { now } = clock

  const cluster: Cluster = {
    now,

    async readSecret() {
      const secret = await call(() => core.readNamespacedSecret({ namespace, name: names.secret }), 'optional')
      return (
        secret && {
          version: versionOf(secret),
          data: decoded(secret.data),
          annotations: secret.metadata?.annotations ?? {},
        }
      )
    },

    async createSecret(data) {
      const metadata = { name: names.secret, namespace, labels: { 'app.kubernetes.io/name': 'sidecar-first' } }
      await call(() => core.createNamespacedSecret({ namespace, body: { metadata, data: encoded(data) } }))
    },

    async updateSecret(version, { data, annotations = {} }) {
      const body = { metadata: { resourceVersion: version, annotations }, data: encoded(data) }
      await call(() => core.patchNamespacedSecret({ namespace, name: names.secret, body }, merge))
    },

    async readConfigurations() {
      const mutating = await call(
        () => admission.readMutatingWebhookConfiguration({ name: names.mutating }),
        'optional',
      )
      const validating = await call(
        () => admission.readValidatingWebhookConfiguration({ name: names.validating }),
        'optional',
      )
      return [
        ...(mutating ? [stored('mutating', mutating)] : []),
        ...(validating ? [stored('validating', validating)] : []),
      ]
    },

    async writeBundle({ kind, name, version, bundles }, bundle) {
      const caBundle = Buffer.from(bundle).toString('base64')
      // Field by field: a field that this client doesn't know stays. The version makes an old write a conflict.
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: version },
        ...bundles.map((_, i) => ({ op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value: caBundle })),
      ]
      await call(async () => {
        if (kind === 'mutating') await admission.patchMutatingWebhookConfiguration({ name, body }, json)
        else await admission.patchValidatingWebhookConfiguration({ name, body }, json)
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

    async report({ type, reason, message }) {
      const time = new Date(now())
      const body = {
        metadata: { generateName: `${names.secret}-`, namespace },
        involvedObject: { apiVersion: 'v1', kind: 'Secret', namespace, name: names.secret },
        type,
        reason,
        message,
        source: { component: 'sidecar-first-certs' },
        firstTimestamp: time,
        lastTimestamp: time,
        count: 1,
      }
      await call(() => core.createNamespacedEvent({ namespace, body }))
    },
  }

  const spec = (holder: string, duration: number, transitions: number) => ({
    holderIdentity: holder,
    leaseDurationSeconds: Math.max(1, Math.ceil(duration / 1000)),
    leaseTransitions: transitions,
    renewTime: new V1MicroTime(now()),
  })
  const lease: LeaseStore = {
    async read() {
      const found = await call(() => coordination.readNamespacedLease({ namespace, name: names.lease }), 'optional')
      return (
        found && {
          version: versionOf(found),
          holder: found.spec?.holderIdentity ?? '',
          transitions: found.spec?.leaseTransitions ?? 0,
          duration: (found.spec?.leaseDurationSeconds ?? 0) * 1000,
        }
      )
    },
    async create(holder, duration) {
      const body = { metadata: { name: names.lease, namespace }, spec: spec(holder, duration, 0) }
      await call(() => coordination.createNamespacedLease({ namespace, body }))
    },
    async update({ version, holder: before, transitions }, { holder, duration }) {
      const body = {
        metadata: { name: names.lease, namespace, resourceVersion: version },
        spec: spec(holder, duration, before === holder ? transitions : transitions + 1),
      }
      await call(() => coordination.replaceNamespacedLease({ namespace, name: names.lease, body }))
    },
  }
  return { cluster, lease }
}

/**
 * Calls `changed` whenever one of our objects may have changed, until `signal` ends. Only a hint: a watch that goes silent or fails is
 * started anew, and nothing that it says is believed.
 */
export async function watchChanges(
  kubeconfig: KubeConfig,
  { namespace, secret, mutating, validating }: Names,
  { signal, changed }: { signal: AbortSignal; changed: () => void },
): Promise<void> {
  const registration = '/apis/admissionregistration.k8s.io/v1'
  const objects: [path: string, name: string][] = [
    [`/api/v1/namespaces/${namespace}/secrets`, secret],
    [`${registration}/mutatingwebhookconfigurations`, mutating],
    [`${registration}/validatingwebhookconfigurations`, validating],
  ]
  const watch = new Watch(kubeconfig)
  await Promise.all(
    objects.map(async ([path, name]) => {
      while (!signal.aborted) {
        const over = Promise.withResolvers<void>()
        const selector = { fieldSelector: `metadata.name=${name}` }
        const started = await watch.watch(path, selector, changed, () => over.resolve()).catch(() => undefined)
        signal.addEventListener('abort', () => started?.abort(), { once: true })
        if (signal.aborted) started?.abort()
        if (started) await over.promise
        await sleep(1000, undefined, { signal }).catch(() => {})
      }
    }),
  )
}

/** The API server's clock, by the Date of its answers and a steady clock of ours. */
function createClock(wallClock: () => number) {
  let ahead = wallClock() - performance.now()
  let known = false
  return {
    now: () => performance.now() + ahead,
    heard(date: number) {
      const sample = date - performance.now()
      // A Date is cut to the second and a while under way, so the greatest is the best; one far below means that a clock was set.
      if (!known || sample > ahead || sample < ahead - 5000) ahead = sample
      known = true
    },
  }
}

/** One connection pool for all calls: KubeConfig by itself makes a new one, and a TLS handshake, for each. */
function connection(kubeconfig: KubeConfig, timeout: number, heard: (date: number) => void) {
  const server = kubeconfig.getCurrentCluster()?.server
  if (server === undefined) throw new Error('the kubeconfig names no cluster')
  let dispatcher: ReturnType<Parameters<KubeConfig['applySecurityAuthentication']>[0]['getDispatcher']>
  return createConfiguration({
    baseServer: new ServerConfiguration(server, {}),
    authMethods: {
      default: {
        getName: () => 'kubeconfig',
        async applySecurityAuthentication(context) {
          await kubeconfig.applySecurityAuthentication(context)
          dispatcher ??= context.getDispatcher()
          if (dispatcher) context.setDispatcher(dispatcher)
        },
      },
    },
    promiseMiddleware: [
      {
        async pre(context) {
          context.setSignal(AbortSignal.timeout(timeout))
          return context
        },
        async post(context) {
          const date = Date.parse(context.headers.date ?? '')
          if (!Number.isNaN(date)) heard(date)
          return context
        },
      },
    ],
  })
}

async function call<T>(request: () => Promise<T>): Promise<T>
async function call<T>(request: () => Promise<T>, optional: 'optional'): Promise<T | undefined>
async function call<T>(request: () => Promise<T>, optional?: 'optional'): Promise<T | undefined> {
  try {
    return await request()
  } catch (error) {
    const missing = error instanceof ApiException && error.code === 404 && statusOf(error.body)?.details?.name
    if (optional && missing) return undefined
    throw clusterError(error)
  }
}

interface Status {
  readonly reason?: string
  readonly message?: string
  readonly details?: { readonly name?: string }
}

/** The API server's own words; undefined for an answer that isn't one of its, such as a proxy's. */
function statusOf(body: unknown): Status | undefined {
  try {
    const status = typeof body === 'string' ? JSON.parse(body) : body
    return typeof status === 'object' && status?.kind === 'Status' ? status : undefined
  } catch {
    return undefined
  }
}

/** The client's own error repeats the whole answer, which may hold a key: it's neither quoted nor kept as a cause. */
function clusterError(error: unknown): ClusterError {
  if (error instanceof ApiException) {
    const status = statusOf(error.body)
    // Only a refusal's own words are safe to quote: an "invalid" repeats the value.
    const words = error.code === 403 ? status?.message : status?.reason
    return new ClusterError(kindOf(error.code), `the API server answered ${error.code} ${words ?? ''}`.trimEnd())
  }
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error))
  if (name === 'TimeoutError' || name === 'AbortError') {
    return new ClusterError('timeout', 'the API server did not answer in time')
  }
  const reason = cause instanceof Error ? cause.message : message
  return new ClusterError('network', `the API server can't be reached: ${reason}`)
}

function kindOf(code: number): FailureKind {
  if (code === 409) return 'conflict'
  if (code === 401 || code === 403) return 'forbidden'
  if (code === 429) return 'throttled'
  return code >= 500 ? 'server' : 'other'
}

function versionOf({ metadata }: { metadata?: { resourceVersion?: string } }): string {
  if (metadata?.resourceVersion) return metadata.resourceVersion
  throw new ClusterError('other', 'the API server answered with an object without a resourceVersion')
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
