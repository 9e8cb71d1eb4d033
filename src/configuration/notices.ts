import type { CheckKind } from '../admission/check.ts'
import { matchesGlob } from '../admission/glob.ts'
import type { Rule } from '../admission/rules.ts'
import type { LabelExpression, LabelSelector } from '../admission/selector.ts'
import { setOf } from '../webhooks/set.ts'

/** Something to know of a rule that is no mistake by itself. */
export interface RuleNotice {
  readonly position: number
  readonly message: string
}

/** Takes up to half a second. 1,400 rules can all be compared with each other, far more where they name their containers. */
const mostComparisons = 1_000_000

/** Ones that must run in their own container, which then stands last in its tier. */
const inside: ReadonlySet<CheckKind> = new Set(['exec', 'file', 'unix', 'hook'])

/** Rules that can't do what they seem to say, beside the others. At most one notice for each. */
export function noticesOf(rules: readonly Rule[]): readonly RuleNotice[] {
  const notices: RuleNotice[] = []
  const scopes = rules.map(scopeOf)
  const byName = new Map<string, Scope[]>()
  const unnamed: Scope[] = []
  const insiders = new Map<number, Scope>()
  let left = mostComparisons
  for (const [position, scope] of scopes.entries()) {
    const { rule, containers } = scope
    const named = containers.every((glob) => !glob.includes('*'))
    const lists = named
      ? [...containers.map((name) => byName.get(name) ?? []), unnamed]
      : [scopes.slice(0, Math.min(position, left + 1))]
    left -= lists.reduce((sum, list) => sum + list.length, 0)
    if (left < 0) {
      notices.push({ position, message: 'there are too many rules to compare this one and later ones with all others' })
      break
    }
    const earlier = lists.flat()
    const taker = earlier.find((other) => takesAll(other, scope))
    const rival = earlier.find((other) => disagrees(other, scope))
    const neighbour = rule.check !== undefined && inside.has(rule.check.kind) ? insiders.get(rule.tier) : undefined
    if (taker !== undefined) {
      const message = `the rule ${rule.name} never matches: the rule ${taker.rule.name} before it takes all its containers`
      notices.push({ position, message })
    } else if (rival !== undefined) {
      const message = `the rules ${rival.rule.name} and ${rule.name} match the same container under different namespaceSelectors: which one wins depends on the order of the calls; use one selector, or two that exclude each other`
      notices.push({ position, message })
    } else if (neighbour !== undefined && meetInPod(neighbour, scope)) {
      const message = `the rules ${neighbour.rule.name} and ${rule.name} share tier ${rule.tier}, but both checks must run in their own container, and a tier can have one such: give them two tiers`
      notices.push({ position, message })
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
  /** Equal where the podSelectors say the same; undefined where all pods are selected. */
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

/** With the selector on the later rule alone, the earlier one wins in every call. */
function disagrees(earlier: Scope, later: Scope): boolean {
  return (
    earlier.rule.set !== undefined &&
    earlier.rule.set !== later.rule.set &&
    overlap(earlier.containers, later.containers) &&
    overlap(earlier.images, later.images) &&
    meetInPod(earlier, later)
  )
}

function meetInPod({ rule: one }: Scope, { rule: other }: Scope): boolean {
  return (
    !excludeEachOther(one.match.podSelector, other.match.podSelector) &&
    !excludeEachOther(one.match.namespaceSelector, other.match.namespaceSelector)
  )
}

/** A glob covers another one if it fits its text: only a `*` can have taken in the other's `*`. */
function covers(wide: readonly string[], narrow: readonly string[]): boolean {
  return narrow.every((glob) => wide.some((other) => matchesGlob(other, glob)))
}

function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.some((glob) => other.some((another) => matchesGlob(glob, another) || matchesGlob(another, glob)))
}

function excludeEachOther(one: LabelSelector = {}, other: LabelSelector = {}): boolean {
  const others = termsOf(other)
  return termsOf(one).some((term) => others.some((another) => contradict(term, another) || contradict(another, term)))
}

function termsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): readonly LabelExpression[] {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }) as const)
  return [...equal, ...matchExpressions]
}

function contradict(one: LabelExpression, other: LabelExpression): boolean {
  if (one.key !== other.key) return false
  if (one.operator === 'DoesNotExist') return other.operator === 'In' || other.operator === 'Exists'
  if (one.operator !== 'In') return false
  const { values = [] } = one
  if (other.operator === 'In') return !values.some((value) => other.values?.includes(value))
  return other.operator === 'NotIn' && values.every((value) => other.values?.includes(value))
}
