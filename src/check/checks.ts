import { ClusterError } from '../kubernetes/failure.ts'
import { certificate } from './certificate.ts'
import { configuration } from './configuration.ts'
import { type Finding, warning } from './finding.ts'
import { nodes } from './nodes.ts'
import { otherWebhooks } from './other-webhooks.ts'
import { pods } from './pods.ts'
import { replicas } from './replicas.ts'
import { type Check, type Site, Unseen } from './site.ts'
import { trial } from './trial.ts'
import { waiterImage } from './waiter-image.ts'
import { webhooks } from './webhooks.ts'

/** In the order in which a person reads them: what the others rest on comes first. */
export const checks: readonly Check[] = [
  configuration,
  webhooks,
  replicas,
  certificate,
  trial,
  otherWebhooks,
  nodes,
  waiterImage,
  pods,
]

export interface Checked {
  readonly name: string
  readonly findings: readonly Finding[]
}

/** All at once; one that can't look is a warning, and holds up no other. */
export function runChecks(site: Site): Promise<Checked[]> {
  return Promise.all(
    checks.map(async ({ name, run }) => {
      try {
        return { name, findings: await run(site) }
      } catch (error) {
        if (error instanceof Unseen || error instanceof ClusterError) {
          return { name, findings: [warning(`not looked at: ${error.message}`)] }
        }
        throw error
      }
    }),
  )
}
