import type { V1MutatingWebhookConfiguration } from '@kubernetes/client-node'
import type { Configuration } from '../../admission/intent/configuration.ts'
import type { Coded } from '../../admission/words/values.ts'
import type { Objects } from '../../kubernetes/objects.ts'
import { told } from '../findings.ts'
import { needed, obstacleOf, readInstalled } from '../site.ts'
import { refusedByRules } from './pods.ts'

/** A cluster has thousands of pods. */
const mostTold = 10

/** What an upgrade to a configuration, with its webhooks, would do to running pods once they are created again: warnings for whoever is about to make it. */
export async function foresee(
  objects: Objects,
  namespace: string,
  configuration: Configuration,
  { webhooks = [] }: V1MutatingWebhookConfiguration,
): Promise<readonly Coded[]> {
  try {
    const { installed } = await readInstalled(objects, namespace, configuration.version)
    const read = needed(installed.configuration)?.read
    const former = read?.ok ? read.configuration : undefined
    const place = { objects, namespaces: needed(installed.namespaces), progress: () => undefined }
    const findings = await refusedByRules(place, configuration, { webhooks, former })
    const shown = findings
      .slice(0, mostTold)
      .map(told)
      .map(({ code, text }) => ({ code, text: `once this is applied, ${text}` }))
    const more = findings.length - shown.length
    const [first] = shown
    if (first === undefined || more <= 0) return shown
    return [...shown, { code: first.code, text: `and ${more} more; sidecar-first check lists them afterwards` }]
  } catch (error) {
    const { code, text } = told({ kind: 'not-looked-at', obstacle: obstacleOf(error) })
    return [{ code, text }]
  }
}
