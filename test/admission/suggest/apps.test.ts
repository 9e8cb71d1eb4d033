import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readMetadata } from '../../../src/admission/pod/read.ts'
import { suggest } from '../../../src/admission/suggest/suggest.ts'
import { mendOf } from '../../../src/scan/mend.ts'
import { subjectOf } from '../../../src/scan/subject.ts'
import { todayOf } from '../../../src/scan/today.ts'
import { type Container, configuration, type Fields } from '../pods.ts'

// Pods in which a container that is known as a sidecar is the app itself, and sidecars by other names. Each as its installation makes it, shortened.
const surroundings = { job: false }
const ready = (port: number, path = '/ready') => ({ readinessProbe: { httpGet: { port, path } } })
const web: Container = { name: 'web', image: 'web:1' }

interface Case {
  readonly containers: readonly Container[]
  readonly metadata?: Fields
  readonly initContainers?: readonly Container[]
}

/** What preview suggests, and what a scan lists of it. */
function said({ containers, metadata = {}, initContainers = [] }: Case) {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers, initContainers } }
  const suggestion = suggest(object, { configuration, surroundings })
  const subject = subjectOf(object)
  const scanned = subject && todayOf(subject).map(({ app, sidecar, kind }) => `${app} ${kind} ${sidecar}`)
  const lines = suggestion !== undefined && 'lines' in suggestion ? suggestion.lines : []
  const mend = mendOf(object, false, surroundings, configuration)
  if (subject !== undefined && suggestion?.kind === 'mend') {
    assert.deepEqual(
      mend.kind === 'lines' && mend.lines,
      lines.map(({ key, value }) => ({ key, value })),
    )
  }
  return {
    preview: suggestion?.kind ?? 'nothing known',
    lines: lines.map(({ key, value }) => `${key.replace('sidecar-first.dev/', '')}: ${value}`),
    scan: scanned ?? [],
  }
}

