import type { LabelExpression, LabelSelector } from '../../src/admission/pod/selector.ts'
import type { Parsed } from '../../src/admission/words/parsed.ts'
import { quote } from '../../src/admission/words/quote.ts'

const key = '(?:[a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?'
const value = '(?:[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?'
const equality = new RegExp(String.raw`^(?<key>${key})\s*(?<sign>==?|!=)\s*(?<value>${value})$`)
const set = new RegExp(String.raw`^(?<key>${key})\s+(?<word>in|notin)\s*\((?<values>[^()]*)\)$`)
const presence = new RegExp(String.raw`^(?<not>!?)\s*(?<key>${key})$`)
const whole = new RegExp(`^${value}$`)

/** A label selector as kubectl takes it: `app=shop,tier in (web, api),!canary`. */
export function parseSelector(text: string): Parsed<LabelSelector, string> {
  const matchLabels: Record<string, string> = {}
  const matchExpressions: LabelExpression[] = []
  // A comma within brackets separates values.
  for (const part of text.split(/,(?![^(]*\))/).map((each) => each.trim())) {
    const read = requirement(part)
    if (read === undefined) {
      const form = "write it like app=shop or 'tier in (web, api)'"
      return { ok: false, problem: `${quote(part)} is not a label requirement; ${form}` }
    }
    const { key, operator, values } = read
    const [only] = values ?? []
    if (operator === 'In' && values?.length === 1 && only !== undefined && !Object.hasOwn(matchLabels, key)) {
      matchLabels[key] = only
    } else matchExpressions.push(read)
  }
  return {
    ok: true,
    value: {
      ...(Object.keys(matchLabels).length > 0 ? { matchLabels } : {}),
      ...(matchExpressions.length > 0 ? { matchExpressions } : {}),
    },
  }
}

function requirement(part: string): LabelExpression | undefined {
  const equal = equality.exec(part)?.groups
  if (equal?.key !== undefined) {
    return { key: equal.key, operator: equal.sign === '!=' ? 'NotIn' : 'In', values: [equal.value ?? ''] }
  }
  const among = set.exec(part)?.groups
  if (among?.key !== undefined) {
    const values = (among.values ?? '').split(',').map((each) => each.trim())
    if (!values.every((each) => whole.test(each))) return undefined
    return { key: among.key, operator: among.word === 'in' ? 'In' : 'NotIn', values }
  }
  const there = presence.exec(part)?.groups
  if (there?.key !== undefined) return { key: there.key, operator: there.not === '!' ? 'DoesNotExist' : 'Exists' }
  return undefined
}
