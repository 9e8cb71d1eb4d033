import type { Configuration } from '../admission/intent/configuration.ts'
import type { Metadata } from '../admission/pod/pod.ts'
import { readMetadata } from '../admission/pod/read.ts'
import { type KnownLabels, maySelect, namespaceName } from '../admission/pod/selector.ts'
import type { ManifestObject } from './objects.ts'

/**
 * What is known of a namespace's labels: without its manifest, only the one that the API server gives it.
 * @param namespace its name; empty where that isn't known
 */
export function knownLabels(namespace: string, manifest: Metadata | undefined): KnownLabels {
  if (manifest !== undefined) return { labels: new Map([...manifest.labels, [namespaceName, namespace]]), whole: true }
  return { labels: new Map(namespace === '' ? [] : [[namespaceName, namespace]]), whole: false }
}

/** The sets of rules that certainly select a namespace. */
export function setsOf(namespace: KnownLabels, { rules }: Configuration): readonly string[] {
  const found = rules.rules.flatMap(({ set, match: { namespaceSelector: selector } }) =>
    set !== undefined && selector !== undefined && maySelect(selector, namespace) ? [set] : [],
  )
  return [...new Set(found)]
}

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
