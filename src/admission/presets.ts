import type { Check } from './check.ts'

/** What is known of a sidecar that people run, from its own documentation and source. */
export interface Preset {
  readonly name: string
  /** As people write it: `Istio`, `Cloud SQL Proxy`. */
  readonly title: string
  /** The names its injector or its documentation gives the container. */
  readonly containers: readonly string[]
  /** Globs of its image; for a container whose name people choose themselves. */
  readonly images: readonly string[]
  /** What ready means, in words: the end of "ready when …". */
  readonly ready: string
  /** The same in the grammar of checks; `probe` where the endpoint may be off or its port elsewhere, since then nothing would ever start. */
  readonly check: Check
  /** What to write instead where `probe` finds no probe, once the sidecar is configured as `traps` says. */
  readonly explicit: Check | undefined
  readonly tier: number
  readonly meshProxy: boolean
  /** Consecutive words of a command, each without its folder: a PostStart hook of its own that runs them already waits, and is left as it is. */
  readonly ownHook: readonly string[] | undefined
  /** Checks that wait for the app, and so would deadlock. */
  readonly deadlocks: readonly Deadlock[]
  /** What people trip over, one sentence each. */
  readonly traps: readonly string[]
  /** Where its documentation says so. */
  readonly source: string
}

/** A path (of an http check) that answers only when the app is up. */
export interface Deadlock {
  readonly path: string
  /** What to use instead. */
  readonly instead: Check
}

/**
 * The order between presets. A mesh proxy goes first: once its init container has redirected the pod's traffic, nobody reaches anything
 * without it. Then secrets, which the others may need; then what the app talks to; Dapr last, whose components may reach out through those.
 */
const tiers = { mesh: 10, secrets: 20, local: 30, runtime: 40 } as const

const probe: Check = { kind: 'probe', probe: 'either' }
const http = (port: number, path: string): Check => ({ kind: 'http', host: '', port, path })
/** With a tag and with a digest: the separator after the name makes it a whole word, which the index of rules finds fast. */
const images = (...names: readonly string[]) => names.flatMap((name) => [`*${name}:*`, `*${name}@*`])

