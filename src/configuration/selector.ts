import type { LabelExpression, LabelSelector } from '../admission/pod/selector.ts'
import { type Parsed, parsed, problem } from '../admission/words/parsed.ts'
import type { WrongValue } from './faults.ts'
import type { Section } from './section.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const

/** A LabelSelector (meta/v1) with the checks of the API server (apimachinery, ValidateLabelSelector); undefined if it is missing. */
export function readSelector(parent: Section, name: string): LabelSelector | undefined {
  if (!parent.has(name)) return undefined
  const section = parent.section(name, ['matchLabels', 'matchExpressions'])
  const labels = section.section('matchLabels')
  const matchLabels = labels.names.map((key) => {
    const outcome = parseLabelKey(key)
    if (!outcome.ok) {
      labels.fault(key, { kind: 'wrong-value', path: section.pathOf('matchLabels'), problem: outcome.problem })
    }
    return [key, labels.text(key, parseLabelValue, '')] as const
  })
  const matchExpressions = section
    .sections('matchExpressions', ['key', 'operator', 'values'])
    .map((expression): LabelExpression => {
      if (!expression.has('key')) expression.fault(undefined, { kind: 'missing', path: expression.pathOf('key') })
      if (!expression.has('operator')) {
        expression.fault(undefined, { kind: 'choice-missing', path: expression.pathOf('operator'), choices: operators })
      }
      const key = expression.text('key', parseLabelKey, '')
      const operator = expression.choice('operator', operators, undefined)
      const values = expression.texts('values', parseLabelValue, undefined)
      const compares = operator === 'In' || operator === 'NotIn'
      if (compares && (values?.length === 0 || !expression.has('values'))) {
        expression.fault('values', { kind: 'values-missing', path: expression.pathOf('values'), operator })
      }
      if (operator !== undefined && !compares && expression.has('values') && values?.length !== 0) {
        expression.fault('values', { kind: 'values-unused', path: expression.pathOf('values'), operator })
      }
      return { key, operator: operator ?? 'Exists', ...(compares && values ? { values } : {}) }
    })
  return {
    ...(matchLabels.length > 0 ? { matchLabels: Object.fromEntries(matchLabels) } : {}),
    ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
  }
}

const word = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/
const domain = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/

/** A qualified name: `app`, `example.com/app`. */
function parseLabelKey(text: string): Parsed<string, WrongValue> {
  const slash = text.indexOf('/')
  const [prefix, name] = slash < 0 ? [undefined, text] : [text.slice(0, slash), text.slice(slash + 1)]
  const fits = word.test(name) && (prefix === undefined || domain.test(prefix))
  return fits ? parsed(text) : problem({ kind: 'not-a-label-key', text })
}

function parseLabelValue(text: string): Parsed<string, WrongValue> {
  return text === '' || word.test(text) ? parsed(text) : problem({ kind: 'not-a-label-value', text })
}
