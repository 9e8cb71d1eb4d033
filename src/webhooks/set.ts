import { createHash } from 'node:crypto'
import type { LabelSelector } from '../admission/selector.ts'

/**
 * The name of the webhook that serves a namespaceSelector, in `/mutate/<set>`: ten hexadecimal digits. Selectors that say the same
 * in another order, or with matchLabels for `In`, share it.
 */
export function setOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }))
  const terms = [...equal, ...matchExpressions].map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, [...new Set(values)].sort()]),
  )
  const canonical = JSON.stringify([...new Set(terms)].sort())
  return createHash('sha256').update(canonical).digest('hex').slice(0, 10)
}