export const presets: readonly Preset[] = [
  {
    name: 'istio',
    title: 'Istio',
    containers: ['istio-proxy'],
    images: images('/proxyv2'),
    ready: 'the agent has its certificate and Envoy its configuration: `/healthz/ready` on 15021',
    check: http(15_021, '/healthz/ready'),
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: ['pilot-agent', 'wait'],
    deadlocks: [],
    traps: [
      'Its injector rewrites the http, tcp and grpc probes of all other containers to `/app-health/NAME/…` on its own port 15020, so `probe` on any of them passes only once istio-proxy runs: start it first.',
      'The injector leaves its proxy last, without a hook, unless `holdApplicationUntilProxyStarts` is on or it is a native sidecar.',
      'With the annotation `status.sidecar.istio.io/port: "0"` the injector leaves the proxy\'s probes out, as nothing serves its health: use `check: none` there.',
      "Istio's gateways call their only container istio-proxy too: leave them out with a podSelector.",
    ],
    source: 'https://istio.io/latest/docs/ops/configuration/mesh/app-health-check/',
  },
  {
    name: 'linkerd',
    title: 'Linkerd',
    containers: ['linkerd-proxy'],
    images: images('linkerd/proxy'),
    ready:
      'the proxy has its identity: its own probe, `/ready` on the admin port (4191 unless the pod or the installation sets another)',
    check: probe,
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: ['linkerd-await'],
    deadlocks: [],
    traps: [
      'The injector adds a hook that runs `linkerd-await` for up to 2 minutes unless `config.linkerd.io/proxy-await` is `disabled`; that hook is left as it is.',
      "Leave Linkerd's own namespace out: the proxy of linkerd-identity asks the container beside it for its certificate, and would wait for it.",
    ],
    source: 'https://linkerd.io/2/features/proxy-injection/',
  },
  {
    name: 'consul-dataplane',
    title: 'Consul dataplane',
    containers: ['consul-dataplane'],
    images: images('/consul-dataplane'),
    ready:
      'Envoy has its configuration: its own probe, which asks the inbound port 20000, or `/ready` on 21000 with `use-proxy-health-check`',
    check: probe,
    explicit: undefined,
    tier: tiers.mesh,
    meshProxy: true,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'With the transparent proxy its injector sends the http probes of the other containers through Envoy, so `probe` on any of them passes only once consul-dataplane runs: start it first.',
      'A pod with several services has one container for each, named `consul-dataplane-SERVICE`, on ports counted up from 20000: match them with a glob.',
      'Its native sidecar has a startupProbe that runs `consul-dataplane -check-proxy-health`, an exec check, so it stands last in its tier.',
    ],
    source: 'https://developer.hashicorp.com/consul/docs/k8s/annotations-and-labels',
  },
  {
    name: 'kuma',
    title: 'Kuma',
    containers: ['kuma-sidecar'],
    images: images('/kuma-dp'),
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
      "Its injector sends the other containers' probes through a probe proxy in kuma-sidecar, so `probe` on any of them passes only once it runs: start it first.",
    ],
    source: 'https://kuma.io/docs/latest/reference/kubernetes-annotations/',
  },
  {
    name: 'vault-agent',
    title: 'Vault agent',
    containers: ['vault-agent'],
    images: images('hashicorp/vault'),
    ready: 'the secret is rendered: a file that only you can name, as the injector gives the agent no probe',
    check: probe,
    explicit: { kind: 'file', path: '/vault/secrets/NAME' },
    tier: tiers.secrets,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'By default an init container has rendered the secrets before any sidecar starts; only with `vault.hashicorp.com/agent-pre-populate: "false"` is there something to wait for.',
      'The NAME in `file:///vault/secrets/NAME` is the one in `vault.hashicorp.com/agent-inject-secret-NAME`; the volume is `/vault/secrets` unless `secret-volume-path` says otherwise.',
      'The Vault server runs from the same image: match the agent by its container name.',
    ],
    source: 'https://developer.hashicorp.com/vault/docs/platform/k8s/injector/annotations',
  },
  {
    name: 'cloud-sql-proxy',
    title: 'Cloud SQL Proxy',
    containers: ['cloud-sql-proxy'],
    images: images('/cloud-sql-proxy'),
    ready: 'the proxy listens for the database: its own startupProbe, `/startup` on 9090 with `--health-check`',
    check: probe,
    explicit: http(9090, '/startup'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: ['cloud-sql-proxy', 'wait'],
    deadlocks: [],
    traps: [
      'It answers on 9090 only with `--health-check` (or `CSQL_PROXY_HEALTH_CHECK=true`), on another port with `--http-port`; its own examples and its operator use 9801.',
      '`/readiness` also connects to every database instance and counts connections, so a database in maintenance would keep the app down: `/startup` does not.',
      'Its operator names the containers `csql-…`: match `container: "csql-*"`.',
      'Its default image has no shell, so the waiter cannot be delivered as `shell`.',
    ],
    source: 'https://github.com/GoogleCloudPlatform/cloud-sql-proxy/tree/main/examples/k8s-health-check',
  },
  {
    name: 'envoy',
    title: 'Envoy',
    containers: ['envoy'],
    images: images('envoyproxy/envoy'),
    ready:
      'the server is live: its own probe; the admin interface answers `/ready` with 200 then, on the port the bootstrap file names',
    check: probe,
    explicit: http(9901, '/ready'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      "The admin interface has no default port, and none at all unless the bootstrap file has `admin`; 9901 is only what Envoy's examples use.",
      'Gateways built on Envoy often call their main container envoy: leave them out with a podSelector.',
    ],
    source: 'https://www.envoyproxy.io/docs/envoy/latest/operations/admin',
  },
  {
    name: 'opentelemetry-collector',
    title: 'OpenTelemetry Collector',
    containers: ['otc-container', 'otel-collector'],
    images: images('/opentelemetry-collector', '/opentelemetry-collector-contrib', '/opentelemetry-collector-k8s'),
    ready: 'its pipelines run: its own probe; with the `health_check` extension `/` on 13133 answers 200 then',
    check: probe,
    explicit: http(13_133, '/'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      'Nothing listens on 13133 unless `health_check` is configured under `extensions` and listed in `service.extensions`; the extension can change its port and path.',
      'The extension listens on localhost by default, which this check reaches and a probe of the kubelet does not.',
      'The versions of its operator that were read give the sidecar a livenessProbe alone, which `probe` does not use: write the check.',
    ],
    source:
      'https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/extension/healthcheckextension',
  },
  {
    name: 'fluent-bit',
    title: 'Fluent Bit',
    containers: ['fluent-bit'],
    images: images('/fluent-bit'),
    ready:
      'its server answers: its own probe; with `HTTP_Server` and `Health_Check` on, `/api/v1/health` on 2020 answers 200 then',
    check: probe,
    explicit: http(2020, '/api/v1/health'),
    tier: tiers.local,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [],
    traps: [
      '`HTTP_Server` and `Health_Check` are both off by default, and `HTTP_Port` can move it.',
      '`/api/v1/health` turns to 500 when outputs fail more often than `HC_Errors_Count`; `http://:2020/` needs `HTTP_Server` alone and says that the server runs.',
    ],
    source: 'https://docs.fluentbit.io/manual/administration/monitoring',
  },
  {
    name: 'dapr',
    title: 'Dapr',
    containers: ['daprd'],
    images: images('/daprd'),
    ready: 'its components are initialised and its API answers: `/v1.0/healthz/outbound` on 3500',
    check: http(3500, '/v1.0/healthz/outbound'),
    explicit: undefined,
    tier: tiers.runtime,
    meshProxy: false,
    ownHook: undefined,
    deadlocks: [
      { path: '/v1.0/healthz', instead: http(3500, '/v1.0/healthz/outbound') },
      // The same endpoint, as Istio's injector rewrites the probe.
      { path: '/app-health/daprd/readyz', instead: http(3500, '/v1.0/healthz/outbound') },
    ],
    traps: [
      'Its own probe asks `/v1.0/healthz`, which with `dapr.io/app-port` waits for the app to listen: `probe` would deadlock, also where Istio has rewritten that probe.',
      'With `dapr.io/unix-domain-socket-path` nothing listens on 3500; use `http://:3501/v1.0/healthz/outbound`, its public port.',
      'It ends when a component fails to start (unless that has `ignoreErrors`): what a component reaches through a sidecar (a database proxy, say) belongs in an earlier tier.',
      'Its default image has no shell, so the waiter cannot be delivered as `shell`.',
    ],
    source: 'https://docs.dapr.io/reference/api/health_api/',
  },
]

export function presetOf(name: string): Preset | undefined {
  return presets.find((preset) => preset.name === name)
}
