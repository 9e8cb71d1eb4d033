import { type Parsed, parsed, problem } from '../admission/parsed.ts'
import { quote } from '../admission/quote.ts'
import type { LabelExpression, LabelSelector } from '../admission/selector.ts'
import type { Section } from './section.ts'

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const

/** A LabelSelector (meta/v1) with the checks of the API server (apimachinery, ValidateLabelSelector); undefined where it isn't there. */
export function readSelector(parent: Section, name: string): LabelSelector | undefined {
  if (!parent.has(name)) return undefined
  const section = parent.section(name, ['matchLabels', 'matchExpressions'])
  const labels = section.section('matchLabels')
  const matchLabels = labels.names.map((key) => {
    const outcome = parseLabelKey(key)
    if (!outcome.ok) labels.fault(key, `${section.pathOf('matchLabels')}: ${outcome.problem}`)
    return [key, labels.text(key, parseLabelValue, '')] as const
  })
  const matchExpressions = section
    .sections('matchExpressions', ['key', 'operator', 'values'])
    .map((expression): LabelExpression => {
      if (!expression.has('key')) expression.fault(undefined, `${expression.pathOf('key')} is missing`)
      if (!expression.has('operator')) {
        expression.fault(undefined, `${expression.pathOf('operator')} is missing; use ${operators.join(', ')}`)
      }
      const key = expression.text('key', parseLabelKey, '')
      const operator = expression.choice('operator', operators, undefined)
      const values = expression.texts('values', parseLabelValue, undefined)
      const compares = operator === 'In' || operator === 'NotIn'
      if (compares && (values?.length === 0 || !expression.has('values'))) {
        expression.fault('values', `${expression.pathOf('values')}: ${operator} needs at least one`)
      }
      if (operator !== undefined && !compares && expression.has('values') && values?.length !== 0) {
        expression.fault('values', `${expression.pathOf('values')}: ${operator} takes none; leave them out`)
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
function parseLabelKey(text: string): Parsed<string> {
  const slash = text.indexOf('/')
  const [prefix, name] = slash < 0 ? [undefined, text] : [text.slice(0, slash), text.slice(slash + 1)]
  if (word.test(name) && (prefix === undefined || domain.test(prefix))) return parsed(text)
  return problem(`${quote(text)} is no label key; write it like app or example.com/app`)
}

function parseLabelValue(text: string): Parsed<string> {
  if (text === '' || word.test(text)) return parsed(text)
  return problem(`${quote(text)} is no label value: up to 63 letters, digits, "-", "_" and "."; no pattern fits here`)
}
