import type { V1Pod } from '@kubernetes/client-node'
import type { Cluster, Endpoint } from '../../../certs/cluster.ts'
import type { Lifetimes } from '../../../certs/decide-step.ts'
import { kubernetes } from '../../../certs/kubernetes.ts'
import type { CertificateProblem } from '../../../certs/problems.ts'
import { servedCertificate } from '../../../certs/served.ts'
import type { Status } from '../../../certs/show.ts'
import { statusOf } from '../../../certs/status.ts'
import { serviceNames } from '../../../certs/x509.ts'
import { objectNames, selectorOf } from '../../kubernetes/names.ts'
import { forward } from '../../kubernetes/port-forward.ts'
import type { Finding } from '../findings.ts'
import type { Check } from '../site.ts'
import { idleness, isReady } from './replicas.ts'

const day = 86_400_000
/** The defaults of `certs run`. */
const lifetimes: Lifetimes = { authority: 365 * day, leaf: 30 * day, settle: 300_000 }

/** Whether every ready replica serves what the API server trusts, seen by a handshake. */
export const certificate: Check = {
  name: 'certificate',
  async run({ kubeconfig, namespace, objects }) {
    const live = kubernetes({ kubeconfig, names: { ...objectNames, namespace } }).cluster
    const pods = (component: 'serve' | 'certs') =>
      objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector: selectorOf(component) })
    const cluster: Cluster = {
      ...live,
      async readEndpoints() {
        const [endpoints, replicas] = await Promise.all([live.readEndpoints(), pods('serve')])
        return endpoints && readyEndpoints(endpoints, replicas)
      },
    }
    const dnsNames = serviceNames(objectNames.service, namespace)
    const [servername = objectNames.service] = dnsNames
    const ask = async ({ pod, port }: Endpoint) => {
      if (pod === undefined) return undefined
      const socket = await forward(kubeconfig, { namespace, pod, port })
      return await servedCertificate({ socket }, servername)
    }
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: objectNames.certs, namespace } }
    const [deployment, keepers] = await Promise.all([objects.read(reference), pods('certs')])
    const status = await statusOf({ cluster, names: dnsNames, lifetimes, ask })
    return judgeStatus(status, deployment && keepers, namespace)
  },
}

/** Those whose replica is ready by its own status: an EndpointSlice may be older than that, and lists it still. */
export function readyEndpoints(endpoints: readonly Endpoint[], replicas: readonly V1Pod[]): Endpoint[] {
  const ready = new Set(replicas.filter(isReady).map(({ metadata }) => metadata?.name))
  return endpoints.filter(({ pod }) => pod === undefined || ready.has(pod))
}

/** @param keepers the pods of certs; undefined if it isn't installed */
export function judgeStatus(
  { phase, problems }: Pick<Status, 'phase' | 'problems'>,
  keepers: readonly V1Pod[] | undefined,
  namespace: string,
): readonly Finding[] {
  const byOthers = phase === 'kept by cert-manager'
  const idle = byOthers ? undefined : keepers && idleness(keepers)
  const { barred, others } = apart(problems)
  const hints = { 'endpoints-missing': 'replicas', 'configurations-missing': 'webhooks' } as const
  const findings = others.map((problem): Finding => {
    const elsewhere = problem.kind in hints ? hints[problem.kind as keyof typeof hints] : undefined
    return {
      kind: 'certificate-problem',
      problem,
      namespace,
      hint: elsewhere ?? (byOthers ? 'foreign' : idle ? 'stays' : 'repaired'),
    }
  })
  if (findings.length > 0)
    return [...barred, ...(idle ? [{ kind: 'certs-stopped', ...idle, namespace } as const] : []), ...findings]
  const sound: Finding[] = barred.length > 0 ? [...barred] : [{ kind: 'certificate-kept', phase }]
  return idle ? [...sound, { kind: 'certs-idle', ...idle, namespace }] : sound
}

/** That we may not ask the replicas isn't their fault: one warning for each reason. */
function apart(problems: readonly CertificateProblem[]): {
  barred: readonly Finding[]
  others: readonly CertificateProblem[]
} {
  const messages = new Set<string>()
  const others = problems.filter((problem) => {
    if (problem.kind !== 'not-asked' || problem.failure !== 'forbidden') return true
    messages.add(problem.message)
    return false
  })
  return { barred: [...messages].map((message) => ({ kind: 'replicas-not-asked', message })), others }
}
