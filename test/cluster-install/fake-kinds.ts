/** Others' kinds without their schemas: what is in them isn't checked. */
export const fakeKinds = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ['cert-manager.io', 'Issuer'],
    ['cert-manager.io', 'Certificate'],
    ['monitoring.coreos.com', 'ServiceMonitor'],
    ['monitoring.coreos.com', 'PodMonitor'],
    ['monitoring.coreos.com', 'PrometheusRule'],
  ].map(([group, kind = '']) => {
    const singular = kind.toLowerCase()
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${singular}s.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { kind, singular, plural: `${singular}s`, listKind: `${kind}List` },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    }
  }),
}
