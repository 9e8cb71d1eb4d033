import type { Json } from '../words/json.ts'

/** A LabelSelector (meta/v1). Empty selects everything. */
export interface LabelSelector {
  readonly matchLabels?: { readonly [key: string]: string }
  readonly matchExpressions?: readonly LabelExpression[]
}

export interface LabelExpression {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

/** As the API server decides it: a label that is absent satisfies NotIn and DoesNotExist. */
export function selects(selector: LabelSelector, labels: ReadonlyMap<string, Json>): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels.get(key) === value)
  return equal && (selector.matchExpressions ?? []).every((expression) => holds(expression, labels))
}

/** The same for a selector that is asked many times: its lists of values may be long. */
export function selecting({ matchLabels = {}, matchExpressions = [] }: LabelSelector) {
  const equal = Object.entries(matchLabels)
  const lists = matchExpressions.map((expression) => ({ expression, values: new Set(expression.values) }))
  return (labels: ReadonlyMap<string, Json>): boolean =>
    equal.every(([key, value]) => labels.get(key) === value) &&
    lists.every(({ expression, values }) => holds(expression, labels, (value) => values.has(value)))
}

/** What is known of a namespace's labels. */
export interface KnownLabels {
  readonly labels: ReadonlyMap<string, Json>
  /** Whether there are no others. */
  readonly whole: boolean
}

/** The label that the API server gives each namespace. */
export const namespaceName = 'kubernetes.io/metadata.name'

/** Whether labels are selected; undefined where that depends on some that aren't known. */
export function maySelect(selector: LabelSelector, { labels, whole }: KnownLabels): boolean | undefined {
  if (whole) return selects(selector, labels)
  const { matchLabels = {}, matchExpressions = [] } = selector
  const terms = [
    ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }) as const),
    ...matchExpressions,
  ]
  const known = terms.filter(({ key }) => labels.has(key))
  if (known.some((term) => !holds(term, labels))) return false
  return known.length === terms.length ? true : undefined
}

function holds(
  { key, operator, values = [] }: LabelExpression,
  labels: ReadonlyMap<string, Json>,
  isListed = (value: string) => values.includes(value),
): boolean {
  const value = labels.get(key)
  switch (operator) {
    case 'In':
      return typeof value === 'string' && isListed(value)
    case 'NotIn':
      return typeof value !== 'string' || !isListed(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return operator satisfies never
  }
}
