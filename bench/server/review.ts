import { createHash } from 'node:crypto'

/** What differs from one pod's review to another's. */
interface Individual {
  readonly uid: string
  /** The workload's name. */
  readonly app: string
  /** Of its ReplicaSet. */
  readonly hash: string
  /** What the API server appends to the name of the token's volume. */
  readonly suffix: string
  /** Of its three containers, the last of them the sidecar. */
  readonly containers: readonly [string, string, string]
  readonly tag: string
  /** How many variables each container has beside the usual three. */
  readonly variables: number
}

const sample: Individual = {
  uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
  app: 'sample',
  hash: '5d59d67564',
  suffix: 'x7k2p',
  containers: ['app', 'worker', 'proxy'],
  tag: '1.42.0',
  variables: 12,
}

/** Deterministic noise: letters and digits, at most forty. */
const noise = (seed: number, length: number) => createHash('sha1').update(`${seed}`).digest('hex').slice(0, length)

const uid = (seed: number) => `${noise(seed, 8)}-6393-41e8-b7cc-${noise(-seed, 12)}`

/** By what they have in common: one body again and again; the pods of ten ReplicaSets; every pod of another template. */
export const varieties = {
  same: () => sample,
  replicaSets: (index) => ({
    ...sample,
    uid: uid(index),
    app: `service-${index % 10}`,
    hash: noise(index % 10, 10),
    suffix: noise(index, 5),
    containers: [`service-${index % 10}`, 'worker', 'proxy'],
    tag: `1.${index % 10}.0`,
  }),
  templates: (index) => ({
    uid: uid(index),
    app: `service-${index}`,
    hash: noise(index, 10),
    suffix: noise(index, 5),
    containers: [`service-${index}`, `worker-${index % 17}`, `proxy-${index % 23}`],
    tag: `1.${index}.${index % 7}`,
    variables: 8 + (index % 9),
  }),
} as const satisfies Readonly<Record<string, (index: number) => Individual>>
export type Variety = keyof typeof varieties

/** A review of about 8 KB, as a Deployment's pod with three containers makes it; the sidecar is listed last. */
export function realisticReview({ uid, app, hash, suffix, containers, tag, variables }: Individual = sample): string {
  const container = (name: string, port: number) => ({
    name,
    image: `registry.example.com/team/${name}:${tag}`,
    command: [`/usr/local/bin/${name}`],
    args: ['--config', `/etc/${name}/config.yaml`, '--log-format=json', `--port=${port}`],
    ports: [
      { name: `${name}-http`, containerPort: port, protocol: 'TCP' },
      { name: `${name}-prom`, containerPort: port + 1, protocol: 'TCP' },
    ],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } } },
      { name: 'POD_IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: `${name}-credentials`, key: 'token' } } },
      ...Array.from({ length: variables }, (_, index) => ({
        name: `SETTING_${index}`,
        value: `value ${index} of ${name}`,
      })),
    ],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } },
    volumeMounts: [
      { name: 'config', mountPath: `/etc/${name}`, readOnly: true },
      { name: `kube-api-access-${suffix}`, readOnly: true, mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
    ],
    readinessProbe: {
      httpGet: { path: '/ready', port: `${name}-http`, scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    securityContext: {
      capabilities: { drop: ['ALL'] },
      runAsNonRoot: true,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    },
  })
  const labels = {
    app,
    'app.kubernetes.io/name': app,
    'app.kubernetes.io/version': tag,
    'pod-template-hash': hash,
  }
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      requestKind: { group: '', version: 'v1', kind: 'Pod' },
      requestResource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'default',
      operation: 'CREATE',
      userInfo: {
        username: 'system:serviceaccount:kube-system:replicaset-controller',
        uid: '3f8a1c3e-4a43-4a3e-8f6d-8d6a4f1f0b6b',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
      },
      object: {
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: {
          generateName: `${app}-${hash}-`,
          namespace: 'default',
          labels,
          annotations: { 'sidecar-first.dev/sidecars': containers[2], 'prometheus.io/scrape': 'true' },
          ownerReferences: [
            {
              apiVersion: 'apps/v1',
              kind: 'ReplicaSet',
              name: `${app}-${hash}`,
              uid: 'c52a8d2f-8c2f-4a55-a4d4-0a3c3c1d9a8e',
              controller: true,
              blockOwnerDeletion: true,
            },
          ],
          managedFields: [
            {
              manager: 'kube-controller-manager',
              operation: 'Update',
              apiVersion: 'v1',
              time: '2026-01-01T00:00:00Z',
              fieldsType: 'FieldsV1',
              fieldsV1: {
                'f:metadata': { 'f:labels': Object.fromEntries(Object.keys(labels).map((key) => [`f:${key}`, {}])) },
                'f:spec': Object.fromEntries(
                  ['dnsPolicy', 'restartPolicy', 'schedulerName', 'volumes'].map((key) => [`f:${key}`, {}]),
                ),
              },
            },
          ],
        },
        spec: {
          volumes: [
            { name: 'config', configMap: { name: `${app}-config`, defaultMode: 420 } },
            {
              name: `kube-api-access-${suffix}`,
              projected: {
                sources: [
                  { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
                  { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
                ],
                defaultMode: 420,
              },
            },
          ],
          containers: containers.map((name, index) => container(name, [8080, 8090, 15_020][index] ?? 0)),
          restartPolicy: 'Always',
          terminationGracePeriodSeconds: 30,
          dnsPolicy: 'ClusterFirst',
          serviceAccountName: app,
          serviceAccount: app,
          securityContext: { runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
          schedulerName: 'default-scheduler',
          tolerations: [
            { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
            { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
          ],
          priority: 0,
          enableServiceLinks: true,
          preemptionPolicy: 'PreemptLowerPriority',
        },
        status: {},
      },
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    },
  })
}
