/**
 * Builds stand-ins for well-known sidecars, init containers and apps, under the names by which test/admission/suggest/pods has them. All are the test
 * sidecar's program, which behaves by the name it is called by (see sidecar/known.go).
 *
 *     node test/cluster/images/known.ts OUT.tar ENTRYPOINT BUSYBOX
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { buildImages, type Entry } from '../../../scripts/image.ts'

/** Those without a shell, as theirs are, with the program that they start; undefined: what the pod says. */
const bare: Record<string, string | undefined> = {
  'cr.l5d.io/linkerd/proxy:edge-25.8.5': '/usr/lib/linkerd/linkerd2-proxy',
  'cr.l5d.io/linkerd/proxy-init:v2.4.1': '/init',
  'docker.io/daprio/daprd:1.16.1': undefined,
  'docker.io/fluent/fluent-bit:4.1.0': '/fluent-bit/bin/fluent-bit',
  'docker.io/hashicorp/consul-dataplane:1.8.0': '/usr/local/bin/consul-dataplane',
  'docker.io/kuma/kuma-dp:2.11.0': '/usr/bin/kuma-dp',
  'docker.io/kuma/kuma-init:2.11.0': '/init',
  'gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.18.0': '/cloud-sql-proxy',
  'gcr.io/cloudsql-docker/gce-proxy:1.37.7': undefined,
  'ghcr.io/open-telemetry/opentelemetry-collector-releases/opentelemetry-collector:0.140.0': '/otelcol',
  'docker.io/otel/opentelemetry-collector-contrib:0.140.0': '/otelcol',
}

const shell: Record<string, string | undefined> = {
  'docker.io/envoyproxy/envoy:v1.36.0': '/usr/local/bin/envoy',
  'docker.io/hashicorp/consul-k8s-control-plane:1.8.0': '/init',
  'docker.io/hashicorp/vault:1.21.1': '/bin/vault',
  'docker.io/istio/examples-bookinfo-productpage-v1:1.20.3': '/app',
  'docker.io/istio/proxyv2:1.27.1': '/usr/local/bin/pilot-agent',
  'docker.io/library/app:1.0': '/app',
  'docker.io/library/export:1.0': '/job',
  'docker.io/library/hello:1.0': '/app',
  'docker.io/library/order:1.0': '/app',
  'docker.io/library/shop:1.0': '/app',
  'docker.io/library/web:1.0': '/app',
  'fake.docker.io/google-samples/hello-go-gke:1.0': '/app',
  // With digests that aren't theirs: containerd goes by the names of what it has, in which a tag before a digest is left out.
  [`mirror.example/envoy@sha256:${'0123456789abcdef'.repeat(4)}`]: '/usr/local/bin/envoy',
  [`registry.example:5000/mirror/istio/proxyv2@sha256:${'0123456789abcdef'.repeat(4)}`]: '/usr/local/bin/pilot-agent',
}

const [out = '', entrypoint = '', busybox = ''] = process.argv.slice(2)
const programs = [...Object.values(bare), ...Object.values(shell)].filter((path) => path !== undefined)
const links = new Set([...programs, '/daprd', '/cloud_sql_proxy', '/usr/lib/linkerd/linkerd-await'])
const files: Entry[] = [
  { path: '/entrypoint', data: readFileSync(entrypoint) },
  ...[...links].map((path) => ({ path, link: '/entrypoint' })),
]
const withShell: Entry[] = [
  ...files,
  { path: '/bin/busybox', data: readFileSync(busybox) },
  ...['base64', 'echo', 'sh', 'sleep', 'test'].map((applet) => ({ path: `/bin/${applet}`, link: 'busybox' })),
]
const Env = ['PATH=/bin:/usr/bin:/usr/local/bin']
const architecture = process.env.GOARCH ?? (process.arch === 'x64' ? 'amd64' : process.arch)
const imagesOf = (entrypoints: typeof bare, entries: readonly Entry[]) =>
  Object.entries(entrypoints).map(([name, path]) => ({
    name,
    config: { Env, ...(path !== undefined && { Entrypoint: [path] }) },
    platform: { architecture, entries },
  }))
writeFileSync(`${out}.partial`, buildImages([...imagesOf(bare, files), ...imagesOf(shell, withShell)]))
renameSync(`${out}.partial`, out)
