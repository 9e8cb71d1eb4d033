import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

const variables = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    name: `SETTING_${index}`,
    value: `https://service-${index}.shop.svc:8443/path`,
  }))

/** A pod as large as those that Istio's injector has filled up, of the Deployment web-NUMBER. */
export const web = (index: number, workload: number) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `web-${workload}-abc12-${index}`,
    namespace: 'shop',
    labels: { app: `web-${workload}`, 'pod-template-hash': 'abc12', 'security.istio.io/tlsMode': 'istio' },
    annotations: {
      'sidecar.istio.io/status': JSON.stringify({ volumes: Array(6).fill('istio-token') }),
      'prometheus.io/path': '/stats/prometheus',
    },
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: `web-${workload}-abc12`,
        uid: `u-${workload}`,
        controller: true,
      },
    ],
  },
  spec: {
    nodeName: `node-${index % 50}`,
    containers: [
      { name: 'app', image: `example/shop-${workload}:1`, env: variables(20) },
      {
        name: 'istio-proxy',
        image: 'docker.io/istio/proxyv2:1.27.0',
        args: ['proxy', 'sidecar', '--domain', '$(POD_NAMESPACE).svc.cluster.local', '--proxyLogLevel=warning'],
        env: variables(25),
        readinessProbe: { httpGet: { path: '/healthz/ready', port: 15_021 }, periodSeconds: 15, failureThreshold: 4 },
      },
    ],
  },
})

/** As its kubelet would have written it. @param harmed the app starts five seconds before its sidecar */
export function statusOf({ spec }: ReturnType<typeof web>, harmed: boolean) {
  const since = (seconds: number) =>
    new Date(Math.floor(Date.now() / 1000) * 1000 + seconds * 1000).toISOString().replace('.000Z', 'Z')
  const run = (name: string, image: string, startedAt: string) => ({
    name,
    image,
    imageID: `${image}@sha256:${'0'.repeat(64)}`,
    containerID: `containerd://${'0'.repeat(64)}`,
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt } },
    lastState: {},
  })
  const [app, proxy] = spec.containers
  return {
    phase: 'Running',
    startTime: since(0),
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }],
    conditions: ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: since(8),
    })),
    containerStatuses: [
      run('app', app?.image ?? '', since(1)),
      run('istio-proxy', proxy?.image ?? '', since(harmed ? 6 : 1)),
    ],
  }
}

/** Runs a program to its end and says what it needed. */
export async function burden(program: string, args: readonly string[], kubeconfig: string) {
  const told = `process.on('exit', () => { const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage(); process.stderr.write(JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1e6, mib: maxRSS / 1024 })) })`
  const options = [`--import=data:text/javascript,${encodeURIComponent(told)}`, program, ...args]
  const child = spawn(process.execPath, options, {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(err)
  const { cpu, mib }: { cpu: number; mib: number } = JSON.parse(err)
  return { out, cpu, mib }
}
