import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { decide } from '../../src/admission/decide.ts'
import type { Json } from '../../src/admission/words/json.ts'
import { applyPatch } from '../../src/preview/patch.ts'
import { oddPod, pod } from '../admission/arbitraries.ts'
import { configuration as anyVersion, type Container, type Fields, keyed, type Pod } from '../admission/pods.ts'
import { type ApiServer, startApiServer } from '../apiserver/apiserver.ts'
import { hasLock, minor } from '../cluster/kubernetes.ts'
import { runs } from '../runs.ts'
import { SECOND, until } from '../until.ts'

let api: ApiServer
let agent: Agent
before(async () => {
  api = await startApiServer()
  agent = new Agent({ keepAlive: true, ca: api.ca, maxSockets: 4 })
})
after(async () => {
  agent?.destroy()
  await api?.stop()
})

/** @param path below which it is created, in a dry run */
const create = (object: Json, path = '/api/v1/namespaces/default/pods') => post(`${path}?dryRun=All`, object)

async function post(path: string, object: Json): Promise<{ status: number; body: Json }> {
  const call = request(api.url + path, {
    method: 'POST',
    agent,
    timeout: 30_000,
    headers: {
      authorization: `Bearer ${api.kubeconfig('admin').getCurrentUser()?.token}`,
      'content-type': 'application/json',
    },
  })
  call.on('timeout', () => call.destroy(new Error('no answer within 30 s')))
  call.end(JSON.stringify(object, (_, value) => (typeof value === 'bigint' ? Number(value) : value)))
  const [response] = await once(call, 'response')
  return { status: Number(response.statusCode), body: JSON.parse(await text(response)) }
}

/** What the API server makes of a pod, with its defaults, as a webhook gets it; undefined if it refuses the pod. */
async function accepted(object: Json, path?: string): Promise<Pod | undefined> {
  const { status, body } = await create(object, path)
  if (status !== 201) return undefined
  const { metadata, spec } = body as unknown as Pod
  const { name, annotations, labels } = metadata
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations, labels }, spec } as Pod
}

/** What `install` tells the configuration is what keeps an app from being locked where the API server would drop the lock. */
const configuration = hasLock ? anyVersion : { ...anyVersion, kubernetesVersion: { major: 1, minor } }

async function stillAccepted(object: Json, path?: string): Promise<'refused' | 'left alone' | 'patched'> {
  const before = await accepted(object, path)
  assert.ok(before !== undefined, 'the API server refuses it as it is')
  const decision = decide(before, configuration)
  if (decision.verdict === 'refused') return 'refused'
  if (decision.verdict !== 'patched') return 'left alone'
  const { status, body } = await create(applyPatch(before, decision.patch), path)
  assert.equal(status, 201, (body as { message?: string }).message)
  return 'patched'
}

const most = 2 ** 31 - 1
const example = (annotations: Fields, containers: readonly Container[], spec: Fields = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', annotations: keyed(annotations) },
  spec: { ...spec, containers },
})