const own: Record<string, Case> = {
  'Istio’s ingress gateway': {
    metadata: { labels: { istio: 'ingressgateway' } },
    containers: [
      {
        name: 'istio-proxy',
        image: 'istio/proxyv2:1.27.1',
        args: ['proxy', 'router'],
        ...ready(15021, '/healthz/ready'),
      },
    ],
  },
  'the same with what asked for its injection': {
    metadata: { labels: { 'sidecar.istio.io/inject': 'true' }, annotations: { 'istio.io/rev': 'default' } },
    containers: [{ name: 'istio-proxy', image: 'istio/proxyv2:1.27.1', args: ['proxy', 'router'] }],
  },
  'the same before its injection': {
    metadata: {
      labels: { 'sidecar.istio.io/inject': 'true' },
      annotations: { 'inject.istio.io/templates': 'gateway' },
    },
    containers: [{ name: 'istio-proxy', image: 'auto' }],
  },
  'the same with a container that its users added': {
    containers: [
      {
        name: 'istio-proxy',
        image: 'istio/proxyv2:1.27.1',
        args: ['proxy', 'router'],
        ...ready(15021, '/healthz/ready'),
      },
      { name: 'reload', image: 'reload:1' },
    ],
  },
  'Istio’s waypoint': {
    containers: [{ name: 'istio-proxy', image: 'istio/proxyv2:1.27.1', args: ['proxy', 'waypoint'] }],
  },
  'Istio’s ztunnel': {
    containers: [{ name: 'istio-proxy', image: 'istio/ztunnel:1.27.1', args: ['proxy', 'ztunnel'] }],
  },
  istiod: {
    metadata: { labels: { app: 'istiod', 'istio.io/rev': 'default', 'sidecar.istio.io/inject': 'false' } },
    containers: [{ name: 'discovery', image: 'istio/pilot:1.27.1' }],
  },
  'Linkerd’s identity, for which its proxy waits': {
    metadata: {
      labels: { 'linkerd.io/control-plane-component': 'identity' },
      annotations: { 'linkerd.io/inject': 'enabled' },
    },
    containers: [
      { name: 'identity', image: 'cr.l5d.io/linkerd/controller:edge-25.8.5', ...ready(9990) },
      { name: 'linkerd-proxy', image: 'cr.l5d.io/linkerd/proxy:edge-25.8.5', ...ready(4191) },
    ],
  },
  'Linkerd’s destination': {
    metadata: { labels: { 'linkerd.io/control-plane-component': 'destination' } },
    containers: [
      { name: 'linkerd-proxy', image: 'cr.l5d.io/linkerd/proxy:edge-25.8.5', ...ready(4191) },
      { name: 'destination', image: 'cr.l5d.io/linkerd/controller:edge-25.8.5' },
      { name: 'policy', image: 'cr.l5d.io/linkerd/policy-controller:edge-25.8.5' },
    ],
  },
  'Envoy Gateway’s proxy': {
    containers: [
      { name: 'envoy', image: 'docker.io/envoyproxy/envoy:distroless-v1.36.0', ...ready(19003) },
      { name: 'shutdown-manager', image: 'docker.io/envoyproxy/gateway:v1.6.0', ...ready(19002, '/healthz') },
    ],
  },
  'Contour’s proxy': {
    initContainers: [{ name: 'envoy-initconfig', image: 'ghcr.io/projectcontour/contour:v1.33.0' }],
    containers: [
      { name: 'shutdown-manager', image: 'ghcr.io/projectcontour/contour:v1.33.0' },
      { name: 'envoy', image: 'docker.io/envoyproxy/envoy:v1.36.0', ...ready(8002) },
    ],
  },
  'Envoy as a front proxy': { containers: [{ name: 'front', image: 'envoyproxy/envoy:v1.36.0', ...ready(9901) }] },
  'an OpenTelemetry collector of its own': {
    containers: [
      { name: 'otc-container', image: 'otel/opentelemetry-collector-contrib:0.140.0', ...ready(13133, '/') },
    ],
  },
  'Fluent Bit’s DaemonSet with hot reload': {
    containers: [
      { name: 'fluent-bit', image: 'cr.fluentbit.io/fluent/fluent-bit:4.1.0', ...ready(2020, '/api/v1/health') },
      { name: 'reloader', image: 'ghcr.io/jimmidyson/configmap-reload:v0.15.0' },
    ],
  },
  'Vault’s server': {
    containers: [{ name: 'vault', image: 'hashicorp/vault:1.21.1', args: ['server'], ...ready(8200) }],
  },
  'Vault’s injector': {
    containers: [{ name: 'sidecar-injector', image: 'hashicorp/vault-k8s:1.7.0', ...ready(8080) }],
  },
  'Dapr’s operator': { containers: [{ name: 'dapr-operator', image: 'ghcr.io/dapr/operator:1.16.1', ...ready(8080) }] },
  'Dapr’s injector': {
    containers: [{ name: 'dapr-sidecar-injector', image: 'ghcr.io/dapr/injector:1.16.1', ...ready(8080) }],
  },
  'Dapr shared by a node': {
    containers: [{ name: 'daprd', image: 'daprio/daprd:1.16.1', ...ready(3501, '/v1.0/healthz') }],
  },
  'a Cloud SQL Proxy for everybody': {
    containers: [
      { name: 'cloud-sql-proxy', image: 'gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.18.0', args: ['p:r:db'] },
    ],
  },
  'Consul’s servers': { containers: [{ name: 'consul', image: 'hashicorp/consul:1.22.0', ...ready(8500) }] },
  'Consul’s mesh gateway': { containers: [{ name: 'mesh-gateway', image: 'hashicorp/consul-dataplane:1.8.0' }] },
  'Kuma’s control plane': { containers: [{ name: 'control-plane', image: 'kumahq/kuma-cp:2.11.0', ...ready(5680) }] },
  'Kuma’s gateway': { containers: [{ name: 'kuma-gateway', image: 'kumahq/kuma-dp:2.11.0', ...ready(9901) }] },
}

