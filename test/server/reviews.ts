/** A pod that lists its sidecar last. */
export const pod = (extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'sample', namespace: 'default', annotations: { 'sidecar-first.dev/sidecars': 'proxy' }, ...extra },
  spec: {
    containers: [
      { name: 'app', image: 'app:1', env: [{ name: 'PASSWORD', value: 'hunter2' }] },
      { name: 'proxy', image: 'proxy:1', readinessProbe: { httpGet: { path: '/ready', port: 15021 } } },
    ],
  },
})

/** A review as the API server sends it. */
export const review = (object: unknown = pod(), request: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
    kind: { group: '', version: 'v1', kind: 'Pod' },
    resource: { group: '', version: 'v1', resource: 'pods' },
    name: '',
    namespace: 'default',
    operation: 'CREATE',
    userInfo: { username: 'system:serviceaccount:kube-system:replicaset-controller' },
    object,
    oldObject: null,
    dryRun: false,
    options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
    ...request,
  },
})
