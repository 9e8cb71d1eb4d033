import type { X509Certificate } from 'node:crypto'
import { objectKeys } from '../src/kubernetes/names.ts'
import type { Changes, StoredConfiguration, StoredSecret } from './cluster.ts'
import type { Asked, Authority, Dated, Leaf, Retired, SecretShown } from './decide-step.ts'
import {
  backdate,
  checkAuthorityPair,
  checkServerPair,
  type Pair,
  type PairProblem,
  readCertificate,
  signedBy,
  splitBundle,
} from './faults.ts'
import type { CertificateProblem } from './problems.ts'

/** The keys of the Secret, some without their `.crt` and `.key`. Servers get only `tls.crt` and `tls.key`. */
const slots = {
  leaf: 'tls',
  current: 'ca',
  next: 'next-ca',
  retired: 'old-ca.crt',
  /** Leaves that were replaced and have not expired: they say how long a retired CA has to stay trusted. */
  replaced: 'old-tls.crt',
} as const

interface Found {
  readonly secret: StoredSecret | undefined
  readonly configurations: readonly StoredConfiguration[]
  readonly names: readonly string[]
  readonly now: number
}

/**
 * Reads the stored certificates and keys, and trusts nothing that it can't verify.
 * @returns what the cluster shows, for the decision, all certificates (PEM) by id, to carry it out, and what is wrong with the Secret
 */
export function look({ secret, configurations, names, now }: Found) {
  const certificates = new Map<string, string>()
  const read = (pem: string) => {
    const certificate = readCertificate(pem)
    if (certificate) certificates.set(certificate.fingerprint256, certificate.toString())
    return certificate
  }
  const readAll = (pem: string) => splitBundle(pem).flatMap((one) => read(one) ?? [])

  const bundles = configurations.map(({ name, bundles: pems }) => ({ name, webhooks: pems.map(readAll) }))
  const problems: CertificateProblem[] = []
  const data = secret?.data ?? {}

  /** Whether nothing but its dates is wrong with what a slot holds. */
  const isSound = (slot: string, faults: readonly PairProblem[]) => {
    const undated = faults.filter(({ fault }) => fault !== 'expired' && fault !== 'not-yet-valid')
    problems.push(...undated.map((problem) => ({ kind: 'secret-damaged', slot, problem }) as const))
    return undated.length === 0
  }
  const authority = (slot: string): Authority | undefined => {
    const pair = pairIn(slot, data)
    if (pair === undefined) return undefined
    const signs = isSound(slot, checkAuthorityPair({ ...pair, at: new Date(now) }))
    const certificate = read(pair.certificate)
    return certificate && { ...dated(certificate), signs }
  }
  const current = authority(slots.current)
  const next = authority(slots.next)
  const retired = readAll(data[slots.retired] ?? '').filter(
    ({ fingerprint256: id }) => id !== current?.id && id !== next?.id,
  )
  const ours = [current?.id, next?.id, ...retired.map(({ fingerprint256 }) => fingerprint256)]

  const strangers = bundles
    .flatMap(({ webhooks }) => webhooks.flat())
    .filter(({ fingerprint256: id }) => !ours.includes(id))
  const authorities = [...certificates.values()].flatMap(certificatesOf)

  const pair = pairIn(slots.leaf, data)
  const sound = pair && isSound(slots.leaf, checkServerPair({ ...pair, names, at: new Date(now) }))
  const served = sound ? readCertificate(pair.certificate) : undefined
  const leaf = served && asLeaf(served, authorities)

  const leaves = certificatesOf((data[slots.replaced] ?? '') + (pair?.certificate ?? ''))
  const withLastLeaf = (certificate: X509Certificate): Retired => {
    const last = lastLeaf(certificate, leaves)
    return { ...dated(certificate), lastLeaf: last && dated(last) }
  }

  const asked = secret?.annotations[objectKeys.rotate]
  const secretShown: SecretShown | undefined = secret && {
    current,
    next,
    retired: retired.map(withLastLeaf),
    leaf,
    asked: isAsked(asked) ? asked : undefined,
  }
  const ids = (found: readonly X509Certificate[]) => found.map(({ fingerprint256 }) => fingerprint256)
  return {
    shown: {
      now,
      secret: secretShown,
      configurations: bundles.map(({ name, webhooks }) => ({ name, webhooks: webhooks.map(ids) })),
      strangers: strangers.map((one) => ({ ...dated(one), subject: one.subject })),
    },
    certificates,
    problems,
  }
}