test('numbers at the end of int32, names and fields at their limits', async () => {
  const envoy = { name: 'envoy', image: 'envoy' }
  const app = { name: 'app', image: 'app' }
  const tcpSocket = { port: 1 }
  const fileKeyRef = { volumeName: 'v', path: 'env', key: 'A', optional: true }
  const long = 'a'.repeat(63)
  const numbers = { periodSeconds: most, failureThreshold: most, timeoutSeconds: most, initialDelaySeconds: most }
  const cases: { [what: string]: Pod } = {
    'a startupProbe of 146 billion years': example({ sidecars: 'envoy', gate: 'native' }, [
      { ...envoy, startupProbe: { tcpSocket, ...numbers } },
      app,
    ]),
    'the same, held by a hook': example({ sidecars: 'envoy' }, [
      app,
      { ...envoy, startupProbe: { tcpSocket, ...numbers } },
    ]),
    'just above int32': example({ sidecars: 'envoy', gate: 'native' }, [
      { ...envoy, startupProbe: { tcpSocket, periodSeconds: 10, failureThreshold: Math.ceil(most / 10) } },
      app,
    ]),
    'a successThreshold': example({ sidecars: 'envoy' }, [
      app,
      { ...envoy, readinessProbe: { tcpSocket, successThreshold: most, timeoutSeconds: most } },
    ]),
    'long names': example({ sidecars: long }, [app, { name: long, image: 'x', readinessProbe: { tcpSocket } }]),
    'new fields': example(
      { sidecars: 'envoy', gate: 'native' },
      [
        app,
        {
          ...envoy,
          readinessProbe: { grpc: { port: 1, service: 'x' } },
          livenessProbe: { tcpSocket, terminationGracePeriodSeconds: 5 },
          resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }],
          lifecycle: { preStop: { sleep: { seconds: 1 } } },
          ...(hasLock && { env: [{ name: 'A', valueFrom: { fileKeyRef } }] }),
        },
      ],
      { volumes: [{ name: 'v', emptyDir: {} }], resources: { limits: { cpu: '1' } } },
    ),
    'annotations that leave no room for ours': example(
      { sidecars: 'envoy', 'example.com/large': 'x'.repeat(256 * 1024 - 150) },
      [app, { ...envoy, readinessProbe: { tcpSocket } }],
    ),
    'its own mounts around ours': example(
      { sidecars: 'envoy' },
      [app, { ...envoy, readinessProbe: { tcpSocket }, volumeMounts: [{ name: 'v', mountPath: '/' }] }],
      { volumes: [{ name: 'v', emptyDir: {} }] },
    ),
  }
  for (const [what, object] of Object.entries(cases)) {
    assert.equal(await stillAccepted(object), 'patched', what)
  }
})

/** Whether a field of the securityContext is right for all containers: on the pod, unless one says otherwise, or on each. */
function everywhere(field: string, right: (value: string) => string): string {
  const all = '(object.spec.containers + object.spec.?initContainers.orValue([]))'
  const on = (context: string) => `${context}.?securityContext.?${field}`
  const rightOn = (context: string, otherwise: boolean) =>
    `(${on(context)}.hasValue() ? ${right(`${on(context)}.value()`)} : ${otherwise})`
  return `(${rightOn('object.spec', false)} && ${all}.all(c, ${rightOn('c', true)})) || ${all}.all(c, ${rightOn('c', false)})`
}

// In CEL, what Kyverno's require-run-as-nonroot, require-non-root-groups and require-emptydir-requests-limits and Gatekeeper's allowed users (MustRunAs)
// ask of a pod; they don't run here.
const policies = [
  everywhere('runAsNonRoot', (value) => value),
  everywhere('runAsUser', (value) => `${value} >= 1 && ${value} <= 2000`),
  everywhere('runAsGroup', (value) => `${value} > 0`),
  'object.spec.?volumes.orValue([]).all(v, !has(v.emptyDir) || has(v.emptyDir.sizeLimit))',
]