describe('a pod whose own program is known as a sidecar gets no line, and no scan lists it', () => {
  for (const [name, each] of Object.entries(own)) {
    test(name, () => {
      const { preview, lines, scan } = said(each)
      assert.deepEqual({ lines, scan }, { lines: [], scan: [] })
      assert.match(preview, /^(nothing known|none)$/)
    })
  }
})

describe('in a mesh such a program is the app, and its proxy the sidecar', () => {
  const linkerd = { name: 'linkerd-proxy', image: 'cr.l5d.io/linkerd/proxy:edge-25.8.5', ...ready(4191) }
  const others: Record<string, readonly Container[]> = {
    envoy: own['Envoy Gateway’s proxy']?.containers ?? [],
    'otc-container': own['an OpenTelemetry collector of its own']?.containers ?? [],
    'fluent-bit': own['Fluent Bit’s DaemonSet with hot reload']?.containers ?? [],
  }
  for (const [app, containers] of Object.entries(others)) {
    test(app, () => {
      assert.deepEqual(said({ containers: [...containers, linkerd] }), {
        preview: 'mend',
        lines: ['sidecars: linkerd-proxy'],
        scan: [`${app} unguarded linkerd-proxy`],
      })
    })
  }
  test('a native one already holds it', () => {
    const native = {
      ...linkerd,
      restartPolicy: 'Always',
      startupProbe: { ...ready(4191).readinessProbe, periodSeconds: 1 },
    }
    const { preview, scan } = said({ containers: others['otc-container'] ?? [], initContainers: [native] })
    assert.deepEqual({ preview, scan }, { preview: 'holds', scan: ['otc-container startup-probe linkerd-proxy'] })
  })
  test('of two that are alike, nobody can tell which is the app', () => {
    const collector = { name: 'otc-container', image: 'otel/opentelemetry-collector:1' }
    const { preview, scan } = said({ containers: [collector, { name: 'fluent-bit', image: 'fluent/fluent-bit:4' }] })
    assert.deepEqual({ preview, scan }, { preview: 'none', scan: [] })
  })
})

