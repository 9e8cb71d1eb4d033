import type { V1MutatingWebhook, V1Namespace } from '@kubernetes/client-node'
import { objectKeys } from '../../kubernetes/names.ts'
import type { Uncovered } from '../findings/pods.ts'
import { selected } from './coverage.ts'

/** Why the API server calls none of our webhooks for the pods of a namespace. */
export function whyUncovered(
  [webhook]: readonly V1MutatingWebhook[],
  { metadata }: Pick<V1Namespace, 'metadata'>,
): Uncovered {
  const { name: namespace = '', labels = {} } = metadata ?? {}
  const excluded = webhook?.namespaceSelector?.matchExpressions?.some(
    ({ key, operator, values }) =>
      key === objectKeys.namespaceName && operator === 'NotIn' && values?.includes(namespace),
  )
  if (excluded) return { why: 'excluded', namespace }
  const labelled = { ...labels, [objectKeys.injection]: 'enabled' }
  if (selected(webhook?.namespaceSelector, labelled)) {
    return { why: 'label', namespace, label: labels[objectKeys.injection] }
  }
  return { why: 'not-selected', namespace }
}
