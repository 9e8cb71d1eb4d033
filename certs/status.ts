import type { Cluster, Endpoint } from './cluster.ts'
import { foreignStatus } from './foreign.ts'
import type { Life } from './life-bars.ts'
import { authorityDue, type Leaf, type Lifetimes, lackingTrust, leafDue, phaseOf } from './next-step.ts'
import { type CertificateProblem, notAsked } from './problems.ts'
import { leafOf, look } from './secret.ts'
import type { Status } from './show.ts'

/**
 * What is trusted, what each ready endpoint really serves, and how long all of it lives.
 * @param ask what an endpoint shows in a handshake (PEM); throws a ClusterError if it can't be asked
 * @throws ClusterError
 */
export async function statusOf({
  cluster,
  names,
  lifetimes,
  ask,
}: {
  cluster: Cluster
  names: readonly string[]
  lifetimes: Lifetimes
  ask: (endpoint: Endpoint) => Promise<string | undefined>
}): Promise<Status> {
  const configurations = await cluster.readConfigurations()
  if (configurations.some(({ keptBy }) => keptBy !== undefined)) {
    return await foreignStatus({ cluster, names, configurations, ask })
  }
  const secret = await cluster.readSecret()
  const endpoints = (await cluster.readEndpoints()) ?? []
  const now = cluster.now()
  const seen = look({ secret, configurations, names, now })
  const authorities = [...seen.certificates.values()]
  const served = await Promise.all(
    endpoints.map(async (endpoint) => {
      const name = `${endpoint.pod ?? endpoint.host}:${endpoint.port}`
      const answer = await ask(endpoint).then(
        (pem) => handshake(name, pem, authorities),
        (error): Answer => ({ problem: notAsked(name, error) }),
      )
      return { name, ...answer }
    }),
  )
  const leaves = served.map(({ leaf }) => leaf ?? ('unanswered' as const))
  const shown = { ...seen.shown, served: leaves, nextTrustedFor: 0 }
  const { current, next, retired = [], leaf } = shown.secret ?? {}
  const phase = phaseOf(shown)
  const problems = [...seen.problems]

  const lives: Life[] = []
  for (const authority of retired) lives.push({ ...authority, name: 'old CA', due: undefined })
  if (current) lives.push({ ...current, name: 'CA', due: authorityDue(current, lifetimes) })
  if (next) lives.push({ ...next, name: 'next CA', due: undefined })
  if (leaf) lives.push({ ...leaf, name: 'leaf', due: leafDue(leaf) })
  if (!secret) problems.push({ kind: 'secret-missing' })
  else if (!leaf) problems.push({ kind: 'leaf-missing' })
  for (const { name, due, expires } of lives) {
    if (now >= expires && name !== 'old CA') problems.push({ kind: 'expired', name, for: now - expires })
    else if (due !== undefined && now > due + overdue)
      problems.push({ kind: 'overdue', name, remaining: expires - now })
  }

  const lacking = lackingTrust(shown)
  const trusting = shown.configurations.map(({ name, webhooks }) => {
    // How many its webhooks trust; if they differ, the fewest.
    const authorities = webhooks.length === 0 ? 0 : Math.min(...webhooks.map((ids) => ids.length))
    return { configuration: name, authorities, differs: lacking.includes(name) }
  })
  problems.push(...lacking.map((configuration) => ({ kind: 'trust-differs', configuration }) as const))
  if (configurations.length === 0) problems.push({ kind: 'configurations-missing' })

  const serving = served.map(({ name: endpoint, leaf: one, problem }) => {
    if (problem) problems.push(problem)
    if (!one) return { endpoint, serves: 'nothing' as const }
    const trusted = shown.configurations.every(({ webhooks }) =>
      webhooks.every((ids) => ids.includes(one.issuer ?? '')),
    )
    if (!trusted) problems.push({ kind: 'served-untrusted', endpoint })
    if (now >= one.expires) problems.push({ kind: 'served-expired', endpoint, for: now - one.expires })
    const serves = one.id === leaf?.id ? ('our-leaf' as const) : ('another-leaf' as const)
    return { endpoint, serves, remaining: one.expires - now }
  })
  if (endpoints.length === 0) problems.push({ kind: 'endpoints-missing' })
  return { phase, now, lives, trusting, served: serving, problems }
}

/** What an endpoint serves, or what is wrong with it. */
interface Answer {
  readonly leaf?: Leaf | undefined
  readonly problem?: CertificateProblem
}

/** @param pem what it showed; undefined without a handshake */
function handshake(endpoint: string, pem: string | undefined, authorities: readonly string[]): Answer {
  if (pem === undefined) return { problem: { kind: 'no-handshake', endpoint } }
  const leaf = leafOf(pem, authorities)
  return leaf ? { leaf } : { problem: { kind: 'not-a-certificate', endpoint } }
}

/** A renewal takes minutes; an hour later somebody should look. */
const overdue = 3_600_000
