import type { Check } from '../check/grammar.ts'

/** What is known about a well-known sidecar, from its own documentation and source. */
export interface Preset {
  readonly name: string
  /** The name for people: `Istio`, `Cloud SQL Proxy`. */
  readonly title: string
  /** The names that its injector or its documentation gives the container. */
  readonly containers: readonly string[]
  /** Globs for its image, for containers whose name people choose themselves. */
  readonly images: readonly string[]
  /** Whether other programs run from the same image, which then says nothing. */
  readonly imageIsShared: boolean
  /** Containers that its gateways and agents have beside it, and that are no app. */
  readonly helpers: readonly string[]
  /** The annotations and labels by which a pod asks its injector for it. */
  readonly askedFor: readonly string[]
  /** Those by which a namespace asks for it, for all its pods. */
  readonly askedByNamespace: readonly string[]
  /** An init container of its injector, after which there is nothing left to wait for. */
  readonly preparedBy: string | undefined
  /** What ready means, in words: completes "ready when …". */
  readonly ready: string
  /** The same as a check. It is `probe` if the endpoint may be off or on another port, because then a fixed check would never pass. */
  readonly check: Check
  /** What to write instead if the container has no probe, once the sidecar is configured as `traps` says. */
  readonly explicit: Check | undefined
  readonly tier: number
  readonly meshProxy: boolean
  /** Consecutive words of a command, without folders. An existing PostStart hook that runs them already waits, so it is left as it is. */
  readonly ownHook: readonly string[] | undefined
  /** Checks that wait for the app and would therefore deadlock, or for more than the sidecar. */
  readonly deadlocks: readonly Deadlock[]
  /** Common mistakes, each in whole sentences. */
  readonly traps: readonly string[]
  /** Where its documentation says this. */
  readonly source: string
}

/** The path of an http check that waits for something a sidecar shouldn't wait for. */
export interface Deadlock {
  readonly path: string
  /** Waiting for the app it never passes; for databases it takes as long as they do. */
  readonly waitsFor: 'app' | 'databases'
  /** What to use instead. */
  readonly instead: Check
}

/**
 * The order between presets. A mesh proxy starts first: once its init container has redirected the pod's traffic, no container reaches
 * anything without it. Then come secrets, which the others may need, then what the app talks to. Dapr is last: its components may use those.
 */
const tiers = { mesh: 10, secrets: 20, local: 30, runtime: 40 } as const

const probe: Check = { kind: 'probe', probe: 'either' }
const http = (port: number, path: string): Check => ({ kind: 'http', host: '', port, path })
/** With any tag or digest. */
const images = (...names: readonly string[]) => names.map((name) => `*${name}`)