test('a pod that keeps to PodSecurity "restricted" and to policies on users and volumes still does, wherever it names its user', async () => {
  const metadata = { name: 'users', labels: { 'pod-security.kubernetes.io/enforce': 'restricted', policies: 'users' } }
  const group = '/apis/admissionregistration.k8s.io/v1'
  const created = [
    await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata }),
    await post(`${group}/validatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'users' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        },
        validations: policies.map((expression) => ({ expression, message: 'policy users' })),
      },
    }),
    await post(`${group}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'users' },
      spec: {
        policyName: 'users',
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: { matchLabels: { policies: 'users' } } },
      },
    }),
  ]
  for (const { status, body } of created) assert.equal(status, 201, JSON.stringify(body))

  const pods = '/api/v1/namespaces/users/pods'
  const seccompProfile = { type: 'RuntimeDefault' }
  const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
  const container = (name: string, securityContext: Fields): Container => ({
    name,
    image: name,
    readinessProbe: { tcpSocket: { port: 1 } },
    securityContext: { ...confined, ...securityContext },
  })
  const asking = (pod: Fields, app: Fields, envoy: Fields) =>
    example({ sidecars: 'envoy', waiter: 'init-container' }, [container('app', app), container('envoy', envoy)], {
      securityContext: { seccompProfile, ...pod },
    })
  const [nonRoot, user, other] = [{ runAsNonRoot: true }, { runAsUser: 1000 }, { runAsUser: 1337 }]
  const [ids, others] = [
    { ...user, runAsGroup: 1000 },
    { ...other, runAsGroup: 1337 },
  ]
  const cases: { [what: string]: Pod } = {
    'on the pod': asking({ ...nonRoot, ...ids }, {}, {}),
    'on each container': asking({}, { ...nonRoot, ...ids }, { ...nonRoot, ...others }),
    'non-root on the pod, users on each container': asking(nonRoot, ids, others),
    'users on the pod, non-root on each container': asking(ids, nonRoot, nonRoot),
    'on both': asking({ ...nonRoot, ...ids }, { ...nonRoot, ...ids }, { ...nonRoot, ...others }),
    'the user on each container, the rest on the pod': asking({ ...nonRoot, runAsGroup: 1000 }, user, other),
  }
  // A policy counts a moment after it has been made.
  await until('the policy', 30 * SECOND, async () =>
    /policy users/.test(JSON.stringify((await create(asking(nonRoot, {}, {}), pods)).body)),
  )
  for (const [what, object] of Object.entries(cases)) assert.equal(await stillAccepted(object, pods), 'patched', what)
})

/** The pod with what the API server always refuses put right, so that most random pods pass. */
function valid(object: Pod): Pod {
  const container = (item: Container, own: boolean): Container => {
    const { startupProbe, readinessProbe, lifecycle, volumeMounts, futureField, ...rest } = item
    if (!own) return rest as Container
    const probe = (value: Json | undefined, startup: boolean): Fields => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
      const its = value as { httpGet?: Fields; [key: string]: Json | undefined }
      const httpGet = its.httpGet && { ...its.httpGet, path: its.httpGet.path || '/' }
      const fixed = { ...value, ...(httpGet && { httpGet }), ...(startup && { successThreshold: 1 }) }
      return { [startup ? 'startupProbe' : 'readinessProbe']: fixed as Json }
    }
    const hook = (lifecycle as { postStart?: { httpGet?: Fields } } | null | undefined)?.postStart?.httpGet
    const fixedHook = { ...(lifecycle as Fields), postStart: { httpGet: { ...hook, path: hook?.path || '/' } } }
    return {
      ...rest,
      ...probe(startupProbe, true),
      ...probe(readinessProbe, false),
      ...(lifecycle === undefined ? {} : { lifecycle: hook === undefined ? lifecycle : fixedHook }),
      ...(volumeMounts === undefined ? {} : { volumeMounts }),
    } as Container
  }
  const { ephemeralContainers, ...spec } = object.spec
  const inits = (spec.initContainers ?? []) as readonly Container[]
  const annotations = Object.entries(object.metadata.annotations as Fields).filter(
    ([key, value]) =>
      /^([a-z.-]+\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]$/.test(key) && typeof value === 'string',
  )
  return {
    ...object,
    metadata: { ...object.metadata, annotations: Object.fromEntries(annotations) },
    spec: {
      ...spec,
      // A sleep mustn't be longer.
      terminationGracePeriodSeconds: most,
      volumes: [{ name: 'data', emptyDir: {} }],
      ...(inits.length > 0 && {
        initContainers: inits.map((item) => container(item, item.restartPolicy === 'Always')),
      }),
      containers: spec.containers.map((item) => container(item, true)),
    },
  } as Pod
}

test('what the API server accepts before our patch it accepts after it', async () => {
  const counts = { 'not accepted': 0, refused: 0, 'left alone': 0, patched: 0 }
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: pod }, { weight: 1, arbitrary: oddPod }), async (random) => {
      const object = valid(random)
      if ((await accepted(object)) === undefined) counts['not accepted'] += 1
      else counts[await stillAccepted(object)] += 1
    }),
    runs(800),
  )
  const all = Object.values(counts).reduce((sum, count) => sum + count)
  // Whoever insists on the lock is refused before 1.35.
  assert.ok(counts.patched > all / (hasLock ? 8 : 16), JSON.stringify(counts))
})
