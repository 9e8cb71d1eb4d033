import type { V1MutatingWebhook, V1Namespace } from '@kubernetes/client-node'
import { selected } from './coverage.ts'

export const injection = 'sidecar-first.dev/injection'

/** Why the API server calls none of our webhooks for pods of a namespace. */
export function whyUncovered(
  webhooks: readonly V1MutatingWebhook[],
  { metadata }: Pick<V1Namespace, 'metadata'>,
): { text: string; next: string } {
  const { name = '', labels = {} } = metadata ?? {}
  const [first] = webhooks
  const excluded = first?.namespaceSelector?.matchExpressions?.some(
    ({ key, operator, values }) =>
      key === 'kubernetes.io/metadata.name' && operator === 'NotIn' && values?.includes(name),
  )
  if (excluded)
    return { text: `pods of the namespace ${name} are never patched`, next: 'put it into another namespace' }
  const labelled = { ...labels, [injection]: 'enabled' }
  if (selected(first?.namespaceSelector, labelled)) {
    const has =
      labels[injection] === undefined ? `isn't labelled ${injection}` : `is labelled ${injection}: ${labels[injection]}`
    const next = `kubectl label namespace ${name} --overwrite ${injection}=enabled`
    return { text: `the namespace ${name} ${has}`, next }
  }
  const text = `the namespaceSelector of zz-sidecar-first doesn't select the namespace ${name}`
  return { text, next: `compare kubectl get namespace ${name} --show-labels with it` }
}
