import type { PolledCheck } from '../check/grammar.ts'

/** What a mesh's injector does to a pod, from its source: which containers it adds, and what it makes of the probes of the others. */
export interface Mesh {
  readonly title: string
  /** The name of its proxy; `NAME-SERVICE` where a pod has several. */
  readonly proxy: string
  /** They redirect the pod's traffic to the proxy, or wait until a CNI plugin has. */
  readonly initContainers: readonly string[]
  /** The checks that the proxy answers for other containers, since the injector has rewritten their probes. */
  readonly rewritten: ((check: Extract<PolledCheck, { kind: 'http' | 'https' }>) => boolean) | undefined
}

export const meshes: readonly Mesh[] = [
  {
    // pkg/kube/inject/app_probe.go: on its status port, 15020 unless an annotation says otherwise
    title: 'Istio',
    proxy: 'istio-proxy',
    initContainers: ['istio-init', 'istio-validation'],
    rewritten: ({ path }) => path.startsWith('/app-health/'),
  },
  {
    // charts/partials/templates/_proxy-init.tpl and _network-validator.tpl; probes stay as they are
    title: 'Linkerd',
    proxy: 'linkerd-proxy',
    initContainers: ['linkerd-init', 'linkerd-network-validator'],
    rewritten: undefined,
  },
  {
    // control-plane/connect-inject/webhook/mesh_webhook.go: from 20300 liveness, 20400 readiness, 20500 startup
    title: 'Consul',
    proxy: 'consul-dataplane',
    initContainers: ['consul-connect-inject-init'],
    rewritten: ({ port }) => port >= 20_300 && port < 20_600,
  },
  {
    // pkg/plugins/runtime/k8s/probes: `/PORT/PATH` of its application probe proxy, 9001, or of the older virtual probes, 9000
    title: 'Kuma',
    proxy: 'kuma-sidecar',
    initContainers: ['kuma-init', 'kuma-validation'],
    rewritten: ({ port, path }) => (port === 9000 || port === 9001) && /^\/\d+(\/|$)/.test(path),
  },
]

export const isProxyOf = ({ proxy }: Mesh, name: string): boolean => name === proxy || name.startsWith(`${proxy}-`)
