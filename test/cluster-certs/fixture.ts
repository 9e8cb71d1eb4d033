import { X509Certificate } from 'node:crypto'
import { after, before, beforeEach, type TestContext } from 'node:test'
import {
  AdmissionregistrationV1Api,
  CoordinationV1Api,
  CoreV1Api,
  type KubernetesObject,
  KubernetesObjectApi,
  PatchStrategy,
} from '@kubernetes/client-node'
import type { Cluster, StoredConfiguration, StoredSecret } from '../../certs/cluster.ts'
import { type Lifetimes, next, type Phase, phaseOf, type Step } from '../../certs/decide-step.ts'
import { isCovered, splitBundle } from '../../certs/faults.ts'
import { kubernetes, type Names } from '../../certs/kubernetes.ts'
import { type CertsSettings, run } from '../../certs/run.ts'
import { look } from '../../certs/secret.ts'
import { serviceNames } from '../../certs/x509.ts'
import type { LeaseStore } from '../../src/kubernetes/lease.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import type { FaultyProxy } from '../apiserver/proxy.ts'
import { SECOND, until } from '../until.ts'

export const names: Names = {
  namespace: 'sidecar-first',
  service: 'sidecar-first',
  secret: 'sidecar-first',
  lease: 'sidecar-first',
  mutating: 'zz-sidecar-first',
  validating: 'sidecar-first',
  workloads: 'sidecar-first-workloads',
}
export const dnsNames = serviceNames(names.service, names.namespace)
/**
 * A rotation that a test can wait for: the CA is due after half of its life. A leaf is renewed a third of its life, 8 s, before its end: the
 * later replica has its file 3 s after, and a busy machine may take seconds more.
 */
export const quick: Lifetimes = { authority: 96 * SECOND, leaf: 24 * SECOND, settle: 3 * SECOND }
/** Nothing falls due while a test runs. */
export const long: Lifetimes = { authority: 365 * 86_400_000, leaf: 30 * 86_400_000, settle: 2 * SECOND }
/** Where the replicas of the webhook listen. */
export const replicaHosts = ['10.99.0.2', '10.99.0.3'] as const
export const PORT = 8443

/** The namespace, the rights of `certs run`, and the Service with its endpoints. */
export async function prepare(api: ApiServer, hosts?: readonly string[]) {
  await api.kubectl(['create', 'namespace', names.namespace])
  await api.kubectl(['apply', '-f', 'manifests/base/certs-rbac.yaml'])
  const metadata = { namespace: names.namespace, name: names.service }
  const labels = { 'kubernetes.io/service-name': names.service }
  const service = { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports: [{ port: 443, targetPort: PORT }] } }
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels },
    addressType: 'IPv4',
    ports: [{ port: PORT, protocol: 'TCP', name: '' }],
    endpoints: (hosts ?? []).map((host) => ({ addresses: [host], conditions: { ready: true } })),
  }
  await apply(api, service, ...(hosts ? [slice] : []))
}

/** Our webhook configurations, without a caBundle. The validating one selects nothing: `/validate` isn't what is tested here. */
export async function createConfigurations(api: ApiServer, failurePolicy: 'Fail' | 'Ignore' = 'Ignore') {
  const webhook = {
    clientConfig: { service: { name: names.service, namespace: names.namespace, path: '/mutate' } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 5,
    failurePolicy,
  }
  const apiVersion = 'admissionregistration.k8s.io/v1'
  await apply(
    api,
    {
      apiVersion,
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: names.mutating },
      webhooks: [{ ...webhook, name: 'mutate.sidecar-first.dev' }],
    },
    {
      apiVersion,
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: names.validating },
      webhooks: ['one', 'two'].map((name) => ({
        ...webhook,
        name: `${name}.sidecar-first.dev`,
        clientConfig: { service: { ...webhook.clientConfig.service, path: '/validate' } },
        objectSelector: { matchLabels: { 'sidecar-first.dev/test': 'never' } },
      })),
    },
    {
      apiVersion,
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: names.workloads },
      webhooks: [
        {
          ...webhook,
          name: 'workloads.sidecar-first.dev',
          rules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] }],
          clientConfig: { service: { ...webhook.clientConfig.service, path: '/validate/workloads' } },
        },
      ],
    },
  )
}

