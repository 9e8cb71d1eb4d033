import { type Ask, answersOf } from './answers.ts'
import type { Cluster, StoredConfiguration } from './cluster.ts'
import { checkServerPair, isCovered, readCertificate, splitBundle } from './faults.ts'
import type { Life } from './life-bars.ts'
import type { CertificateProblem } from './problems.ts'
import type { Status } from './show.ts'

/** What is wrong with what a replica serves, for the API server that calls it. */
type ServedFault =
  | { readonly kind: 'not-a-certificate' }
  | { readonly kind: 'untrusted'; readonly configuration: string }
  | { readonly kind: 'expired'; readonly at: number }
  | { readonly kind: 'name'; readonly servername: string }

interface Calls {
  readonly trusting: readonly StoredConfiguration[]
  readonly servername: string
  /** ms */
  readonly now: number
}

/** Whether calls to a replica succeed that serves this (PEM), whoever issued it. */
function faultsOfServed(pem: string, { trusting, servername, now }: Calls): readonly ServedFault[] {
  const leaf = readCertificate(pem)
  if (!leaf) return [{ kind: 'not-a-certificate' }]
  const at = new Date(now)
  const expires = leaf.validToDate
  return [
    ...trusting
      .filter(({ bundles }) => !bundles.every((bundle) => isCovered(pem, { by: splitBundle(bundle), at })))
      .map(({ name: configuration }): ServedFault => ({ kind: 'untrusted', configuration })),
    ...(at > expires ? [{ kind: 'expired', at: expires.getTime() } as const] : []),
    ...(leaf.checkHost(servername) ? [] : [{ kind: 'name', servername } as const]),
  ]
}

/** What a status is found out from. */
export interface Asking {
  readonly cluster: Cluster
  /** DNS names of the leaf; the first is the one that the API server asks for. */
  readonly names: readonly string[]
  readonly ask: Ask
}

/**
 * The status where cert-manager keeps the certificate. It never gives away its CA's key and renews when it likes, so all that counts is whether
 * the API server's calls succeed.
 * @throws ClusterError
 */
export async function foreignStatus(
  { cluster, names, ask }: Asking,
  configurations: readonly StoredConfiguration[],
): Promise<Status> {
  const secret = await cluster.readSecret()
  const endpoints = (await cluster.readEndpoints()) ?? []
  const now = cluster.now()
  const { 'tls.crt': certificate = '', 'tls.key': key = '', 'ca.crt': ca = '' } = secret?.data ?? {}
  const problems: CertificateProblem[] = secret
    ? checkServerPair({ certificate, key, names, at: new Date(now) }).map((problem) => ({
        kind: 'secret-damaged',
        slot: 'tls',
        problem,
      }))
    : [{ kind: 'foreign-secret-missing' }]
  const calls = { trusting: configurations, servername: names[0] ?? '', now }
  const trusting = configurations.map((each) => {
    const authorities = each.bundles.map((bundle) => splitBundle(bundle).length)
    const faults = secret ? faultsOfServed(certificate, { ...calls, trusting: [each] }) : []
    const differs = faults.some(({ kind }) => kind === 'untrusted')
    if (differs) problems.push({ kind: 'trust-differs', configuration: each.name })
    return { configuration: each.name, authorities: Math.min(...authorities, Infinity), differs }
  })
  const issued = readCertificate(certificate)?.fingerprint256
  const served = (await answersOf(endpoints, ask)).map((answer): Status['served'][number] => {
    const { endpoint } = answer
    const faults = 'pem' in answer ? faultsOfServed(answer.pem, calls) : []
    problems.push(...unique(faults).map((fault) => problemOf(fault, endpoint, now)))
    if ('problem' in answer) problems.push(answer.problem)
    const leaf = 'pem' in answer ? readCertificate(answer.pem) : undefined
    if (!leaf) return { endpoint, serves: 'nothing' }
    const serves = leaf.fingerprint256 === issued ? 'our-leaf' : 'another-leaf'
    return { endpoint, serves, remaining: leaf.validToDate.getTime() - now }
  })
  if (endpoints.length === 0) problems.push({ kind: 'endpoints-missing' })
  const lives = [...lifeOf('CA', ca), ...lifeOf('leaf', certificate)]
  return { phase: 'kept by cert-manager', now, lives, trusting, served, problems }
}

/** A leaf that several configurations don't trust is one problem of its replica. */
const unique = (faults: readonly ServedFault[]): readonly ServedFault[] => [
  ...new Map(faults.map((fault) => [fault.kind, fault])).values(),
]

function problemOf(fault: ServedFault, endpoint: string, now: number): CertificateProblem {
  switch (fault.kind) {
    case 'not-a-certificate':
      return { kind: 'not-a-certificate', endpoint }
    case 'untrusted':
      return { kind: 'served-untrusted', endpoint }
    case 'expired':
      return { kind: 'served-expired', endpoint, for: now - fault.at }
    case 'name':
      return { kind: 'served-name', endpoint, servername: fault.servername }
    default:
      return fault satisfies never
  }
}

function lifeOf(name: 'CA' | 'leaf', pem: string): readonly Life[] {
  const certificate = readCertificate(pem)
  if (!certificate) return []
  const { fingerprint256: id, validFromDate, validToDate } = certificate
  return [{ id, name, issued: validFromDate.getTime(), expires: validToDate.getTime(), due: undefined }]
}