describe('further sidecars', () => {
  const cases: Record<string, Case & { readonly lines: readonly string[] }> = {
    'AWS App Mesh’s proxy': {
      containers: [
        web,
        {
          name: 'proxy',
          image: '840364872350.dkr.ecr.us-west-2.amazonaws.com/aws-appmesh-envoy:v1.34.0.0-prod',
          ...ready(9901),
        },
      ],
      lines: ['sidecars: proxy'],
    },
    'Open Service Mesh’s proxy': {
      containers: [web, { name: 'envoy', image: 'envoyproxy/envoy-distroless:v1.25.0', ...ready(15000) }],
      lines: ['sidecars: envoy'],
    },
    'AWS’ OpenTelemetry collector': {
      containers: [
        web,
        {
          name: 'aws-otel',
          image: 'public.ecr.aws/aws-observability/aws-otel-collector:v0.43.0',
          ...ready(13133, '/'),
        },
      ],
      lines: ['sidecars: aws-otel'],
    },
    'Kong Mesh’s proxy': {
      containers: [web, { name: 'kuma-sidecar', image: 'docker.io/kong/kuma-dp:2.11.0', ...ready(9901) }],
      lines: ['sidecars: kuma-sidecar'],
    },
    'OpenShift’s service mesh': {
      containers: [
        web,
        {
          name: 'istio-proxy',
          image: 'registry.redhat.io/openshift-service-mesh/istio-proxyv2-rhel9@sha256:0a1b',
          ...ready(15021, '/healthz/ready'),
        },
      ],
      lines: ['sidecars: istio-proxy'],
    },
  }
  for (const [name, { lines, ...each }] of Object.entries(cases)) {
    test(`${name} gets its line`, () => {
      const found = said(each)
      assert.deepEqual({ preview: found.preview, lines: found.lines }, { preview: 'mend', lines })
      assert.equal(found.scan.length, 1)
    })
  }

  test('what isn’t known gets no line, and isn’t listed', () => {
    const unknown: Record<string, Case> = {
      'Datadog’s agent': {
        containers: [web, { name: 'datadog-agent-injected', image: 'gcr.io/datadoghq/agent:7.64.0' }],
      },
      // It stands first, with a hook that waits.
      'Azure’s workload identity proxy': {
        containers: [
          {
            name: 'azwi-proxy',
            image: 'mcr.microsoft.com/oss/azure/workload-identity/proxy:v1.5.1',
            lifecycle: { postStart: { exec: { command: ['/proxy', '--proxy-port=8000', '--probe'] } } },
          },
          web,
        ],
      },
      // The app's volume waits for it.
      'GKE’s gcsfuse': {
        initContainers: [
          {
            name: 'gke-gcsfuse-sidecar',
            image: 'gke.gcr.io/gcs-fuse-csi-driver-sidecar-mounter:v1.15',
            restartPolicy: 'Always',
          },
        ],
        containers: [web],
      },
    }
    for (const [name, each] of Object.entries(unknown)) {
      assert.deepEqual(said(each), { preview: 'nothing known', lines: [], scan: [] }, name)
    }
  })

  test('an image is known from any registry, with a port, a tag, a digest, or both', () => {
    const digest = `@sha256:${'ab'.repeat(32)}`
    for (const image of [
      'istio/proxyv2',
      'docker.io/istio/proxyv2:1.27.1',
      'localhost:5000/proxyv2',
      'registry.example:5000/mirror/docker.io/istio/proxyv2:1.27.1-distroless',
      `registry.example:5000/istio/proxyv2${digest}`,
      `registry.example:5000/istio/proxyv2:1.27.1${digest}`,
      `[2001:db8::1]:5000/istio/proxyv2:1${digest}`,
    ]) {
      const { lines } = said({ containers: [web, { name: 'mesh', image, ...ready(15021, '/healthz/ready') }] })
      assert.deepEqual(lines, ['sidecars: mesh'], image)
    }
    for (const image of ['istio/proxyv2-init:1', 'registry.example:5000/notproxyv2:1', 'proxyv2.example/app:1']) {
      const { preview } = said({ containers: [web, { name: 'mesh', image }] })
      assert.equal(preview, 'nothing known', image)
    }
  })
})

test('a pod or a namespace that declines an injection gets none, whichever revision it names', () => {
  const rev = { 'istio.io/rev': 'canary' }
  const kindOf = (labels: Fields, around: Fields) => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { labels }, spec: { containers: [web] } }
    const namespace = readMetadata({ metadata: { labels: around } })
    assert.ok(namespace.ok)
    return suggest(object, { configuration, surroundings: { ...surroundings, namespace: namespace.value } })?.kind
  }
  assert.equal(kindOf({}, rev), 'mend')
  assert.equal(kindOf(rev, {}), 'mend')
  assert.equal(kindOf({ ...rev, 'sidecar.istio.io/inject': 'false' }, rev), undefined)
  assert.equal(kindOf({}, { ...rev, 'istio-injection': 'disabled' }), undefined)
})

test('Istio and Linkerd add no proxy to a pod in the network of its node', () => {
  const labels = { 'istio-injection': 'enabled', 'linkerd.io/inject': 'enabled' }
  const namespace = readMetadata({ metadata: { labels } })
  assert.ok(namespace.ok)
  const around = { ...surroundings, namespace: namespace.value }
  const suggested = (spec: Fields) =>
    suggest({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec }, { configuration, surroundings: around })?.kind
  assert.equal(suggested({ containers: [web] }), 'mend')
  assert.equal(suggested({ containers: [web], hostNetwork: true }), undefined)
})
