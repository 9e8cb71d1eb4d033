import type { Rule } from '../admission/rules.ts'
import type { LabelExpression, LabelSelector } from '../admission/selector.ts'

/** A boolean expression of CEL about a container `c` of the pod `object`, and what it costs at most. */
export interface Clause {
  readonly text: string
  readonly cost: number
}

/** The longest texts that are looked at: a name is a DNS label, and an image is rarely half as long. */
export const longest = { 'c.name': 63, 'c.image': 256 } as const

/** Clauses of which one holds where one of the rules matches. Rules that differ in one thing alone share one: a look-up costs little. */
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
      ...(podSelector === undefined ? [] : [selected(podSelector)]),
    ]),
  )
}

/** Of lists of globs, of which undefined stands for anything. */
function union(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const known = lists.filter((list) => list !== undefined)
  return known.length < lists.length ? undefined : [...new Set(known.flat())]
}

type Group<T> = readonly [T, ...T[]]

function groupBy<T>(items: readonly T[], keyOf: (item: T) => unknown): readonly Group<T>[] {
  const groups = new Map<string, [T, ...T[]]>()
  for (const item of items) {
    const key = JSON.stringify(keyOf(item))
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}

/** Whether a text fits one of the globs. Costs are cel-go's (interpreter/runtimecost.go), and a little for the call. */
function fits(subject: keyof typeof longest, globs: readonly string[]): Clause {
  const exact = globs.filter((glob) => !glob.includes('*'))
  const regex = globs.filter((glob) => glob.includes('*')).map(regexOf)
  const clauses: Clause[] = []
  if (exact.length > 0) clauses.push({ text: `${subject} in ${list(exact)}`, cost: 3 + exact.length })
  if (regex.length > 0) {
    const all = regex.join('|')
    // A tenth for each character, one more is counted, times a quarter for each of the expression.
    const cost = 3 + Math.ceil((longest[subject] + 1) / 10) * Math.ceil(all.length / 4)
    clauses.push({ text: `${subject}.matches(${literal(all)})`, cost })
  }
  const [only, ...others] = clauses
  if (only !== undefined && others.length === 0) return only
  return { text: any(clauses.map(({ text }) => text)), cost: costOf(clauses) }
}

/** In RE2, searched for anywhere in the text. `(?s:.*)`: "*" stands for a line break too. */
function regexOf(glob: string): string {
  const chunks = glob.split(/\*+/).map((chunk) => chunk.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&'))
  const start = chunks[0] === '' ? '' : '^'
  const end = chunks.at(-1) === '' ? '' : '$'
  return start + chunks.filter((chunk) => chunk !== '').join('(?s:.*)') + end
}

function selected({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Clause {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }) as const)
  return every([...equal, ...matchExpressions].map(labelled))
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

/** JSON's escapes are CEL's as well, but for lone surrogates, which no text from the API server has. */
function literal(text: string): string {
  return JSON.stringify(text.toWellFormed())
}
