import { isDeepStrictEqual } from 'node:util'
import { objectNames } from '../kubernetes/names.ts'
import { type Finding, type Told, told } from './findings.ts'
import { certificate } from './installation/certificate.ts'
import { configuration } from './installation/config-map.ts'
import { exporter } from './installation/exporter.ts'
import { lock } from './installation/lock.ts'
import { nodes } from './installation/nodes.ts'
import { otherWebhooks } from './installation/other-webhooks.ts'
import { pods } from './installation/pods.ts'
import { policies } from './installation/policies.ts'
import { replicas } from './installation/replicas.ts'
import { rollouts } from './installation/rollouts.ts'
import { trial } from './installation/trial.ts'
import { waiterImage } from './installation/waiter-image.ts'
import { webhooks } from './installation/webhooks.ts'
import { type Check, type Installed, obstacleOf, type Site } from './site.ts'

/** In the order in which a person reads them: what the others depend on comes first. */
export const checks: readonly Check[] = [
  configuration,
  webhooks,
  replicas,
  certificate,
  policies,
  trial,
  otherWebhooks,
  nodes,
  lock,
  waiterImage,
  pods,
  rollouts,
  exporter,
]

/** What a check has found. */
export interface Checked<F = Told> {
  readonly name: string
  readonly findings: readonly F[]
}

/** Runs all at once. One that can't look gives a warning and holds up no other. */
export async function runChecks(site: Site): Promise<Checked[]> {
  const { namespace, installed } = site
  const checked: readonly Checked<Finding>[] = isAbsent(installed)
    ? [{ name: objectNames.deployment, findings: [{ kind: 'not-installed', namespace }] }]
    : await Promise.all(
        checks.map(async ({ name, run }) => {
          const findings = await run(site).catch((error): Finding[] => [
            { kind: 'not-looked-at', obstacle: obstacleOf(error) },
          ])
          return { name, findings }
        }),
      )
  return toldOnce(checked).map(({ name, findings }) => ({ name, findings: findings.map(told) }))
}

/** One missing right keeps several from looking: the others then refer to the first. */
export function toldOnce(all: readonly Checked<Finding>[]): Checked<Finding>[] {
  const firsts: { readonly name: string; readonly finding: Finding }[] = []
  return all.map(({ name, findings }) => {
    const [finding] = findings
    if (finding?.kind !== 'not-looked-at') return { name, findings }
    const first = firsts.find((each) => isDeepStrictEqual(each.finding, finding))
    if (first) return { name, findings: [{ kind: 'not-looked-at-either', check: first.name }] }
    firsts.push({ name, finding })
    return { name, findings }
  })
}

const isAbsent = ({ configuration, mutating, validating }: Installed): boolean =>
  [configuration, mutating, validating].every((seen) => seen.ok && seen.value === undefined)
