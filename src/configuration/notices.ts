import type { CheckKind } from '../admission/check/grammar.ts'
import { matchesGlob } from '../admission/intent/glob.ts'
import type { Rule } from '../admission/intent/rule.ts'
import type { LabelExpression, LabelSelector } from '../admission/pod/selector.ts'
import { requirementsOf } from '../kubernetes/selector.ts'
import { setOf } from '../webhooks/set.ts'
import type { Fault } from './faults.ts'

/** Takes up to half a second. 1,400 rules can all be compared with each other, far more if they name their containers. */
const mostComparisons = 1_000_000

/** Checks that must run in their own container, which then comes last in its tier. */
const inside: ReadonlySet<CheckKind> = new Set(['exec', 'file', 'unix', 'hook'])

/** Rules that can't do what they seem to say, mostly because of other rules. */
export function noticesOf(rules: readonly Rule[]) {
  const notices: { readonly position: number; readonly fault: Fault }[] = []
  const scopes = rules.map(scopeOf)
  const byName = new Map<string, Scope[]>()
  const unnamed: Scope[] = []
  const insiders = new Map<number, Scope>()
  let left = mostComparisons
  for (const [position, scope] of scopes.entries()) {
    const { rule, containers } = scope
    const unused = (['exempt', 'allowNatives'] as const).find((key) => rule[key].length > 0)
    if (unused !== undefined && !rule.enforce && !rule.audit) {
      notices.push({ position, fault: { kind: 'only-enforced', path: `rules[${position}].${unused}` } })
    }
    const named = containers.every((glob) => !glob.includes('*'))
    const lists = named
      ? [...containers.map((name) => byName.get(name) ?? []), unnamed]
      : [scopes.slice(0, Math.min(position, left + 1))]
    left -= lists.reduce((sum, list) => sum + list.length, 0)
    if (left < 0) {
      notices.push({ position, fault: { kind: 'too-many-rules' } })
      break
    }
    const earlier = lists.flat()
    const taker = earlier.find((other) => takesAll(other, scope) && (other.rule.enforce || !rule.enforce))
    const neighbour = rule.check !== undefined && inside.has(rule.check.kind) ? insiders.get(rule.tier) : undefined
    if (taker !== undefined) {
      notices.push({ position, fault: { kind: 'never-matches', rule: rule.name, other: taker.rule.name } })
    } else if (neighbour !== undefined && meetInPod(neighbour, scope)) {
      const both = { rule: rule.name, other: neighbour.rule.name }
      notices.push({ position, fault: { kind: 'checks-share-tier', ...both, tier: rule.tier } })
    }
    if (rule.check !== undefined && inside.has(rule.check.kind)) insiders.set(rule.tier, scope)
    if (!named) unnamed.push(scope)
    else {
      for (const name of containers) {
        const list = byName.get(name)
        if (list === undefined) byName.set(name, [scope])
        else list.push(scope)
      }
    }
  }
  return notices
}

/** Whom a rule can match. */
interface Scope {
  readonly rule: Rule
  readonly containers: readonly string[]
  readonly images: readonly string[]
  /** Equal for equivalent podSelectors; undefined if all pods are selected. */
  readonly pods: string | undefined
}

const everything = setOf({})

function scopeOf(rule: Rule): Scope {
  const { containers = ['*'], images = ['*'], podSelector = {} } = rule.match
  const pods = setOf(podSelector)
  return { rule, containers, images, pods: pods === everything ? undefined : pods }
}

function takesAll(wide: Scope, narrow: Scope): boolean {
  return (
    (wide.rule.set === undefined || wide.rule.set === narrow.rule.set) &&
    (wide.pods === undefined || wide.pods === narrow.pods) &&
    covers(wide.containers, narrow.containers) &&
    covers(wide.images, narrow.images)
  )
}

function meetInPod({ rule: one }: Scope, { rule: other }: Scope): boolean {
  return (
    !excludeEachOther(one.match.podSelector, other.match.podSelector) &&
    !excludeEachOther(one.match.namespaceSelector, other.match.namespaceSelector)
  )
}

/** A glob covers another if it matches the other's text: only a `*` can have matched the other's `*`. */
function covers(wide: readonly string[], narrow: readonly string[]): boolean {
  return narrow.every((glob) => wide.some((other) => matchesGlob(other, glob)))
}

function excludeEachOther(one: LabelSelector = {}, other: LabelSelector = {}): boolean {
  const others = requirementsOf(other)
  return requirementsOf(one).some((term) =>
    others.some((another) => contradict(term, another) || contradict(another, term)),
  )
}

function contradict(one: LabelExpression, other: LabelExpression): boolean {
  if (one.key !== other.key) return false
  if (one.operator === 'DoesNotExist') return other.operator === 'In' || other.operator === 'Exists'
  if (one.operator !== 'In') return false
  const { values = [] } = one
  if (other.operator === 'In') return !values.some((value) => other.values?.includes(value))
  return other.operator === 'NotIn' && values.every((value) => other.values?.includes(value))
}