/** A certificate that an endpoint serves, as a leaf of one of these CAs (PEM). */
export function leafOf(pem: string, authorities: Iterable<string>): Leaf | undefined {
  const [certificate] = certificatesOf(pem)
  return certificate && asLeaf(certificate, [...authorities].flatMap(certificatesOf))
}

/** What writing a new CA into the Secret changes. */
export const minted = (pair: Pair, shown: SecretShown | undefined): Changes => ({
  data: put(slots.next, pair),
  ...(shown?.asked === 'ca' && answered),
})

/** What somebody asked for is done. */
const answered = { annotations: { [objectKeys.rotate]: null } }

/** What writing a new leaf into the Secret changes; one from the next CA makes that the current one and retires the old. */
export function issued(pair: Pair, { from, secret }: { from: 'current' | 'next'; secret: StoredSecret }): Changes {
  const { data } = secret
  const asked = secret.annotations[objectKeys.rotate]
  const authorities = certificatesOf((data[slots.retired] ?? '') + (data[`${slots.current}.crt`] ?? ''))
  const leaves = (data[slots.replaced] ?? '') + (data[`${slots.leaf}.crt`] ?? '')
  // The old CA's key is deleted now: nothing may be signed with it any more.
  const promoted = {
    [slots.retired]: bundle(authorities),
    ...put(slots.current, pairIn(slots.next, data)),
    ...put(slots.next, undefined),
  }
  return {
    data: {
      ...put(slots.leaf, pair),
      [slots.replaced]: lastLeaves(leaves, authorities),
      ...(from === 'next' && promoted),
    },
    ...((asked === 'leaf' || from === 'next') && answered),
  }
}

/** What dropping retired CAs changes in the Secret. */
export function dropped(ids: readonly string[], secret: StoredSecret): Changes {
  const kept = certificatesOf(secret.data[slots.retired] ?? '').filter(
    ({ fingerprint256 }) => !ids.includes(fingerprint256),
  )
  const current = certificatesOf(secret.data[`${slots.current}.crt`] ?? '')
  return {
    data: {
      [slots.retired]: bundle(kept),
      [slots.replaced]: lastLeaves(secret.data[slots.replaced] ?? '', [...kept, ...current]),
    },
  }
}

/** The signing pair in a slot of the Secret. */
export const signer = (slot: 'current' | 'next', { data }: StoredSecret): Pair =>
  pairIn(slots[slot], data) ?? { certificate: '', key: '' }

function pairIn(slot: string, data: StoredSecret['data']): Pair | undefined {
  const certificate = data[`${slot}.crt`]
  return certificate === undefined ? undefined : { certificate, key: data[`${slot}.key`] ?? '' }
}

const put = (slot: string, pair: Pair | undefined) => ({
  [`${slot}.crt`]: pair?.certificate ?? null,
  [`${slot}.key`]: pair?.key ?? null,
})

const certificatesOf = (pem: string) => splitBundle(pem).flatMap((one) => readCertificate(one) ?? [])

const bundle = (certificates: readonly X509Certificate[]): string | null =>
  [...new Set(certificates.map((certificate) => certificate.toString()))].join('') || null

/** Of these leaves (PEM), the longest-lived one of each of these CAs. */
function lastLeaves(pem: string, authorities: readonly X509Certificate[]): string | null {
  const leaves = certificatesOf(pem)
  return bundle(authorities.flatMap((authority) => lastLeaf(authority, leaves) ?? []))
}

const lastLeaf = (authority: X509Certificate, leaves: readonly X509Certificate[]) =>
  leaves
    .filter((leaf) => signedBy(leaf, authority))
    .sort((a, b) => a.validToDate.getTime() - b.validToDate.getTime())
    .at(-1)

function asLeaf(certificate: X509Certificate, authorities: readonly X509Certificate[]): Leaf {
  return { ...dated(certificate), issuer: authorities.find((one) => signedBy(certificate, one))?.fingerprint256 }
}

const dated = (certificate: X509Certificate): Dated => ({
  id: certificate.fingerprint256,
  issued: certificate.validFromDate.getTime() + backdate,
  expires: certificate.validToDate.getTime(),
})

const isAsked = (value: string | undefined): value is Asked => value === 'leaf' || value === 'ca'
