import { ClusterError } from '../kubernetes/failure.ts'
import { certificate } from './certificate.ts'
import { configuration } from './configuration.ts'
import { type Finding, problem, warning } from './finding.ts'
import { nodes } from './nodes.ts'
import { otherWebhooks } from './other-webhooks.ts'
import { pods } from './pods.ts'
import { policies } from './policies.ts'
import { replicas } from './replicas.ts'
import { rollouts } from './rollouts.ts'
import { type Check, type Installed, type Site, Unseen } from './site.ts'
import { trial } from './trial.ts'
import { waiterImage } from './waiter-image.ts'
import { webhooks } from './webhooks.ts'

/** In the order in which a person reads them: what the others rest on comes first. */
export const checks: readonly Check[] = [
  configuration,
  webhooks,
  replicas,
  certificate,
  policies,
  trial,
  otherWebhooks,
  nodes,
  waiterImage,
  pods,
  rollouts,
]

export interface Checked {
  readonly name: string
  readonly findings: readonly Finding[]
}

/** All at once; one that can't look is a warning, and holds up no other. */
export async function runChecks(site: Site): Promise<Checked[]> {
  if (isAbsent(site.installed)) {
    const what = `there is no webhook configuration, and no configuration in namespace ${site.namespace}`
    return [
      { name: 'sidecar-first', findings: [problem(`it is not installed: ${what}`, 'sidecar-first install --apply')] },
    ]
  }
  const checked = await Promise.all(
    checks.map(async ({ name, run }) => {
      try {
        return { name, findings: await run(site) }
      } catch (error) {
        if (error instanceof Unseen || error instanceof ClusterError) {
          return { name, findings: [warning(unseen + error.message)] }
        }
        throw error
      }
    }),
  )
  return toldOnce(checked)
}

const unseen = 'not looked at: '

/** One right that is missing keeps several from looking. */
export function toldOnce(all: readonly Checked[]): Checked[] {
  const first = new Map<string, string>()
  return all.map((each) => {
    const { text = '', level } = each.findings[0] ?? {}
    if (level !== 'warning' || !text.startsWith(unseen)) return each
    const before = first.get(text)
    if (before === undefined) first.set(text, each.name)
    return before === undefined ? each : { ...each, findings: [warning(`not looked at, as ${before}`)] }
  })
}

const isAbsent = ({ configuration, mutating, validating }: Installed): boolean =>
  [configuration, mutating, validating].every((seen) => seen.ok && seen.value === undefined)
