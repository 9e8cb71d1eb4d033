import type { Configuration } from '../admission/configuration.ts'
import { examine } from '../admission/examine.ts'
import { warningTexts } from '../admission/warning.ts'
import { podTemplate } from '../preview/objects.ts'
import type { Preview } from '../preview/preview.ts'

/** The warnings that somebody should act on: not those of mere costs, which the default way of the waiter into a pod has always. */
export function graveWarnings({ object, decision }: Preview, configuration: Configuration): readonly string[] {
  if (decision.warnings.length === 0) return []
  const template = podTemplate(object)
  if (template === undefined) return decision.warnings
  const { pod, surroundings } = template
  // any of the webhooks may have said it: each has rules of its own
  const sets = new Set([undefined, ...configuration.rules.rules.map(({ set }) => set)])
  const examined = [...sets].map((set) =>
    examine(pod, configuration, set === undefined ? surroundings : { ...surroundings, set }),
  )
  const said = examined.flatMap(({ warnings }) => warnings.filter(({ severity }) => severity === 'costs'))
  const costs = new Set(said.flatMap((each) => warningTexts([each])))
  return decision.warnings.filter((text) => !costs.has(text))
}
