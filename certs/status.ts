import { ClusterError } from '../src/kubernetes/failure.ts'
import type { Cluster, Endpoint } from './cluster.ts'
import { authorityDue, type Lifetimes, lackingTrust, leafDue, type Phase, phaseOf } from './next.ts'
import { leafOf, look } from './secret.ts'
import { type Life, left, timeline } from './timeline.ts'

export interface Status {
  readonly phase: Phase
  /** What a person reads, line by line. */
  readonly lines: readonly string[]
  /** What is wrong; empty when nothing is. */
  readonly problems: readonly string[]
}

/**
 * What is trusted, what each ready endpoint really serves, and how long all of it lives.
 * @param ask what an endpoint shows in a handshake (PEM); throws a ClusterError where it can't be asked
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
  const secret = await cluster.readSecret()
  const configurations = await cluster.readConfigurations()
  const endpoints = (await cluster.readEndpoints()) ?? []
  const now = cluster.now()
  const seen = look({ secret, configurations, names, now })
  const authorities = [...seen.certificates.values()]
  const served = await Promise.all(
    endpoints.map(async (endpoint) => {
      try {
        const pem = await ask(endpoint)
        if (pem !== undefined) return { endpoint, leaf: leafOf(pem, authorities), silence: '' }
        return { endpoint, leaf: undefined, silence: 'did not answer a handshake' }
      } catch (error) {
        if (!(error instanceof ClusterError)) throw error
        return { endpoint, leaf: undefined, silence: `could not be asked: ${error.message}` }
      }
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
  if (!secret)
    problems.push('there is no Secret: does certs run (sidecar-first check)? sidecar-first certs once makes it as well')
  else if (!leaf) problems.push('the Secret has no sound leaf')
  for (const life of lives) {
    if (now >= life.expires && life.name !== 'old CA') problems.push(`the ${life.name} ${left(life.expires - now)}`)
    else if (life.due !== undefined && now > life.due + OVERDUE) {
      problems.push(`the ${life.name} is overdue, ${left(life.expires - now)}: does sidecar-first certs run?`)
    }
  }

  const chart = lives.length === 0 ? [] : [...timeline(lives, now), '', '│ now  ▒ due to be replaced', '']
  const lines = [`Phase: ${phase}`, '', ...chart, 'Trusted by']
  const lacking = lackingTrust(shown)
  for (const { name, webhooks } of shown.configurations) {
    const counts = webhooks.map((ids) => ids.length)
    lines.push(`  ${name}: ${count(Math.min(...counts))}${lacking.includes(name) ? ', not those that it should' : ''}`)
    if (lacking.includes(name)) problems.push(`the caBundle of ${name} differs from what it should be`)
  }
  if (configurations.length === 0) {
    lines.push('  nobody')
    problems.push('there is no webhook configuration')
  }

  lines.push('', 'Served by')
  for (const { endpoint, leaf: one, silence } of served) {
    const name = `${endpoint.pod ?? endpoint.host}:${endpoint.port}`
    if (!one) problems.push(`${name} ${silence || 'serves something that is no certificate'}`)
    else {
      const trusted = shown.configurations.every(({ webhooks }) =>
        webhooks.every((ids) => ids.includes(one.issuer ?? '')),
      )
      if (!trusted) problems.push(`${name} serves a leaf that not every caBundle covers`)
      if (now >= one.expires) problems.push(`${name} serves a leaf that ${left(one.expires - now)}`)
    }
    const which = one === undefined ? 'no answer' : one.id === leaf?.id ? "the Secret's leaf" : 'another leaf'
    lines.push(`  ${name}: ${which}${one ? `, ${left(one.expires - now)}` : ''}`)
  }
  if (endpoints.length === 0) {
    lines.push('  nobody')
    problems.push('the Service has no ready endpoint')
  }
  return { phase, lines, problems }
}

const count = (authorities: number) => `${authorities} CA${authorities === 1 ? '' : 's'}`

/** A renewal is a matter of minutes; an hour later somebody should look. */
const OVERDUE = 3_600_000
