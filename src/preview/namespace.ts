import type { Configuration } from '../admission/intent/configuration.ts'
import type { Metadata } from '../admission/pod/pod.ts'
import { readMetadata } from '../admission/pod/read.ts'
import { type LabelSelector, selects } from '../admission/pod/selector.ts'
import type { ManifestObject } from './objects.ts'

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

/** The namespaces that stand among the objects, by their names. */
export function namespacesOf(objects: readonly ManifestObject[]): ReadonlyMap<string, Metadata> {
  return new Map(
    objects.flatMap(({ kind, apiVersion, name, value }) => {
      const metadata = kind === 'Namespace' && apiVersion === 'v1' ? readMetadata(value) : undefined
      return metadata?.ok ? [[name, metadata.value] as const] : []
    }),
  )
}

/** Where an object is made: without a namespace, where kubectl makes it unless it is told otherwise. */
export const namespaceOf = ({ namespace }: Pick<ManifestObject, 'namespace'>): string => namespace || 'default'
