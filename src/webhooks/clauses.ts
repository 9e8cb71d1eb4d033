import type { Rule } from '../admission/intent/rule.ts'
import type { LabelExpression } from '../admission/pod/selector.ts'
import { requirementsOf } from '../kubernetes/selector.ts'

/** A boolean expression of CEL about a container `c` of the pod `object`, and what it costs at most. */
export interface Clause {
  readonly text: string
  readonly cost: number
}

/** The longest texts that it looks at: a name is a DNS label, and an image is rarely half as long. */
export const longest = { 'c.name': 63, 'c.image': 256 } as const

/** Clauses, one of which holds if one of the rules matches. Rules that differ in only one thing share one: a look-up is cheap. */
export function clausesOf(rules: readonly Rule[]): readonly Clause[] {
  const byName = groupBy(
    rules.map(({ match }) => match),
    ({ images, podSelector }) => [images, podSelector],
  ).map((group) => ({ ...group[0], containers: union(group.map(({ containers }) => containers)) }))
  const byImage = groupBy(byName, ({ containers, podSelector }) => [containers, podSelector]).map((group) => ({
    ...group[0],
    images: union(group.map(({ images }) => images)),
  }))
  return byImage.map(({ containers, images, podSelector }) =>
    every([
      ...(containers === undefined ? [] : [fits('c.name', containers)]),
      ...(images === undefined ? [] : [{ text: 'has(c.image)', cost: 2 }, fits('c.image', images)]),
      ...(podSelector === undefined ? [] : [every(requirementsOf(podSelector).map(labelled))]),
    ]),
  )
}

/** Of lists of globs; undefined matches anything. */
function union(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = lists.filter((list) => list !== undefined)
  return known.length < lists.length ? undefined : [...new Set(known.flat())]
}

type Group<T> = readonly [T, ...T[]]

function groupBy<T>(items: readonly T[], keyOf: (item: T) => unknown): readonly Group<T>[] {
  return [...Map.groupBy(items, (item) => JSON.stringify(keyOf(item))).values()] as [T, ...T[]][]
}

/** Whether a text matches one of the globs. The costs are cel-go's (interpreter/runtimecost.go), plus a little for the call. */
function fits(subject: keyof typeof longest, globs: readonly string[]): Clause {
  const isExact = (glob: string) => subject === 'c.name' && !glob.includes('*')
  const exact = globs.filter(isExact)
  const others = globs.filter((glob) => !isExact(glob))
  const regex = subject === 'c.name' ? others.map(regexOf) : imageRegexes(others)
  const clauses: Clause[] = []
  if (exact.length > 0) clauses.push({ text: `${subject} in ${list(exact)}`, cost: 3 + exact.length })
  if (regex.length > 0) {
    const all = regex.join('|')
    // A tenth for each character, one more is counted, times a quarter for each of the expression.
    const cost = 3 + Math.ceil((longest[subject] + 1) / 10) * Math.ceil(all.length / 4)
    clauses.push({ text: `${subject}.matches(${literal(all)})`, cost })
  }
  const [only, second] = clauses
  if (only !== undefined && second === undefined) return only
  return { text: any(clauses.map(({ text }) => text)), cost: costOf(clauses) }
}

/** In RE2, searched for anywhere in the text. */
function regexOf(glob: string): string {
  const start = glob.startsWith('*') ? '' : '^'
  const end = glob.endsWith('*') ? '' : '$'
  return start + middleOf(glob) + end
}

/** What a glob has between a `*` at either end. `(?s:.*)`: "*" stands for a line break too. */
function middleOf(glob: string): string {
  const chunks = glob.split(/\*+/).map((chunk) => chunk.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&'))
  return chunks.filter((chunk) => chunk !== '').join('(?s:.*)')
}

/** The same as matchesImage; those that begin and end alike share what stands around them. */
function imageRegexes(globs: readonly string[]): readonly string[] {
  return groupBy(globs.map(partsOf), ({ start, end }) => [start, end]).map((group) => {
    const middles = [...new Set(group.map(({ middle }) => middle))]
    const middle = middles.length === 1 ? middles[0] : `(${middles.join('|')})`
    return group[0].start + middle + group[0].end
  })
}

function partsOf(glob: string): { readonly start: string; readonly middle: string; readonly end: string } {
  const base = glob.replace(/:\*$/, '')
  // A slash that only stars precede may stand before the whole.
  const start = /^\*+\/(?!\*)/.test(base) ? '(^|/)' : base.startsWith('*') ? '' : '^'
  const end = base.endsWith('*') ? '' : base === glob ? '(:[^/:@]*)?(@[^/@]*)?$' : '(:|$|@[^/@]*$)'
  return {
    start,
    middle: middleOf(start === '(^|/)' ? base.replace(/^\*+\//, '') : base.replace(/^\*+\/(?=\*)/, '')),
    end,
  }
}

function labelled({ key, operator, values = [] }: LabelExpression): Clause {
  const cost = 12 + values.length
  switch (operator) {
    case 'In':
      return { text: isOneOf('labels', key, values), cost }
    case 'NotIn':
      return { text: `!(${isOneOf('labels', key, values)})`, cost }
    case 'Exists':
      return { text: isPresent('labels', key), cost }
    case 'DoesNotExist':
      return { text: `!(${isPresent('labels', key)})`, cost }
    default:
      return operator satisfies never
  }
}

function every(clauses: readonly Clause[]): Clause {
  const text = clauses.length === 0 ? 'true' : clauses.map((clause) => clause.text).join(' && ')
  return { text, cost: costOf(clauses) }
}

export function costOf(clauses: readonly Clause[]): number {
  return clauses.reduce((sum, { cost }) => sum + cost, 0)
}

type Labels = 'annotations' | 'labels'

export function isPresent(map: Labels, key: string): string {
  return `has(object.metadata.${map}) && ${literal(key)} in object.metadata.${map}`
}

export function isOneOf(map: Labels, key: string, values: readonly string[]): string {
  return `${isPresent(map, key)} && object.metadata.${map}[${literal(key)}] in ${list(values)}`
}

export function any(expressions: readonly string[]): string {
  return `(${expressions.join(' ||\n')})`
}

function list(texts: readonly string[]): string {
  return `[${texts.map(literal).join(', ')}]`
}

/** JSON's escapes work in CEL, except for lone surrogates, which no text from the API server has. */
function literal(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
