import type { LabelExpression, LabelSelector } from '../admission/pod/selector.ts'
import { matching, type Section } from './section.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const

/** A LabelSelector (meta/v1) with the checks of the API server (apimachinery, ValidateLabelSelector); undefined if it is missing. */
export function readSelector(parent: Section, name: string): LabelSelector | undefined {
  if (!parent.has(name)) return undefined
  const section = parent.section(name, ['matchLabels', 'matchExpressions'])
  const labels = section.section('matchLabels')
  const matchLabels = labels.names.map((key) => {
    const outcome = parseLabelKey(key)
    const path = section.pathOf('matchLabels')
    if (!outcome.ok) labels.fault(key, { kind: 'wrong-value', path, problem: outcome.problem })
    return [key, labels.text(key, parseLabelValue, '')] as const
  })
  const matchExpressions = section
    .sections('matchExpressions', ['key', 'operator', 'values'])
    .map((expression): LabelExpression => {
      expression.need('key')
      if (!expression.has('operator')) expression.fault('operator', { kind: 'choice-missing', choices: operators })
      const key = expression.text('key', parseLabelKey, '')
      const operator = expression.choice('operator', operators, undefined)
      const values = expression.texts('values', parseLabelValue, undefined)
      const compares = operator === 'In' || operator === 'NotIn'
      if (compares && (values?.length === 0 || !expression.has('values'))) {
        expression.fault('values', { kind: 'values-missing', operator })
      }
      if (operator !== undefined && !compares && expression.has('values') && values?.length !== 0) {
        expression.fault('values', { kind: 'values-unused', operator })
      }
      return { key, operator: operator ?? 'Exists', ...(compares && values ? { values } : {}) }
    })
  return {
    ...(matchLabels.length > 0 ? { matchLabels: Object.fromEntries(matchLabels) } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  }
}

const word = '[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?'
const domain = '(?=[^/]{1,253}/)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*'

/** A qualified name: `app`, `example.com/app`. */
const parseLabelKey = matching('not-a-label-key', new RegExp(`^(?:${domain}/)?${word}$`))
const parseLabelValue = matching('not-a-label-value', new RegExp(`^(?:${word})?$`))
