import { createHash } from 'node:crypto'
import type { LabelSelector } from '../admission/pod/selector.ts'
import { requirementsOf } from '../kubernetes/selector.ts'

/**
 * The name of the webhook for a namespaceSelector, in `/mutate/<set>`: ten hexadecimal digits. Equivalent selectors, written
 * in another order or with matchLabels for `In`, share it.
 */
export function setOf(selector: LabelSelector): string {
  const terms = requirementsOf(selector).map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, [...new Set(values)].sort()]),
  )
  const canonical = JSON.stringify([...new Set(terms)].sort())
  return createHash('sha256').update(canonical).digest('hex').slice(0, 10)
}
