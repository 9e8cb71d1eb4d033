import type { Configuration } from '../admission/intent/configuration.ts'
import { type LabelSelector, selects } from '../admission/pod/selector.ts'

/** The label that the API server gives each namespace; the only one that is known without asking it. */
const nameLabel = 'kubernetes.io/metadata.name'

/** The sets of rules that select a namespace by its name alone (empty: the namespace is unknown). */
export function setsOf(namespace: string, { rules }: Configuration): readonly string[] {
  if (namespace === '') return []
  const labels = new Map([[nameLabel, namespace]])
  const found = rules.rules.flatMap(({ set, match: { namespaceSelector: selector } }) =>
    set !== undefined && selector !== undefined && byNameAlone(selector) && selects(selector, labels) ? [set] : [],
  )
  return [...new Set(found)]
}

const byNameAlone = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)].every((key) => key === nameLabel)
