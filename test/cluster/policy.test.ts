import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Answer, create, createNamespace, deleteNamespaces, quotaCounts } from './cluster.ts'
import { app, firstLineOf, getPod, logOf, markOf, type PodOptions, pod, sidecar } from './pod.ts'
import { startWebhook, type Webhook } from './webhook.ts'

const asked: PodOptions = { annotations: { 'sidecar-first.dev/sidecars': 'sidecar' } }
const late = (more: Record<string, unknown> = {}) =>
  sidecar(
    'sidecar',
    { HTTP: ':15021', READY_AFTER: '1s' },
    { readinessProbe: { httpGet: { path: '/ready', port: 15_021 } }, ...more },
  )

describe("what we add keeps to the namespace's rules", () => {
  const restricted = 'policy-restricted'
  const limited = 'policy-limited'
  const open = 'policy-open'
  let webhook: Webhook | undefined
  let answer: Answer
  before(async () => {
    webhook = await startWebhook('policy')
    const test = 'policy'
    await createNamespace(restricted, {
      test,
      'pod-security.kubernetes.io/enforce': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    })
    await createNamespace(limited, { test })
    await createNamespace(open, { test })
    await create(limits, quota)
    await quotaCounts(limited, quota.metadata.name)
    answer = await create(
      pod(restricted, 'pod', [app(undefined, confined), late(confined)], {
        ...asked,
        spec: { securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } } },
      }),
      pod(limited, 'pod', [app(undefined, small), late(small)], asked),
      pod(open, 'guaranteed', [app(undefined, guaranteed), late(guaranteed)], asked),
      pod(open, 'root', [app(), late()], { ...asked, spec: { securityContext: { runAsUser: 0 } } }),
    )
  })
  after(async () => {
    await deleteNamespaces(restricted, limited, open)
    await webhook?.remove()
  })

  for (const [what, namespace, name] of [
    ['PodSecurity "restricted"', restricted, 'pod'],
    ['a LimitRange (min, max, ratio) and a ResourceQuota', limited, 'pod'],
    ['a Guaranteed pod', open, 'guaranteed'],
    ['a pod of root', open, 'root'],
  ] as const) {
    test(`${what}: the pod is created, and waits`, async () => {
      const log = await logOf(namespace, name)
      assert.ok(firstLineOf(log) >= markOf(log, 'sidecar', 'ready'))
    })
  }

  test('causes no warning of PodSecurity', () => assert.doesNotMatch(answer.stderr, /PodSecurity/))

  test('leaves a Guaranteed pod Guaranteed', async () => {
    assert.equal((await getPod(open, 'guaranteed')).status.qosClass, 'Guaranteed')
  })

  test('gives the init container no service account token', async () => {
    const { spec } = await getPod(open, 'guaranteed')
    const init = spec.initContainers?.find(({ name }) => name === 'sidecar-first-waiter')
    const path = '/var/run/secrets/kubernetes.io/serviceaccount'
    const mounts = init?.volumeMounts?.filter(({ mountPath }) => mountPath.startsWith(path)) ?? []
    assert.equal(mounts.length, 1)
    const volume = spec.volumes?.find(({ name }) => name === mounts[0]?.name)
    assert.ok(volume?.emptyDir, 'what is mounted there is empty')
    const apps = spec.containers.find(({ name }) => name === 'app')?.volumeMounts
    assert.ok(
      apps?.some(({ name, mountPath }) => mountPath === path && name !== volume.name),
      'the app keeps its token',
    )
  })
})

const confined = {
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
}
const small = { resources: { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } } }
const guaranteed = { resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '100m', memory: '64Mi' } } }

const limits = {
  apiVersion: 'v1',
  kind: 'LimitRange',
  metadata: { name: 'limits', namespace: 'policy-limited' },
  spec: {
    limits: [
      {
        type: 'Container',
        min: { cpu: '50m', memory: '32Mi' },
        max: { cpu: '200m', memory: '128Mi' },
        maxLimitRequestRatio: { cpu: '2', memory: '2' },
      },
    ],
  },
}
// What the two containers ask for, exactly: an init container that asked for more would not fit.
const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'quota', namespace: 'policy-limited' },
  spec: {
    hard: {
      pods: '1',
      'requests.cpu': '100m',
      'requests.memory': '64Mi',
      'limits.cpu': '200m',
      'limits.memory': '128Mi',
    },
  },
}
