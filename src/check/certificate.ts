import type { V1Pod } from '@kubernetes/client-node'
import { isCovered, readCertificate, splitBundle } from '../../certs/check.ts'
import type { Endpoint, StoredConfiguration } from '../../certs/cluster.ts'
import { kubernetes } from '../../certs/kubernetes.ts'
import type { Lifetimes } from '../../certs/next.ts'
import { servedCertificate } from '../../certs/served.ts'
import { type Status, statusOf } from '../../certs/status.ts'
import { serviceNames } from '../../certs/x509.ts'
import { ClusterError, failureKind } from '../kubernetes/failure.ts'
import { forward } from '../kubernetes/port-forward.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { isReady, whyNot } from './replicas.ts'
import { type Check, needed, type Site } from './site.ts'

const DAY = 86_400_000
/** What `certs run` goes by where no flag says otherwise. */
const lifetimes: Lifetimes = { authority: 365 * DAY, leaf: 30 * DAY, settle: 300_000 }

/** Whether what every replica serves, seen by a handshake, is what the API server trusts. */
export const certificate: Check = {
  name: 'certificate',
  async run({ kubeconfig, namespace, installed, objects }) {
    const names = { service: 'sidecar-first', secret: 'sidecar-first', lease: 'sidecar-first' }
    const configurations = { mutating: 'zz-sidecar-first', validating: 'sidecar-first' }
    const { cluster } = kubernetes({ kubeconfig, names: { namespace, ...names, ...configurations } })
    const dnsNames = serviceNames(names.service, namespace)
    const [servername = names.service] = dnsNames
    const barred = new Set<string>()
    const ask = async ({ pod, port }: Endpoint) => {
      if (pod === undefined) return undefined
      const socket = await forward(kubeconfig, { namespace, pod, port }).catch((error: Error) => {
        if (failureKind(error) === 'forbidden') barred.add(error.message)
        throw error
      })
      return await servedCertificate({ socket }, servername)
    }
    const judge = async (): Promise<readonly Finding[]> => {
      if (!someoneElses(installed)) {
        const reference = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: certsName, namespace } }
        const labelSelector = `app.kubernetes.io/name=sidecar-first,${component}`
        const [deployment, keepers] = await Promise.all([
          objects.read(reference),
          objects.list<V1Pod>({ apiVersion: 'v1', kind: 'Pod' }, { namespace, labelSelector }),
        ])
        const status = await statusOf({ cluster, names: dnsNames, lifetimes, ask })
        return judgeStatus(status, deployment && keepers, namespace)
      }
      const endpoints = (await cluster.readEndpoints()) ?? []
      const served = endpoints.map(async (endpoint) => ({
        name: endpoint.pod ?? endpoint.host,
        shown: await answer(ask, endpoint),
      }))
      const trusting = await cluster.readConfigurations()
      return judgeServed({ served: await Promise.all(served), trusting, servername, now: cluster.now() })
    }
    const findings = await judge()
    // That somebody may not ask is no fault of the replicas.
    const unasked = [...barred].map((message) => warning(`no replica was asked: ${message}`))
    return [...unasked, ...findings.filter(({ text }) => ![...barred].some((message) => text.endsWith(message)))]
  },
}

const certsName = 'sidecar-first-certs'
const component = 'app.kubernetes.io/component=certs'

/** @param keepers the pods of certs; undefined where it isn't installed */
export function judgeStatus(
  { phase, problems }: Pick<Status, 'phase' | 'problems'>,
  keepers: readonly V1Pod[] | undefined,
  namespace: string,
): readonly Finding[] {
  const idle = keepers && idleness(keepers, namespace)
  const logs = `certs mends it within a minute: kubectl logs -n ${namespace} deploy/${certsName}`
  const findings = problems.map((text) => {
    if (text.startsWith('the Service has no')) return problem(text, 'see replicas')
    if (text.startsWith('there is no webhook')) return problem(text, 'see webhooks')
    return problem(text, idle ? 'certs would mend it, but does not run' : logs)
  })
  if (findings.length > 0) return idle ? [problem(idle.text, idle.next), ...findings] : findings
  const sound = ok(`every replica serves what the API server trusts (phase ${phase})`)
  return idle ? [sound, warning(`${idle.text}: nobody renews it`, idle.next)] : [sound]
}

/** Why nobody keeps the certificate; undefined where somebody does. */
function idleness(keepers: readonly V1Pod[], namespace: string): { text: string; next: string } | undefined {
  if (keepers.some(isReady)) return undefined
  const [one] = keepers
  const name = `deployment/${certsName}`
  if (!one) return { text: `${name} has no pod`, next: `kubectl scale -n ${namespace} ${name} --replicas=1` }
  const next = `kubectl describe pod -n ${namespace} -l ${component}`
  return { text: `${one.metadata?.name} is not ready: ${whyNot(one)}`, next }
}

/** cert-manager's own annotation: then there is no CA of ours in the Secret. */
function someoneElses({ mutating }: Site['installed']): boolean {
  return needed(mutating)?.metadata?.annotations?.['cert-manager.io/inject-ca-from'] !== undefined
}

/** What a replica showed (PEM), or why there is nothing. */
type Shown = { readonly pem: string } | { readonly silence: string }

async function answer(ask: (endpoint: Endpoint) => Promise<string | undefined>, endpoint: Endpoint): Promise<Shown> {
  try {
    const pem = await ask(endpoint)
    return pem === undefined ? { silence: 'did not answer a handshake' } : { pem }
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    return { silence: `could not be asked: ${error.message}` }
  }
}

/** Of a certificate that isn't ours to keep: only whether it works. */
export function judgeServed({
  served,
  trusting,
  servername,
  now,
}: {
  served: readonly { readonly name: string; readonly shown: Shown }[]
  trusting: readonly StoredConfiguration[]
  servername: string
  now: number
}): readonly Finding[] {
  const next = 'it is not kept by sidecar-first certs: see what keeps it, such as cert-manager'
  const at = new Date(now)
  const findings = served.flatMap(({ name, shown }): Finding[] => {
    if ('silence' in shown) return [problem(`${name} ${shown.silence}`)]
    const leaf = readCertificate(shown.pem)
    if (!leaf) return [problem(`${name} serves something that is no certificate`, next)]
    const expires = leaf.validToDate
    const blind = trusting.filter(
      ({ bundles }) => !bundles.every((pem) => isCovered(shown.pem, { by: splitBundle(pem), at })),
    )
    return [
      ...blind.map((each) => problem(`${name} serves a leaf that the caBundle of ${each.name} doesn't cover`, next)),
      ...(at > expires ? [problem(`${name} serves a leaf that expired at ${expires.toISOString()}`, next)] : []),
      ...(leaf.checkHost(servername) ? [] : [problem(`${name} serves a leaf that isn't for ${servername}`, next)]),
    ]
  })
  if (served.length === 0) return [problem('the Service has no ready endpoint', 'see replicas')]
  return findings.length > 0 ? findings : [ok('every replica serves what the API server trusts (not kept by certs)')]
}
