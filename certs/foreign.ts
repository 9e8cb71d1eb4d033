import type { Cluster, Endpoint, StoredConfiguration } from './cluster.ts'
import { checkServerPair, isCovered, readCertificate, splitBundle } from './faults.ts'
import type { Life } from './life-bars.ts'
import { type CertificateProblem, notAsked } from './problems.ts'
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
export function faultsOfServed(pem: string, { trusting, servername, now }: Calls): readonly ServedFault[] {
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

/**
 * The status where cert-manager keeps the certificate. It never gives away its CA's key and renews when it likes, so all that counts is whether
 * the API server's calls succeed.
 * @throws ClusterError
 */
export async function foreignStatus({
  cluster,
  names,
  configurations,
  ask,
}: {
  cluster: Cluster
  names: readonly string[]
  configurations: readonly StoredConfiguration[]
  ask: (endpoint: Endpoint) => Promise<string | undefined>
}): Promise<Status> {
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
  const served = await Promise.all(
    endpoints.map(async (each): Promise<Status['served'][number]> => {
      const endpoint = `${each.pod ?? each.host}:${each.port}`
      const pem = await ask(each).catch((error) => {
        problems.push(notAsked(endpoint, error))
        return undefined
      })
      if (pem === undefined) {
        if (!problems.some((one) => one.kind === 'not-asked' && one.endpoint === endpoint))
          problems.push({ kind: 'no-handshake', endpoint })
        return { endpoint, serves: 'nothing' }
      }
      const faults = faultsOfServed(pem, calls)
      problems.push(...unique(faults).map((fault) => problemOf(fault, endpoint, now)))
      const leaf = readCertificate(pem)
      if (!leaf) return { endpoint, serves: 'nothing' }
      return {
        endpoint,
        serves: leaf.fingerprint256 === issued ? 'our-leaf' : 'another-leaf',
        remaining: leaf.validToDate.getTime() - now,
      }
    }),
  )
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