/** Creates objects, or makes those that are there so. */
async function apply(api: ApiServer, ...objects: (KubernetesObject & Record<string, unknown>)[]) {
  const client = KubernetesObjectApi.makeApiClient(api.kubeconfig('admin'))
  const strategy = PatchStrategy.ServerSideApply
  for (const one of objects) await client.patch(one, undefined, undefined, 'test', true, strategy)
}

/** Removes what certs made and what it writes to. */
export async function clear(api: ApiServer) {
  const config = api.kubeconfig('admin')
  const admission = config.makeApiClient(AdmissionregistrationV1Api)
  const { namespace } = names
  const gone = await Promise.allSettled([
    config.makeApiClient(CoreV1Api).deleteNamespacedSecret({ namespace, name: names.secret }),
    config.makeApiClient(CoordinationV1Api).deleteNamespacedLease({ namespace, name: names.lease }),
    admission.deleteMutatingWebhookConfiguration({ name: names.mutating }),
    admission.deleteValidatingWebhookConfiguration({ name: names.validating }),
    admission.deleteValidatingWebhookConfiguration({ name: names.workloads }),
  ])
  for (const one of gone) if (one.status === 'rejected' && one.reason.code !== 404) throw one.reason
}

interface Now {
  readonly secret: StoredSecret | undefined
  readonly configurations: readonly StoredConfiguration[]
  readonly phase: Phase
  readonly step: Step
  /** Whether the leaf is covered by the caBundle of every configuration, of which there is one at least. */
  readonly covered: boolean
}

/** What an administrator sees. */
export function observer(api: ApiServer): { cluster: Cluster; lease: LeaseStore; now(): Promise<Now> } {
  const { cluster, lease } = kubernetes({ kubeconfig: api.kubeconfig('admin'), names })
  return {
    cluster,
    lease,
    async now() {
      const secret = await cluster.readSecret()
      const configurations = await cluster.readConfigurations()
      const seen = look({ secret, configurations, names: dnsNames, now: cluster.now() })
      const shown = { ...seen.shown, served: undefined, nextTrustedFor: 0 }
      const leaf = secret?.data['tls.crt'] ?? ''
      const at = new Date(cluster.now())
      const bundles = configurations.flatMap((one) => one.bundles)
      const covered = bundles.length > 0 && bundles.every((pem) => isCovered(leaf, { by: splitBundle(pem), at }))
      return { secret, configurations, phase: phaseOf(shown), step: next(shown, long), covered }
    },
  }
}

export const healthy = (seen: Now) => seen.covered && seen.step.do === 'wait' && seen.step.reason === 'valid' && seen

/** One API server for all tests of a file, at the start of each with our configurations and nothing that `certs` makes. */
export function sharedServer() {
  let api: ApiServer
  let admin: ReturnType<typeof observer>
  before(async () => {
    api = await startApiServer()
    await prepare(api)
    admin = observer(api)
  })
  after(() => api.stop())
  beforeEach(async () => {
    await clear(api)
    await createConfigurations(api)
  })
  return {
    get api() {
      return api
    },
    get admin() {
      return admin
    },
    heal: (limit: number) =>
      until('certificates that are valid and trusted', limit, async () => healthy(await admin.now())),
  }
}

/** `certs run` in this process, with its own rights alone; it ends with the test. */
export function start(
  t: TestContext,
  api: ApiServer,
  {
    server,
    lifetimes = long,
    ...rest
  }: { server?: string; lifetimes?: Lifetimes } & Partial<Pick<CertsSettings, 'wallClock' | 'callTimeout'>> = {},
) {
  const stop = new AbortController()
  const lines: string[] = []
  const write = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const ended = run(
    {
      kubeconfig: api.kubeconfig('certs', server),
      names,
      lifetimes,
      lease: 3 * SECOND,
      extraNames: [],
      log: { info: write, warn: write },
      signal: stop.signal,
      ...rest,
    },
    0,
  )
  const stopped = async () => {
    stop.abort()
    await ended
  }
  t.after(stopped)
  return { lines, stop: stopped }
}

/** The CAs that were written: each write of a new one that the API server took. */
export const mintings = ({ passed }: FaultyProxy) =>
  passed.filter(({ method, body, status }) => method !== 'GET' && body.includes('next-ca.key":"') && status < 300)
    .length

/** The distinguished names of the CAs in a bundle. */
export const subjects = (pem: string) => splitBundle(pem).map((one) => new X509Certificate(one).subject)