export const presets: readonly Preset[] = [
  {
    name: 'istio',
    title: 'Istio',
    containers: ['istio-proxy'],
    images: images('/proxyv2'),
    imageIsShared: false,
    helpers: [],
    askedFor: ['sidecar.istio.io/inject', 'istio.io/rev'],
    askedByNamespace: ['istio-injection', 'istio.io/rev'],
    preparedBy: undefined,
    ready: 'the agent has its certificate and Envoy its configuration: `/healthz/ready` on 15021',
    check: http(15_021, '/healthz/ready'),
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: ['pilot-agent', 'wait'],
    deadlocks: [],
    traps: [
      'Its injector rewrites the http, tcp and grpc probes of all other containers to `/app-health/NAME/…` on its own port 15020, so `probe` on any of them only passes when istio-proxy runs: start istio-proxy first.',
      'From 1.27 on nodes from Kubernetes 1.33, the injector makes the proxy a native sidecar, which starts before all regular containers. Otherwise it puts the proxy last, without a hook, unless `holdApplicationUntilProxyStarts` is on.',
      'With the annotation `status.sidecar.istio.io/port: "0"` the injector leaves out the proxy\'s probes, because nothing serves its health: use `check: none` there.',
      "Istio's gateways also call their only container istio-proxy: exclude them with a podSelector.",
    ],
    source: 'https://istio.io/latest/docs/ops/configuration/mesh/app-health-check/',
  },
  {
    name: 'linkerd',
    title: 'Linkerd',
    containers: ['linkerd-proxy'],
    images: images('linkerd/proxy'),
    imageIsShared: false,
    helpers: [],
    askedFor: ['linkerd.io/inject'],
    askedByNamespace: ['linkerd.io/inject'],
    preparedBy: undefined,
    ready:
      'the proxy has its identity: its own probe, `/ready` on the admin port (4191 unless the pod or the installation sets another)',
    check: probe,
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: ['linkerd-await'],
    deadlocks: [],
    traps: [
      'From 2.20 the injector makes the proxy a native sidecar with a startupProbe by default. A regular proxy container gets a hook that runs `linkerd-await` for up to 2 minutes, unless `config.linkerd.io/proxy-await` is `disabled`; that hook is left as it is.',
      "Exclude Linkerd's own namespace: the proxy of linkerd-identity gets its certificate from the container next to it, which would wait for the proxy.",
    ],
    source: 'https://linkerd.io/2/features/proxy-injection/',
  },
  {
    name: 'consul-dataplane',
    title: 'Consul dataplane',
    containers: ['consul-dataplane'],
    images: images('/consul-dataplane'),
    imageIsShared: false,
    helpers: [],
    askedFor: ['consul.hashicorp.com/connect-inject'],
    askedByNamespace: [],
    preparedBy: undefined,
    ready:
      'Envoy has its configuration: its own probe, which asks the inbound port 20000, or `/ready` on 21000 with `use-proxy-health-check`',
    check: probe,
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'With the transparent proxy its injector sends the http probes of the other containers through Envoy, so `probe` on any of them only passes when consul-dataplane runs: start it first.',
      'A pod with several services has one container for each, named `consul-dataplane-SERVICE`, on ports from 20000 upwards: match them with a glob.',
      'As a native sidecar it has a startupProbe that runs `consul-dataplane -check-proxy-health`. That is an exec check, so it comes last in its tier.',
    ],
    source: 'https://developer.hashicorp.com/consul/docs/k8s/annotations-and-labels',
  },
  {
    name: 'kuma',
    title: 'Kuma',
    containers: ['kuma-sidecar'],
    images: images('/kuma-dp'),
    imageIsShared: false,
    helpers: [],
    askedFor: ['kuma.io/sidecar-injection'],
    askedByNamespace: ['kuma.io/sidecar-injection'],
    preparedBy: undefined,
    ready:
      'Envoy has its configuration: its own probe, `/ready` on the admin port (9901 unless the pod or the control plane sets another)',
    check: probe,
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: ['kuma-dp', 'wait'],
    deadlocks: [],
    traps: [
      'With `kuma.io/wait-for-dataplane-ready: "true"` the injector adds a hook that runs `kuma-dp wait`; that hook is left as it is.',
      "Its injector sends the other containers' probes through a probe proxy in kuma-sidecar, so `probe` on any of them only passes when it runs: start it first.",
    ],
    source: 'https://kuma.io/docs/latest/reference/kubernetes-annotations/',
  },
  {
    name: 'vault-agent',
    title: 'Vault agent',
    containers: ['vault-agent'],
    images: images('hashicorp/vault'),
    imageIsShared: true,
    helpers: [],
    askedFor: ['vault.hashicorp.com/agent-inject'],
    askedByNamespace: [],
    preparedBy: 'vault-agent-init',
    ready: 'the secret is rendered to a file; you have to name the file, because the injector gives the agent no probe',
    check: probe,
    explicit: { kind: 'file', path: '/vault/secrets/NAME' },
    tier: tiers.secrets,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'By default an init container renders the secrets before any sidecar starts, so there is only something to wait for with `vault.hashicorp.com/agent-pre-populate: "false"`.',
      'The NAME in `file:///vault/secrets/NAME` is the one in `vault.hashicorp.com/agent-inject-secret-NAME`; the volume is `/vault/secrets` unless `secret-volume-path` says otherwise.',
      'The Vault server runs from the same image: match the agent by its container name.',
    ],
    source: 'https://developer.hashicorp.com/vault/docs/platform/k8s/injector/annotations',
  },
  {
    name: 'cloud-sql-proxy',
    title: 'Cloud SQL Proxy',
    containers: ['cloud-sql-proxy'],
    images: images('/cloud-sql-proxy', '/gce-proxy'),
    imageIsShared: false,
    helpers: [],
    askedFor: [],
    askedByNamespace: [],
    preparedBy: undefined,
    ready: 'the proxy listens for the database: its own startupProbe, `/startup` on 9090 with `--health-check`',
    check: probe,
    explicit: http(9090, '/startup'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: ['cloud-sql-proxy', 'wait'],
    deadlocks: [{ path: '/readiness', waitsFor: 'databases', instead: http(9090, '/startup') }],
    traps: [
      'It only answers on 9090 with `--health-check` (or `CSQL_PROXY_HEALTH_CHECK=true`), and on another port with `--http-port`; its own examples and its operator use 9801. Version 1, the image `gce-proxy`, answers on 8090 from 1.25 on with `-use_http_health_check`, and on another port with `-health_check_port`.',
      'A check of the port on which it listens for the database (`tcp://:5432`) says that it has started, as `/startup` does, and makes it connect to the database once; neither says whether the database answers.',
      '`/readiness` also counts connections, and before 2.11.1 connects to every database instance, so that a database in maintenance would keep the app down; `/startup` does neither.',
      'Its operator names the containers `csql-…`: match `container: "csql-*"`.',
      'Its default image has no shell, so the waiter cannot be delivered as `shell`.',
    ],
    source: 'https://github.com/GoogleCloudPlatform/cloud-sql-proxy/tree/main/examples/k8s-health-check',
  },
  {
    name: 'envoy',
    title: 'Envoy',
    containers: ['envoy'],
    images: images('envoyproxy/envoy', '/envoy-distroless', '/aws-appmesh-envoy'),
    imageIsShared: false,
    helpers: ['shutdown-manager'],
    askedFor: [],
    askedByNamespace: [],
    preparedBy: undefined,
    ready:
      'the server is live: its own probe; the admin interface then answers `/ready` with 200, on the port that the bootstrap file names',
    check: probe,
    explicit: http(9901, '/ready'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      "The admin interface has no default port, and doesn't exist unless the bootstrap file has `admin`; 9901 is only the port of Envoy's examples.",
      'Gateways built on Envoy often call their main container envoy: exclude them with a podSelector. Suggestions know those of Envoy Gateway and Contour by their container `shutdown-manager`.',
    ],
    source: 'https://www.envoyproxy.io/docs/envoy/latest/operations/admin',
  },
  {
    name: 'opentelemetry-collector',
    title: 'OpenTelemetry Collector',
    containers: ['otc-container', 'otel-collector'],
    images: images(
      '/opentelemetry-collector',
      '/opentelemetry-collector-contrib',
      '/opentelemetry-collector-k8s',
      '/aws-otel-collector',
    ),
    imageIsShared: false,
    helpers: [],
    askedFor: ['sidecar.opentelemetry.io/inject'],
    askedByNamespace: ['sidecar.opentelemetry.io/inject'],
    preparedBy: undefined,
    ready: 'its pipelines run: its own probe; with the `health_check` extension, `/` on 13133 then answers 200',
    check: probe,
    explicit: http(13_133, '/'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'Nothing listens on 13133 unless `health_check` is configured under `extensions` and listed in `service.extensions`; the extension can change its port and path.',
      "The extension listens on localhost by default. This check can reach it there, but a kubelet's probe can't.",
      "The versions of its operator that we examined only give the sidecar a livenessProbe, which `probe` doesn't use: write the check.",
    ],
    source:
      'https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/extension/healthcheckextension',
  },
  {
    name: 'fluent-bit',
    title: 'Fluent Bit',
    containers: ['fluent-bit'],
    images: images('/fluent-bit'),
    imageIsShared: false,
    helpers: ['reloader'],
    askedFor: [],
    askedByNamespace: [],
    preparedBy: undefined,
    ready:
      'its server answers: its own probe; with `HTTP_Server` and `Health_Check` on, `/api/v1/health` on 2020 then answers 200',
    check: probe,
    explicit: http(2020, '/api/v1/health'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      '`HTTP_Server` and `Health_Check` are both off by default, and `HTTP_Port` can change the port.',
      '`/api/v1/health` answers 500 when outputs fail more often than `HC_Errors_Count`; `http://:2020/` only needs `HTTP_Server` and shows that the server runs.',
    ],
    source: 'https://docs.fluentbit.io/manual/administration/monitoring',
  },
  {
    name: 'dapr',
    title: 'Dapr',
    containers: ['daprd'],
    images: images('/daprd'),
    imageIsShared: false,
    helpers: [],
    askedFor: ['dapr.io/enabled'],
    askedByNamespace: [],
    preparedBy: undefined,
    ready: 'its components are initialised and its API answers: `/v1.0/healthz/outbound` on 3500',
    check: http(3500, '/v1.0/healthz/outbound'),
    explicit: undefined,
    tier: tiers.runtime,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [
      { path: '/v1.0/healthz', waitsFor: 'app', instead: http(3500, '/v1.0/healthz/outbound') },
      // The same endpoint after Istio's injector has rewritten the probe.
      { path: '/app-health/daprd/readyz', waitsFor: 'app', instead: http(3500, '/v1.0/healthz/outbound') },
    ],
    traps: [
      'Its own probe asks `/v1.0/healthz`, which waits for the app to listen if `dapr.io/app-port` is set: a check that asks it would deadlock, even if Istio has rewritten the probe.',
      'With `dapr.io/unix-domain-socket-path` nothing listens on 3500; use `http://:3501/v1.0/healthz/outbound`, its public port.',
      'It exits when a component fails to start (unless that has `ignoreErrors`), so a sidecar that a component needs (a database proxy, for example) belongs in an earlier tier.',
      'Its default image has no shell, so the waiter cannot be delivered as `shell`.',
    ],
    source: 'https://docs.dapr.io/reference/api/health_api/',
  },
]

export function presetOf(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}
