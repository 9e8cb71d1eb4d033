import type { LabelExpression, LabelSelector } from '../admission/pod/selector.ts'

/** All that it asks for as expressions: a label is `In` its one value. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): LabelExpression[] {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }) as const)
  return [...equal, ...matchExpressions]
}

/** As kubectl and the API server take it. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
  return [...equal, ...matchExpressions.map(requirementText)].join(',')
}

function requirementText({ key, operator, values = [] }: LabelExpression): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(', ')})`
    case 'NotIn':
      return `${key} notin (${values.join(', ')})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
    default:
      return operator satisfies never
  }
}
