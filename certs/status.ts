import { answersOf } from './answers.ts'
import { authorityDue, type Lifetimes, lackingTrust, leafDue, phaseOf } from './decide-step.ts'
import { type Asking, foreignStatus } from './foreign.ts'
import type { Life } from './life-bars.ts'
import { leafOf, look } from './secret.ts'
import type { Status } from './show.ts'

/**
 * What is trusted, what each ready endpoint really serves, and how long all of it lives.
 * @throws ClusterError
 */
export async function statusOf({ lifetimes, ...asking }: Asking & { readonly lifetimes: Lifetimes }): Promise<Status> {
  const { cluster, names, ask } = asking
  const configurations = await cluster.readConfigurations()
  if (configurations.some(({ keptBy }) => keptBy !== undefined)) return await foreignStatus(asking, configurations)
  const secret = await cluster.readSecret()
  const endpoints = (await cluster.readEndpoints()) ?? []
  const now = cluster.now()
  const seen = look({ secret, configurations, names, now })
  const authorities = [...seen.certificates.values()]
  const served = (await answersOf(endpoints, ask)).map((answer) => ({
    ...answer,
    leaf: 'pem' in answer ? leafOf(answer.pem, authorities) : undefined,
  }))
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

  const serving = served.map(({ leaf: one, ...answer }) => {
    const { endpoint } = answer
    if (!one) {
      problems.push('problem' in answer ? answer.problem : { kind: 'not-a-certificate', endpoint })
      return { endpoint, serves: 'nothing' as const }
    }
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

/** A renewal takes minutes; an hour later somebody should look. */
const overdue = 3_600_000
